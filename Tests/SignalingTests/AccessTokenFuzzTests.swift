import MediaCore
import Testing

@testable import Signaling

/// The token reader over seeded damage, signatures and all. (Tests/Fuzz has it without them.)
@Suite struct AccessTokenFuzzTests {
  private static let now: Int64 = 1_800_000_000
  private static let headers = [
    #"{"alg":"HS256","typ":"JWT"}"#, #"{"alg":"HS256","z":1e19,"y":[[-1.5e-7]]}"#,
    #"{"alg":"HS256","kid":"k","x5c":["a"],"jwk":{"kty":"oct"},"b64":false}"#,
  ]
  private static let payloads = [
    #"{"iss":"devkey","sub":"anna","exp":1800000100,"nbf":1.7e9,"video":{"room":"r","roomJoin":true}}"#,
    #"{"iss":"devkey","jti":"x","exp":-1e18,"attributes":{"k":"v"},"sha256":"q","kind":"egress","metadata":"\u00e9"}"#,
    #"{"iss":"devkey","exp":9223372036854775807,"video":{"canPublishSources":["camera",""],"hidden":null}}"#,
  ]

  private func damage(_ text: String, _ random: inout SeededRandom) -> String {
    var bytes = Array(text.utf8)
    for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes[at] = Array("{}[]\",:.-0123456789eE\\".utf8).randomElement(using: &random) ?? 0
      case 2: bytes.removeSubrange(at...)
      case 3: bytes.insert(contentsOf: bytes[at...].prefix(8), at: at)
      default: bytes.insert(contentsOf: Array("99999999999999999999".utf8), at: at)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func verify(_ token: String) -> AccessToken? {
    try? AccessToken(verifying: token, now: Self.now) { $0 == "devkey" ? "secret" : nil }
  }

  @Test(arguments: 0..<4 as Range<UInt64>) func damagedClaimsUnderAGoodSignatureDoNotTrap(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<2000 {
      let isHeader = Bool.random(using: &random)
      let header = Self.headers.randomElement(using: &random) ?? ""
      let payload = Self.payloads.randomElement(using: &random) ?? ""
      let token = TokenForge.token(
        header: isHeader ? damage(header, &random) : header, payload: isHeader ? payload : damage(payload, &random),
        secret: "secret")
      if let value = verify(token), !value.isValid(at: Self.now) { Issue.record("seed \(seed): \(token)") }
      _ = try? AccessToken(reading: token)
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>) func damagedTokensAreRefusedOrSayTheSame(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let good = AccessToken(
      apiKey: "devkey", identity: "anna", video: VideoGrant(room: "r", roomJoin: true), now: Self.now, name: "Anna")
    let text = try good.signed(secret: "secret")
    for _ in 0..<2000 {
      let token = damage(text, &random)
      if let value = verify(token), value != good { Issue.record("seed \(seed): \(token)") }
      _ = try? AccessToken(reading: token)
    }
  }
}
