import Testing

@testable import Signaling

@Suite struct AccessTokenTests {
  let now: Int64 = 1_800_000_000
  let grant = VideoGrant(
    room: "lobby", roomJoin: true, canPublish: false, hidden: true, recorder: true)

  func token(lifetime: Int64 = 600) -> AccessToken {
    AccessToken(
      apiKey: "devkey", identity: "bot", video: grant, now: now, lifetime: lifetime,
      name: "Recorder \"1\"",
      metadata: "{\"a\":1}", attributes: ["k": "v"], kind: "standard")
  }

  func verify(_ text: String, at time: Int64? = nil, secret: String = "secret") -> AccessToken? {
    try? AccessToken(verifying: text, now: time ?? now) { $0 == "devkey" ? secret : nil }
  }

  /// A token with any header and payload, rightly signed.
  func forged(
    header: String = #"{"alg":"HS256","typ":"JWT"}"#, payload: String, secret: String = "secret"
  ) -> String {
    TokenForge.token(header: header, payload: payload, secret: secret)
  }

  @Test func aSignedTokenIsReadBackWithAllItsClaims() throws {
    let text = try token().signed(secret: "secret")
    #expect(verify(text) == token())
    #expect(try AccessToken(reading: text) == token())
    #expect(text.split(separator: ".").count == 3)
  }

  @Test func timesHaveALeewayOfAMinute() throws {
    let text = try token(lifetime: 600).signed(secret: "secret")
    #expect(verify(text, at: now - 60) != nil)
    #expect(verify(text, at: now - 61) == nil)
    #expect(verify(text, at: now + 659) != nil)
    #expect(verify(text, at: now + 660) == nil)
  }

  @Test func expiryIsRequired() {
    #expect(verify(forged(payload: #"{"iss":"devkey","sub":"a"}"#)) == nil)
    #expect(verify(forged(payload: #"{"iss":"devkey","sub":"a","exp":1800000100}"#)) != nil)
    #expect(
      verify(forged(payload: #"{"iss":"devkey","sub":"a","exp":1800000100.9}"#))?.expires
        == 1_800_000_100)
    #expect(verify(forged(payload: #"{"iss":"devkey","sub":"a","exp":"1800000100"}"#)) == nil)
    #expect(verify(forged(payload: #"{"iss":"devkey","sub":"a","exp":1e300}"#)) == nil)
    #expect(
      verify(forged(payload: #"{"iss":"devkey","sub":"a","exp":9223372036854775807}"#)) != nil)
  }

  @Test(arguments: ["none", "None", "nOnE", "HS384", "HS512", "RS256", "hs256", ""])
  func everyAlgorithmButHS256IsRefused(name: String) {
    let payload = #"{"iss":"devkey","sub":"a","exp":1800000100}"#
    #expect(verify(forged(header: #"{"alg":"\#(name)"}"#, payload: payload)) == nil)
    let unsigned = forged(header: #"{"alg":"\#(name)"}"#, payload: payload).split(separator: ".")
      .prefix(2)
    #expect(verify(unsigned.joined(separator: ".") + ".") == nil)
  }

  @Test func headersWithoutAlgorithmOrWithCriticalExtensionsAreRefused() {
    let payload = #"{"iss":"devkey","sub":"a","exp":1800000100}"#
    #expect(verify(forged(header: "{}", payload: payload)) == nil)
    #expect(verify(forged(header: #"{"alg":"HS256","crit":["x"],"x":1}"#, payload: payload)) == nil)
    #expect(
      verify(forged(header: #"{"alg":"HS256","kid":"../../etc/passwd"}"#, payload: payload)) != nil)
  }

  @Test func everyFlippedBitIsNoticed() throws {
    let bytes = Array(try token().signed(secret: "secret").utf8)
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        #expect(
          verify(String(decoding: changed, as: UTF8.self)) == nil, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test func unknownKeysAndWrongOrEmptySecretsAreRefused() throws {
    let text = try token().signed(secret: "secret")
    #expect(verify(text, secret: "other") == nil)
    #expect(
      verify(forged(payload: #"{"iss":"devkey","exp":1800000100}"#, secret: ""), secret: "") == nil)
    #expect(verify(forged(payload: #"{"iss":"nobody","exp":1800000100}"#)) == nil)
    #expect(
      verify(forged(payload: #"{"iss":"nobody","exp":1800000100}"#, secret: "\0unknown")) == nil)
    #expect(verify(forged(payload: #"{"exp":1800000100}"#)) == nil)
  }

  @Test(arguments: ["", ".", "..", "...", "a.b.c", "a.b.c.d", "é.é.é", "e30.e30.", "=.=.="])
  func malformedTokensAreRefused(text: String) {
    #expect(verify(text) == nil)
  }

  @Test func hugeTokensAreNotLookedAt() {
    #expect(verify(String(repeating: "A", count: 1 << 20)) == nil)
  }

  @Test func aTokenMadeByPyJWTIsAccepted() {
    let text =
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
      + "eyJpc3MiOiJkZXZrZXkiLCJzdWIiOiJhbm5hIiwiZXhwIjo0MTAyNDQ0ODAwLCJ2aWRlbyI6eyJyb29tIjoiciIsInJvb21Kb2luIjp0cnVlfX0"
      + ".hk0asw6KDDKoDWa-dfoALrfDV6giBb-b4Da6VexlNTs"
    let value = verify(text)
    #expect(value?.identity == "anna")
    #expect(value?.video?.room == "r")
    #expect(value?.video?.allowsPublish == true)
    #expect(value?.video?.allowsData == true)
  }

  @Test func grantsHaveTheProtocolsDefaults() {
    var grant = VideoGrant()
    #expect(grant.allowsPublish && grant.allowsSubscribe && grant.allowsData)
    grant.canPublish = false
    #expect(!grant.allowsPublish && !grant.allowsData && !grant.allowsPublishing(.camera))
    grant.canPublishSources = ["microphone"]
    #expect(grant.allowsPublishing(.microphone) && !grant.allowsPublishing(.screenShare))
  }

  @Test func aTokenVouchesForABodyByItsHash() throws {
    let token = AccessToken(vouchingFor: Array("abc".utf8), apiKey: "k", now: 1000, lifetime: 300)
    // FIPS 180-4, appendix B.1, in base64.
    #expect(token.sha256 == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
    let read = try AccessToken(verifying: token.signed(secret: "s"), now: 1100) { _ in "s" }
    #expect(read.sha256 == token.sha256 && read.expires == 1300 && read.video == nil)
  }
}
