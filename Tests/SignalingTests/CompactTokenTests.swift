import MediaCore
import Testing

@testable import Signaling

/// What a token may be before anything in it is trusted.
@Suite struct CompactTokenTests {
  static let now: Int64 = 1_800_000_000
  static let claims = #"{"iss":"devkey","sub":"a","exp":1800000100}"#

  static func verify(_ token: String) -> AccessToken? {
    try? AccessToken(verifying: token, now: now) { $0 == "devkey" ? "secret" : nil }
  }

  static func forged(header: String = #"{"alg":"HS256","typ":"JWT"}"#, claims: String = claims) -> String {
    TokenForge.token(header: header, payload: claims, secret: "secret")
  }

  /// `{"alg":"HS256","z":1e19}` ended every server that read it: a library converted it with `Int(_: Double)`.
  @Test(arguments: ["1e19", "-1e19", "1e400", "-1e-400", "9223372036854775808", "1.5", "[1e19,{\"y\":-1e99}]"])
  func numbersOfAHeaderAreNotConverted(number: String) {
    let header = #"{"alg":"HS256","z":\#(number)}"#
    #expect(Self.verify(Self.forged(header: header)) != nil)
    // Without a secret: the token of the issue.
    let unsigned = TokenForge.token(header: header, payload: "{}", secret: "").split(separator: ".").prefix(2)
    #expect(Self.verify(unsigned.joined(separator: ".") + ".AA") == nil)
    #expect((try? AccessToken(reading: unsigned.joined(separator: ".") + ".AA")) == nil)
  }

  @Test func numbersOfClaimsAreNotForced() {
    for number in ["1e19", "-1e19", "1e400", "1e300", "99999999999999999999999"] {
      #expect(Self.verify(Self.forged(claims: #"{"iss":"devkey","exp":\#(number)}"#)) == nil, "exp \(number)")
      #expect(
        Self.verify(Self.forged(claims: #"{"iss":"devkey","exp":1800000100,"nbf":\#(number)}"#)) == nil, "nbf \(number)"
      )
      #expect(Self.verify(Self.forged(claims: #"{"iss":"devkey","exp":1800000100,"z":\#(number)}"#)) != nil)
    }
  }

  /// An input that ends at the 513th bracket ended the program in Foundation.
  @Test(arguments: [4, 5, 64, 65, 511, 512, 513, 514, 600, 12_000]) func depthIsBounded(depth: Int) {
    let open = String(repeating: "[", count: depth)
    let closed = open + String(repeating: "]", count: depth)
    #expect(Self.verify(Self.forged(header: open)) == nil && Self.verify(Self.forged(claims: open)) == nil)
    #expect((Self.verify(Self.forged(header: #"{"alg":"HS256","z":\#(closed)}"#)) != nil) == (depth < 4))
    let claims = #"{"iss":"devkey","exp":1800000100,"z":\#(closed)}"#
    #expect((Self.verify(Self.forged(claims: claims)) != nil) == (depth < 64))
    #expect((try? AccessToken(reading: Self.forged(claims: open))) == nil)
  }

  @Test func aHeaderHasAtMostAKibibyte() {
    func header(_ count: Int) -> String {
      let start = #"{"alg":"HS256","x":""#
      return start + String(repeating: "a", count: count - start.utf8.count - 2) + "\"}"
    }
    #expect(Self.verify(Self.forged(header: header(1024))) != nil)
    #expect(Self.verify(Self.forged(header: header(1025))) == nil)
  }

  @Test(arguments: [
    (#"{"alg":"HS256"}"#, true), (#"{"alg":"HS256","typ":"JWT","kid":"k"}"#, true),
    (#"{"alg":"HS256","typ":"jwt"}"#, true),
    (#"{"alg":"HS256","typ":"JWE"}"#, false), (#"{"alg":"HS256","typ":1}"#, false),
    (#"{"alg":"HS256","kid":1}"#, false),
    (#"{"alg":"HS256","crit":null}"#, false), (#"{"alg":"HS256","crit":[]}"#, false), (#"{"alg":["HS256"]}"#, false),
    (#"{"alg":"none","alg":"HS256"}"#, false), (#"{"alg":"HS256","alg":"none"}"#, false), (#"["alg","HS256"]"#, false),
    (#"{"alg":"HS256"} x"#, false), ("\u{feff}{\"alg\":\"HS256\"}", true), (#"{"ALG":"HS256"}"#, false),
  ]) func onlyTheFieldsOfAHeaderThatAreUnderstoodCount(header: String, isAccepted: Bool) {
    #expect((Self.verify(Self.forged(header: header)) != nil) == isAccepted)
  }

  @Test func aClaimThatIsGivenTwiceIsRefused() {
    for claims in [
      #"{"iss":"nobody","iss":"devkey","exp":1800000100}"#, #"{"iss":"devkey","iss":"nobody","exp":1800000100}"#,
      #"{"iss":"devkey","exp":1800000100,"exp":1900000000}"#, #"{"iss":"devkey","\u0069ss":"devkey","exp":1800000100}"#,
    ] {
      #expect(Self.verify(Self.forged(claims: claims)) == nil, "\(claims)")
    }
  }

  /// One token has one spelling: a changed spare bit, padding, another alphabet, a blank are another token.
  @Test func base64urlIsStrict() throws {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let good = Self.forged()
    #expect(Self.verify(good) != nil)
    for character in alphabet where character != good.last {
      #expect(Self.verify(good.dropLast() + String(character)) == nil, "\(character)")
    }
    for changed in [
      good + "=", good + "\n", " " + good, good + ".", good.replacing(".", with: "=."), good + "A", good + "é",
    ] {
      #expect(Self.verify(changed) == nil, "\(changed.suffix(8))")
    }
    // The parts before it: claims of every length, with each of their last characters.
    for extra in 0..<3 {
      let claims = #"{"iss":"devkey","exp":1800000100,"x":"\#(String(repeating: "x", count: extra))"}"#
      let parts = Self.forged(claims: claims).split(separator: ".")
      for character in alphabet where character != parts[1].last {
        #expect(Self.verify("\(parts[0]).\(parts[1].dropLast())\(character).\(parts[2])") == nil)
      }
    }
    #expect(Base64URL.decodeStrict([]) == [] && Base64URL.decodeStrict(Array("_-8".utf8)[...]) == [0xff, 0xef])
    for text in ["A", "AAAAA", "AB", "AAB", "/w", "+w", "_w=", "_w==", "_ w", "_x", "\u{0}AAA"] {
      #expect(Base64URL.decodeStrict(Array(text.utf8)[...]) == nil, "\(text)")
    }
  }

  @Test func claimsAreConvertedOnlyBehindTheSignature() {
    var asked = 0
    struct Nosy: Decodable {
      init(from decoder: any Decoder) throws { Issue.record("the claims were converted") }
    }
    let wrong = TokenForge.token(header: #"{"alg":"HS256"}"#, payload: Self.claims, secret: "other")
    #expect(throws: AccessTokenError.self) {
      _ = try SignedToken.claims(verifying: wrong, as: Nosy.self) { _ in
        asked += 1
        return "secret"
      }
    }
    #expect(asked == 1)
  }

  /// What each costs is a figure of Tests/Benchmarks/token-bench. (Two of 500 brackets took a network thread for five
  /// seconds.)
  @Test func whatIsMadeToCostMuchIsRefused() {
    for (name, token) in RefusedTokens.all { #expect(Self.verify(token) == nil, "\(name)") }
  }
}

/// Tokens that are refused, each meant to cost much.
enum RefusedTokens {
  static var all: [(name: String, token: String)] {
    func token(_ header: String, _ claims: String) -> String {
      TokenForge.token(header: header, payload: claims, secret: "wrong")
    }
    func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
    let header = #"{"alg":"HS256"}"#
    return [
      ("header 500 deep", token(many("[", 500) + many("]", 500), "{}")),
      ("header 500 objects deep", token(many("{\"a\":", 500) + "0" + many("}", 500), "{}")),
      ("claims 500 deep", token(header, many("[", 500) + many("]", 500))),
      ("claims 23000 brackets", token(header, many("[", 23_000))),
      ("garbage of 8 KiB", many("Zm9vYmFy", 1024)), ("garbage of 32 KiB", many("Zm9vYmFy", 4096)),
      ("garbage of 64 KiB", many("Zm9vYmFy", 8192)),
      ("64 KiB of dots", many(".", 65_536)),
      ("32 KiB in three parts", many("A", 15_000) + "." + many("A", 15_000) + ".A"),
      ("long signature", token(header, "{}") + many("A", 60_000)),
      ("long text, no key", token(header, #"{"x":"\#(many("a", 23_000))"}"#)),
      ("long text, wrong key", token(header, #"{"iss":"devkey","x":"\#(many("a", 23_000))"}"#)),
      ("escapes", token(header, #"{"iss":"devkey","x":"\#(many("\\u00e9", 3800))"}"#)),
      ("many numbers", token(header, #"{"iss":"devkey","x":[\#(many("1,", 11_500))0]}"#)),
      ("many names", token(header, #"{"iss":"devkey"\#(many(",\"a\":0", 3800))}"#)),
      ("blanks", token(header, many(" ", 23_000) + "{}")),
    ]
  }
}

/// Protobuf messages from outside, as JSON and in the binary form.
@Suite struct MessageDepthTests {
  /// What is unknown is checked as well.
  @Test(arguments: ["{\"a\":", "[", "{\"a\":["]) func unknownFieldsOfJSONHaveADepth(opening: String) {
    for depth in [20, 513, 100_000] {
      let closing = opening == "[" ? "]" : opening.hasSuffix("[") ? "]}" : "}"
      let count = opening.hasSuffix(":[") ? depth / 2 : depth
      let text =
        "{\"x\":" + String(repeating: opening, count: count) + "0" + String(repeating: closing, count: count) + "}"
      let message = SignalCoding.request(Array(text.utf8), isText: true)
      #expect((message != nil) == (depth == 20), "\(opening) \(depth)")
      let open = "{\"x\":" + String(repeating: opening, count: count)
      #expect(SignalCoding.response(Array(open.utf8), isText: true) == nil)
    }
  }

  @Test func groupsOfTheBinaryFormHaveADepth() {
    // Field 200, start of a group; never ended, and ended.
    let start: [UInt8] = [0xc3, 0x0c]
    let end: [UInt8] = [0xc4, 0x0c]
    for depth in [10, 200_000] {
      let open = (0..<depth).flatMap { _ in start }
      #expect(SignalCoding.request(open, isText: false) == nil, "\(depth)")
      _ = SignalCoding.request(open + (0..<depth).flatMap { _ in end }, isText: false)
      _ = SignalCoding.packet(open)
    }
  }

  @Test func jsonOfAParticipantHasADepth() {
    for depth in [512, 513, 514, 100_000] {
      let text = String(repeating: "[", count: depth)
      #expect(TrickleCandidate(json: text) == nil && LegacyChatMessage(json: Array(text.utf8)) == nil)
      #expect(MailboxCoding.decode(PeerMessage.self, from: Array(text.utf8)) == nil)
      #expect(MailboxCoding.decode(SeatRequest.self, from: Array("{\"session\":\(text)".utf8)) == nil)
    }
    #expect(TrickleCandidate(json: #"{"candidate":"","sdpMLineIndex":1e19}"#) == nil)
    #expect(TrickleCandidate(json: #"{"candidate":"","sdpMLineIndex":1.0}"#)?.sdpMLineIndex == 1)
    #expect(LegacyChatMessage(json: Array(#"{"id":"a","message":"b","timestamp":1e30}"#.utf8)) == nil)
  }
}
