import Digests
import DatabaseKit
import Foundation
import Jobs
import JobsAPI
import Logging
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Testing
import WebClient

@testable import Backend

/// A backend over an empty database, and those who ask it.
struct TestBackend: Sendable {
  static let service = RoomService(
    url: "ws://127.0.0.1:7880", apiKey: "devkey", apiSecret: "a secret of the room service only")
  static let apiSecret = "the secret that callers' tokens are signed with"
  static let workerSecret = "the secret that all the workers have in common"

  let backend: BackendService
  let port: Int

  /// Runs a backend for the time of `body`. On PostgreSQL not at all when there is none here; the reason is printed.
  static func run(
    on kind: DatabaseKind = .sqlite, _ change: (inout BackendConfiguration) -> Void = { _ in },
    counting statements: StatementCount? = nil, _ body: (TestBackend) async throws -> Void
  ) async throws {
    let path = NSTemporaryDirectory() + "recbot-api-\(UUID().uuidString).sqlite"
    let database: any SQLDatabase
    switch kind {
    case .sqlite: database = try SQLiteDatabase(path: path)
    case .postgres:
      guard let address = try DatabaseKind.sharedPostgresDatabase() else { return }
      database = PostgresDatabase(address: address)
    }
    defer {
      database.close()
      for suffix in ["", "-journal"] { unlink(path + suffix) }
    }
    var configuration = BackendConfiguration(roomService: service)
    configuration.port = 0
    configuration.apiSecret = apiSecret
    configuration.workerSecret = workerSecret
    change(&configuration)
    let backend = try await BackendService(
      configuration: configuration,
      database: statements.map { CountingDatabase(database, $0) } ?? database,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await backend.run() }
      do {
        try await body(TestBackend(backend: backend, port: try await backend.port))
      } catch {
        group.cancelAll()
        throw error
      }
      group.cancelAll()
      while (try? await group.next()) != nil {}
    }
  }

  /// What came back.
  struct Answer: Sendable {
    var status: Int
    var headers: [String: String]
    var body: Data

    /// The body as a value.
    func value<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
      try JSONDecoder().decode(type, from: body)
    }
    var text: String { String(decoding: body, as: UTF8.self) }
    /// The refusal in it.
    var problem: APIProblem.Body? { try? value(APIProblem.self).error }
  }

  /// Asks with a credential; `json` is sent as it is.
  func ask(
    _ method: String, _ path: String, _ credential: String?, json: String? = nil, type: String = "application/json",
    headers: [(String, String)] = []
  ) async throws -> Answer {
    var request = WebRequest(HTTPMethod(rawValue: method), isSecure: false, host: "127.0.0.1", port: port, target: path)
    if let credential { request.headers.add(name: "Authorization", value: "Bearer \(credential)") }
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    if let json {
      request.headers.add(name: "Content-Type", value: type)
      request.body = ByteBuffer(string: json)
    }
    let response = try await WebConnections(.init(silence: .seconds(60))).answer(to: request)
    let body = try await response.body.collect(upTo: 8 << 20)
    var fields: [String: String] = [:]
    for (name, value) in response.headers { fields[name.lowercased()] = value }
    return Answer(status: Int(response.status.code), headers: fields, body: Data(buffer: body))
  }

  /// The same with a value as the body.
  func send(
    _ method: String = "POST", _ path: String, _ credential: String?, _ value: some Encodable,
    headers: [(String, String)] = []
  ) async throws -> Answer {
    let json = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    return try await ask(method, path, credential, json: json, headers: headers)
  }

  /// Queues a job.
  func submit(_ room: String, _ credential: String) async throws -> Job {
    let answer = try await send("POST", "/v1/jobs", credential, JobRequest(room: room))
    #expect(answer.status == 201, "\(answer.text)")
    return try answer.value()
  }

  /// Gives a worker jobs.
  func claim(_ worker: String = "w1", count: Int = 1, wait: Int64 = 0) async throws -> [Assignment] {
    let request = ClaimRequest(
      worker: worker, count: count, status: WorkerStatus(running: 0, capacity: count), wait: wait)
    let answer = try await send("POST", "/v1/workers/claim", Self.workerSecret, request)
    #expect(answer.status == 200, "\(answer.text)")
    return try answer.value(ClaimAnswer.self).assignments
  }
}

/// Makes callers' tokens by hand, right ones and wrong ones.
enum TestToken {
  /// Base64 with the URL alphabet, without padding.
  static func encode(_ bytes: some DataProtocol) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// A token of a header and claims as JSON; unsigned when there is no secret.
  static func make(header: String = #"{"alg":"HS256","typ":"JWT"}"#, claims: String, secret: String?) -> String {
    let input = encode(Data(header.utf8)) + "." + encode(Data(claims.utf8))
    guard let secret else { return input + "." }
    return input + "." + encode(HMAC.sha256(Array(input.utf8), key: Array(secret.utf8)))
  }

  /// A good token.
  static func caller(_ name: String = "ann", grants: [Grant] = Grant.usual, rooms: String? = nil) -> String {
    make(claims: claims(name, grants: grants, rooms: rooms), secret: TestBackend.apiSecret)
  }

  /// The claims of a good token.
  static func claims(_ name: String = "ann", grants: [Grant] = Grant.usual, rooms: String? = nil) -> String {
    let list = grants.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
    let pattern = rooms.map { ",\"rooms\":\"\($0)\"" } ?? ""
    return "{\"sub\":\"\(name)\",\"exp\":\(now + 600),\"recbot\":{\"grants\":[\(list)]\(pattern)}}"
  }

  static var now: Int64 { Timestamp.now.seconds }
}

extension Grant {
  /// Everything but `admin`.
  static var usual: [Grant] { allCases.filter { $0 != .admin } }
}
