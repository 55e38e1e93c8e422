import Foundation
import Testing

@testable import Backend

/// The committed description of the API and the routes say the same.
@Suite struct DescriptionTests {
  @Test func everyRouteIsDescribedAndNothingElse() async throws {
    try await TestBackend.run { api in
      let answer = try await api.ask("GET", "/openapi.yaml", nil)
      #expect(answer.status == 200 && answer.headers["content-type"] == "application/yaml")
      var described: Set<String> = []
      var path: String?
      var isInPaths = false
      for line in answer.text.split(separator: "\n", omittingEmptySubsequences: false) {
        if !line.hasPrefix(" ") { isInPaths = line.hasPrefix("paths:") }
        guard isInPaths, line.hasSuffix(":") else { continue }
        if line.hasPrefix("  /") { path = String(line.dropFirst(2).dropLast()) }
        let word = line.dropFirst(4).dropLast()
        if let path, line.hasPrefix("    "), ["get", "post", "delete", "put", "patch"].contains(word) {
          described.insert("\(word.uppercased()) \(path)")
        }
      }
      let routes = Set(api.backend.routes.map { "\($0.method) \($0.path)" })
      #expect(described.subtracting(routes).isEmpty, "described, but not there")
      #expect(routes.subtracting(described).isEmpty, "there, but not described")
      #expect(routes.count == api.backend.routes.count)
    }
  }

  @Test func itLivesAndIsReady() async throws {
    try await TestBackend.run { api in
      #expect(try await api.ask("GET", "/healthz", nil).text == #"{"status":"ok"}"#)
      #expect(try await api.ask("GET", "/readyz", nil).status == 200)
      #expect(try await api.ask("HEAD", "/healthz", nil).status == 200)
      // An answer to HEAD never has a body: what came after it would be taken for the next answer.
      #expect(try await api.ask("HEAD", "/nowhere", nil).status == 404)
      #expect(try await api.ask("GET", "/healthz", nil).status == 200)
      api.backend.queue.database.close()
      #expect(try await api.ask("GET", "/healthz", nil).status == 200)
      #expect(try await api.ask("GET", "/readyz", nil).status == 503)
      let answer = try await api.ask("GET", "/v1/jobs", TestToken.caller())
      #expect(answer.status == 503 && answer.headers["retry-after"] == "1")
    }
  }
}
