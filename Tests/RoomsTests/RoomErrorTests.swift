import Testing

@testable import Rooms

@Suite struct RoomErrorTests {
  @Test func everyRowHasItsOwnExitCodeAndText() {
    let kinds = RoomError.Kind.allCases
    let codes = kinds.compactMap { $0.row.exitCode }
    #expect(Set(codes).count == codes.count)
    #expect(Set(kinds.map { $0.row.cause }).count == kinds.count)
    for kind in kinds {
      let error = RoomError(kind, "what.\nhappened\u{1b}[31m")
      #expect(error.exitCode.map { (10..<64).contains($0) } ?? true)
      #expect(!error.description.contains("\n") && !error.description.contains("\u{1b}"))
      #expect(!error.cause.hasSuffix(".") && !error.remedy.hasSuffix("."))
    }
  }

  @Test func whatNeverEndsARecordingHasNoExitCode() {
    #expect(
      RoomError.Kind.allCases.filter { $0.row.exitCode == nil } == [.networkChanged, .leavingAlready, .leftAlready])
  }

  /// The numbers of the systems that people come from, each with the row that stands for it.
  @Test(arguments: [
    (53000, [RoomError.Kind.dnsFailure, .refused, .timeout, .tlsFailure, .notARoomServer]),
    (53001, [.connectionLost, .signalLost, .reconnectTimeout, .serverLeaves]),
    (53002, [.serverSilent, .sessionUnknown]), (53006, [.busy]), (53105, [.roomFull]), (53106, [.roomNotFound]),
    (53118, [.roomEnded]), (53205, [.evicted]), (53405, [.mediaFailed, .mediaLost]), (20101, [.unauthorized]),
    (20102, [.malformedToken]), (20103, [.unknownIssuer]), (20104, [.tokenExpired]), (20105, [.tokenNotYetValid]),
    (20106, [.notPermitted]), (20107, [.badSignature]),
  ])
  func twiliosNumbersHaveTheirRows(code: Int, kinds: [RoomError.Kind]) {
    #expect(Set(RoomError.Kind.allCases.filter { $0.row.codes.twilio == code }) == Set(kinds))
  }

  @Test(arguments: [
    (5031, RoomError.Kind.leavingAlready), (5032, .leftAlready), (5073, .networkChanged), (5074, .reconnectTimeout),
    (5086, .refused), (5087, .connectionLost),
  ])
  func enablexNumbersHaveTheirRows(code: Int, kind: RoomError.Kind) {
    #expect(kind.row.codes.enablex == code)
  }

  @Test func theSameErrorMeansOtherThingsBeforeAndAfterTheJoin() {
    #expect(RoomError(.roomNotFound).action(hasJoined: false) == .wait)
    #expect(RoomError(.roomNotFound).action(hasJoined: true) == .complete)
    #expect(RoomError(.tlsFailure).action(hasJoined: false) == .fail)
    #expect(RoomError(.tlsFailure).action(hasJoined: true) == .retry)
    #expect(RoomError(.evicted).action(hasJoined: true) == .fail)
  }

  @Test(arguments: [
    (401, "invalid authorization token: validation failed, token is expired (exp)", RoomError.Kind.tokenExpired),
    (401, "invalid authorization token: token is not valid yet (nbf)", .tokenNotYetValid),
    (401, "invalid authorization token: error in cryptographic primitive", .badSignature),
    (401, "go-jose/go-jose: unexpected signature algorithm \"HS512\"; expected [\"HS256\"]", .malformedToken),
    (401, "invalid API key: APIx", .unknownIssuer), (401, "permissions denied", .notPermitted),
    (401, "invalid authorization header: it must start with \"Bearer \"", .malformedToken),
    (401, "invalid authorization token", .unauthorized), (403, "", .unauthorized),
    (404, "requested room does not exist", .roomNotFound), (404, "404 page not found", .notARoomServer),
    (404, "", .notARoomServer), (503, "", .busy), (429, "resource exhausted", .busy),
    (500, "participant limit exceeded", .roomFull), (503, "the room is full", .roomFull),
    (400, "room name is required", .rejected), (400, "identity and room name must not exceed 256 bytes", .rejected),
    (200, "<html>", .notARoomServer), (302, "", .notARoomServer), (502, "<html>bad gateway</html>", .busy),
  ])
  func refusalsAreUnderstood(status: Int, text: String, kind: RoomError.Kind) {
    let error = RoomError.refusedUpgrade(status: status, text: text)
    #expect(error.kind == kind)
    #expect(!error.detail.contains("<html"))
    #expect(error.codes.http == [status])
  }
}
