import Testing

@testable import Rooms

@Suite struct RoomErrorTests {
  @Test func everyRowHasItsOwnExitCodeAndText() {
    let kinds = RoomError.Kind.allCases
    #expect(Set(kinds.map { $0.row.exitCode }).count == kinds.count)
    #expect(Set(kinds.map { $0.row.cause }).count == kinds.count)
    for kind in kinds {
      let error = RoomError(kind, "what.\nhappened\u{1b}[31m")
      #expect((10..<64).contains(error.exitCode))
      #expect(!error.description.contains("\n") && !error.description.contains("\u{1b}"))
      #expect(!error.cause.hasSuffix(".") && !error.remedy.hasSuffix("."))
    }
  }

  @Test(arguments: [
    (401, "invalid authorization token: validation failed, token is expired (exp)", RoomError.Kind.tokenExpired),
    (401, "invalid authorization token: error in cryptographic primitive", .unauthorized),
    (401, "invalid API key: APIx", .unauthorized), (401, "permissions denied", .notPermitted),
    (404, "requested room does not exist", .roomNotFound), (404, "404 page not found", .notARoomServer),
    (404, "", .notARoomServer), (503, "", .busy), (429, "resource exhausted", .busy),
    (500, "participant limit exceeded", .roomFull), (400, "room name is required", .rejected),
    (200, "<html>", .notARoomServer), (302, "", .notARoomServer), (502, "<html>bad gateway</html>", .busy),
  ])
  func refusalsAreUnderstood(status: Int, text: String, kind: RoomError.Kind) {
    let error = RoomError.refusedUpgrade(status: status, text: text)
    #expect(error.kind == kind)
    #expect(!error.detail.contains("<html"))
  }
}
