import COpenSSL
import MediaCore
import Testing

@testable import Rooms
@testable import TLS

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

  /// A token, long, in which words of reasons stand by accident.
  private static let token =
    "eyJhbGciOiJIUzI1NiJ9." + String(repeating: "Y2xhaW1zIG5iZiBncmFudA", count: 300)
    + ".expired-nbf-grant-0123456789abcdefghijklm"

  /// What livekit-server answers (pkg/service/auth.go and rtcservice.go of 1.13.5, with go-jose v3 and, in older ones,
  /// square/go-jose), with the token that it was given: each has its row and its exit code, and none shows the token.
  @Test(arguments: [
    (401, "invalid token: @, error: go-jose/go-jose/jwt: validation failed, token is expired (exp)", 21),
    (401, "invalid token: @, error: square/go-jose/jwt: validation failed, token is expired (exp)", 21),
    (401, "invalid token: @, error: go-jose/go-jose/jwt: validation failed, token not valid yet (nbf)", 27),
    (401, "invalid token: @, error: go-jose/go-jose/jwt: validation field, token issued in the future (iat)", 27),
    (401, "invalid token: @, error: go-jose/go-jose: error in cryptographic primitive", 28),
    (401, "invalid token: @, error: square/go-jose: error in cryptographic primitive", 28),
    (401, "invalid token: @, error: signature is invalid", 28),
    (401, "invalid token: @, error: go-jose/go-jose/jwt: validation failed, invalid issuer claim (iss)", 29),
    (401, "invalid token: @, error: something new", 20), (401, "invalid token: @", 20),
    (401, "invalid API key: APIunknown", 29), (401, "invalid API key", 29), (401, "could not find api key", 29),
    (401, "invalid authorization token", 20), (401, "permissions denied", 22),
    (401, "invalid authorization header. Must start with Bearer ", 16),
    (401, "no permissions to access the room", 22), (404, "requested room does not exist", 23),
    (400, "identity cannot be empty", 26), (400, "no room name", 26),
    (400, "participant identity length exceeds limits: max length 256", 26),
    (400, "room name length exceeds limits: max length 256", 26),
    (503, "node has exceeded its configured limit", 25), (500, "could not lock room", 25),
    (500, "room has exceeded its max participants", 24), (500, "connection closed by media", 24),
    (500, "timed out while waiting for signal response", 25),
  ])
  func theStockServersTextsAreUnderstood(status: Int, text: String, code: Int32) {
    let error = RoomError.refusedUpgrade(status: status, text: text.replacing("@", with: Self.token))
    #expect(error.exitCode == code, "\(error)")
    for shown in [error.description, error.detail, error.summary, "\(error)", String(reflecting: error)] {
      #expect(!shown.contains("eyJ") && !shown.contains("Y2xhaW1z") && !shown.contains("expired-nbf"), "\(shown)")
    }
    if text.hasPrefix("invalid token"), text.contains("error") {
      #expect(error.detail.contains("invalid token: [hidden], error"))
    }
  }

  /// The stock server tells nobody that a room has its `max_participants`.
  @Test func aFullRoomIsToldAsWhatItProbablyIs() {
    for error in [
      RoomError.refusedUpgrade(status: 500, text: "connection closed by media"),
      RoomError.refusedWithoutReason(status: 500),
    ] {
      #expect(error.kind == .roomFull && error.httpStatus == 500)
      #expect(
        error.detail.hasPrefix("probably; the server answers HTTP 500") && error.remedy.contains("max_participants"))
    }
    #expect(RoomError.refusedWithoutReason(status: 503).kind == .busy)
  }

  /// OpenSSL's numbers and words for errors of a handshake, as they were seen.
  private static let faults: [(reason: Int32, words: String, fault: TLSFault)] = [
    (267, "wrong version number", .notTLS), (156, "http request", .notTLS), (198, "packet length too long", .notTLS),
    (1040, "sslv3 alert handshake failure", .nothingInCommon), (1070, "tlsv1 alert protocol version", .nothingInCommon),
    (1112, "tlsv1 alert unrecognized name", .refused("unrecognized name")),
    (294, "unexpected eof while reading", .closed),
    (101, "bad decrypt", .other("bad decrypt")), (0, "", .other("")),
  ]

  @Test(arguments: Self.faults)
  func tlsFaultsAreWords(reason: Int32, words: String, fault: TLSFault) {
    #expect(TLSFault(reason: reason, words: words) == fault)
    for words in [fault.description, fault.advice] {
      #expect(!words.contains("SSL") && !words.contains("_") && !words.hasSuffix("."))
    }
  }

  @Test func timesOfCertificatesAreRead() {
    func fault(_ change: (inout copenssl_verdict) -> Void) -> TLSFault {
      var verdict = copenssl_verdict()
      verdict.error = X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
      (verdict.from, verdict.until) = (1_700_000_000, 1_800_000_000)
      change(&verdict)
      return TLSFault(verdict)
    }
    #expect(fault { $0.is_over = 1 } == .expired("2027-01-15"))
    #expect(fault { $0.is_early = 1 } == .notYetValid("2023-11-14"))
    #expect(fault { _ in } == .untrusted)
    #expect(fault { $0.error = X509_V_ERR_HOSTNAME_MISMATCH } == .wrongName)
    #expect(fault { $0.error = X509_V_ERR_IP_ADDRESS_MISMATCH } == .wrongName)
  }
}
