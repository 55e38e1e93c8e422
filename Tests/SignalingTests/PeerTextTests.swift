import MediaCore
import Testing

@Suite struct PeerTextTests {
  /// A token as LiveKit's SDKs make it; the parts are random but for the header.
  static let token =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJkZXZrZXkiLCJzdWIiOiJib3QiLCJleHAiOjE3NjM4MDAwMDB9"
    + ".k3XnRr0g5v8b2Wc9QpLmZtYhJdFsA1eUoIi7T6x4-_A"

  /// Texts, and what is shown of them.
  static let secrets: [(String, String)] = [
    ("invalid token: \(token), error: it is expired (exp)", "invalid token: [hidden], error: it is expired (exp)"),
    ("the token \(token).", "the token [hidden]."),
    // Cut off, and in the middle of something.
    (String(token.prefix(40)), "[hidden]"), ("x_\(token)y", "x_[hidden]"), ("\(token)%3D&x=1", "[hidden]&x=1"),
    // Not in the usual form of a header: `{ "alg"`, which is not `eyJ`.
    ("eyAiYWxnIjoiSFMyNTYifQ.eyJ9.abcdefghijklmnopqrstuvwxyz0123456789abcdefg", "[hidden]"),
    ("wss://host/rtc?protocol=16&access_token=abc&sdk=js", "wss://host/rtc?protocol=16&access_token=[hidden]&sdk=js"),
    ("GET /?X-Amz-Signature=00ff&X-Amz-Date=1 HTTP", "GET /?X-Amz-Signature=[hidden]&X-Amz-Date=1 HTTP"),
    ("Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=c", "Authorization: [hidden]"),
    ("authorization: Bearer abc, x\nHost: y", "authorization: [hidden] Host: y"),
    ("sent Bearer Ab1.x-y_z0, got 401", "sent Bearer [hidden], got 401"),
    (#"{"apiSecret":"a b,c","room":"r"}"#, #"{"apiSecret":"[hidden]","room":"r"}"#),
    (#"{\"api_secret\": \"abc\"}"#, #"{\"api_secret\": \"[hidden]"}"#),
    ("password = hunter2; user = x", "password = [hidden]; user = x"), ("PASSWORD: Tr0ub4dor", "PASSWORD: [hidden]"),
    ("postgres://me:p@ss@db.example/name", "postgres://[hidden]@db.example/name"),
    ("https://user@host:1/x@y", "https://[hidden]@host:1/x@y"),
    ("the key rbk_k1_S3cretS3cret is not known", "the key rbk_[hidden] is not known"),
    ("whsec_MfKQ9r8GKYqrTwjU", "whsec_[hidden]"),
    ("-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----", "[hidden]-----END EC PRIVATE KEY-----"),
  ]

  @Test(arguments: Self.secrets) func secretsAreHidden(text: String, shown: String) {
    #expect(PeerText.line(text) == shown)
    #expect(PeerText.line(shown) == shown)
  }

  @Test(arguments: [
    "invalid API key: APIabcdefghijkl", "https://recordings.eu-central-1.example.com/a/b.webm",
    "my-very-long-machine-name.with-a-sub-domain.example.com", "the token: expired", "the token: HTTP 401",
    "the secret: give --api-secret",
    "RECBOT_API_SECRET: at least 32 bytes", "a bearer token is missing", "basic authentication is off",
    "12:34:56 info worker: taken attempt=1 room=standup", "token://", "job_01hzx3k5w8 of recbot-job_01hzx3k5w8",
    "recording-2026-11-22.part-1.webm", "it must start with \"Bearer \"", "",
  ])
  func whatIsNoSecretStays(text: String) {
    #expect(PeerText.line(text) == text)
  }

  @Test func nothingActs() {
    let text = "a\u{0}b\u{1b}[31mc\u{7f}d\u{9b}e\u{202e}f\u{2066}g\u{2028}h\u{2029}i\u{feff}j\u{e0001}k\r\n\tl\u{7}m"
    #expect(PeerText.shown(text, limit: 100) == "a␀b␛[31mc␡d�e�f�g�h�i�j�k   l␇m")
    // People are written with these.
    for name in ["می‌خواهم", "👩‍👩‍👧", "Zoë", "नमस्ते", "❤️"] { #expect(PeerText.line(name) == name) }
    #expect(
      !PeerText.shown(String(UnicodeScalarView.all), limit: .max).unicodeScalars.contains(where: PeerText.isActive))
  }

  @Test func lengthIsBounded() {
    #expect(PeerText.shown("12345", limit: 5) == "12345")
    #expect(PeerText.shown("123456", limit: 5) == "1234…")
    #expect(PeerText.shown("123", limit: 0) == "")
    #expect(PeerText.line(String(repeating: "a\u{301}", count: 1_000_000)).unicodeScalars.count == 300)
    // What is cut is cut after secrets are found.
    #expect(PeerText.line("token: \(Self.token), error: x", limit: 26) == "token: [hidden], error: x")
  }

  /// Whatever is around it, in whatever order: no piece of a token of 20 letters gets through. And no text traps.
  @Test func tokensAreFoundInAnyText() {
    let seed: UInt64 = 7
    var random = SeededRandom(seed: seed)
    let pieces = [
      " ", ": ", "=", "\"", "\\\"", "\n", "token", "eyJ", ".", "..", "Bearer ", "://", "@", "\u{1b}", "\u{202e}", "-",
      "-----BEGIN PRIVATE KEY-----", "é", "Authorization:", "&", "%2E", "rbk_", ",",
    ]
    for round in 0..<3000 {
      var text = ""
      for _ in 0..<Int.random(in: 0...12, using: &random) { text += pieces.randomElement(using: &random) ?? "" }
      text += Self.token
      for _ in 0..<Int.random(in: 0...12, using: &random) { text += pieces.randomElement(using: &random) ?? "" }
      let shown = PeerText.line(text, limit: 10_000)
      for part in Self.token.split(separator: ".") {
        #expect(!shown.contains(part.suffix(20)), "seed \(seed), round \(round): \(text.debugDescription)")
      }
    }
  }

  @Test func theTimeIsLinear() {
    for piece in ["token=", "eyJ.", "a:", "://", "Bearer ", "-----BEGIN ", "\"", "secret:\"", "rbk_a", "=", "eyJ%"] {
      let text = String(repeating: piece, count: 1_000_000 / piece.utf8.count)
      let start = ContinuousClock.now
      _ = PeerText.line(text)
      // A time that grows with the square would be many minutes.
      #expect(ContinuousClock.now - start < .seconds(30), "\(piece)")
    }
  }

  @Test func jsonKeepsWhatActsAndShowsNone() throws {
    let text = "a\u{0}\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}\u{e0001}\"\\é😀"
    let quoted = JSONText.quoted(text)
    #expect(quoted == #""a\u0000\u001b\u007f\u009b\u202e\u2028\udb40\udc01\"\\é😀""#)
    #expect(JSONText.escaped("{\"a\":\"\u{9b}\u{202e}x\"}") == #"{"a":"\u009b\u202ex"}"#)
    #expect(JSONText.escaped(#"{"a":"x"}"#) == #"{"a":"x"}"#)
  }
}

/// Every Unicode scalar up to the end of the first two planes and the tags, once.
private enum UnicodeScalarView {
  static let all: String.UnicodeScalarView = {
    var view = String.UnicodeScalarView()
    for value in UInt32(0)...0x1ffff { if let scalar = Unicode.Scalar(value) { view.append(scalar) } }
    for value in UInt32(0xe0000)...0xe01ff { if let scalar = Unicode.Scalar(value) { view.append(scalar) } }
    return view
  }()
}
