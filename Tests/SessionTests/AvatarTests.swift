import MediaCore
import Testing

@testable import Session

@Suite struct AvatarTests {
  private func avatar(_ metadata: String, _ attributes: [String: String] = [:]) -> String {
    Participant(identity: ParticipantIdentity("ada"), metadata: metadata, attributes: attributes).avatar
  }

  @Test func theAttributeGoesBeforeTheMetadata() {
    #expect(avatar("", ["avatar": "ada.png"]) == "ada.png")
    #expect(avatar(#"{"avatar": "bo.png"}"#, ["avatar": "ada.png"]) == "ada.png")
    #expect(avatar(#"{"avatar": "bo.png"}"#, ["color": "red"]) == "bo.png")
    #expect(avatar("", [:]).isEmpty)
  }

  @Test func itFollowsChanges() {
    var ada = Participant(identity: ParticipantIdentity("ada"))
    ada.attributes["avatar"] = "a.png"
    #expect(ada.avatar == "a.png")
    ada.attributes = [:]
    ada.metadata = #"{"avatar":"b.png"}"#
    #expect(ada.avatar == "b.png")
  }

  @Test(arguments: [
    (
      #"{"a":{"avatar":"no"},"b":[1,{"avatar":"no"}],"avatar":"https:\/\/example.org\/\u00e9\ud83d\ude80.png"}"#,
      "https://example.org/é🚀.png"
    ),
    ("  {\n\t\"x\" : null , \"y\": \"a,\\\"}\" , \"avatar\" : \"x\" }", "x"),
    (#"{"avatar":"a\nb\t\\\"c"}"#, "a\nb\t\\\"c"),
    (#"{"x":-1.5e3,"avatar":"","y":1}"#, ""), (#"{"x":true,"avatar":"later"}"#, "later"),
  ]) func itIsFoundInTheOutermostObject(metadata: String, wanted: String) {
    #expect(avatar(metadata) == wanted)
  }

  @Test(arguments: [
    "", "{", "{}", "[]", "null", "avatar", #""avatar""#, #"["avatar","x"]"#, #"{"avatar":}"#, #"{"avatar":5}"#,
    #"{"avatar":{"avatar":"x"}}"#, #"{"avatar":"x"#, #"{"avatar":"\"#, #"{"avatar":"\u12"#, #"{"avatar":"\u12g4"}"#,
    #"{"avatar":"\x"}"#, #"{avatar:"x"}"#, #"{"a" "b","avatar":"x"}"#, #"{"a":"b" "avatar":"x"}"#,
  ]) func whatIsNotSaidIsNotFound(metadata: String) {
    #expect(avatar(metadata).isEmpty)
  }

  @Test func workIsBounded() {
    #expect(avatar(#"{"x":"\#(String(repeating: "y", count: 1 << 17))","avatar":"x"}"#).isEmpty)
    #expect(avatar("", ["avatar": String(repeating: "y", count: 4096)]).isEmpty)
    #expect(avatar(String(repeating: #"{"a":["#, count: 10_000)).isEmpty)
  }

  @Test func damagedMetadataNeverTraps() {
    let original = Array(#"{"a":{"b":["\u00e9",1.5]},"c":"d\\","avatar":"x\ud83d\ude80"}"#.utf8)
    for seed in UInt64(1)...3000 {
      var random = SeededRandom(seed: seed)
      var bytes = original
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
      #expect(
        avatar(String(decoding: bytes, as: UTF8.self)).utf8.count <= AvatarReference.maximumLength, "seed \(seed)")
    }
  }
}
