import MediaCore
import Testing

@testable import Settings

@Suite struct ConnectOptionsTests {
  private func read(_ json: String) throws -> ConnectOptions { try ConnectOptions(json: json, file: "o.json") }

  private func refusal(_ json: String) -> String? {
    do {
      _ = try read(json)
      return nil
    } catch let error as ConfigurationError {
      return error.description
    } catch {
      return "\(error)"
    }
  }

  @Test func theDocumentedKeysAreUnderstood() throws {
    let options = try read(
      """
      {
      \t"roomInfo": {
      \t\t"allow_reconnect": true, "number_of_attempts": 3, "timeout_interval": 10000, "activeviews": "list",
      \t\t"forceTurn": false, "chat_only": true,
      \t\t"playerConfiguration": {"audiomute": false, "videomute": true, "bandwidth": false, "screenshot": false,
      \t\t  "avatar": true, "pinned": false, "iconColor": "#ff8800", "iconHeight": 30, "iconWidth": 30,
      \t\t  "avatarHeight": 50, "avatarWidth": 50}
      \t},
      \t"token": "a.b.c",
      \t"advanceOptions": [{"id": "battery_updates", "enable": true},
      \t  {"id": "notify-video-resolution-change", "enable": false}],
      \t"publishStreamInfo": {"video": true, "audio": true, "data": true, "attributes": {"name": "Recorder"}}
      }
      """)
    let expected: [String: String] = [
      "connection.allow-reconnect": "true", "connection.number-of-attempts": "3",
      "connection.timeout-interval": "10000ms", "connection.activeviews": "list",
      "connection.force-turn": "false", "connection.chat-only": "true", "recording.mute-icons": "false",
      "recording.marks": "false", "livekit.token": "a.b.c",
      "connection.notify-video-resolution-change": "false", "recording.name": "Recorder",
    ]
    #expect(options.values.mapValues(\.text) == expected)
    #expect(options.ignored.contains("advanceOptions.battery_updates"))
    #expect(options.ignored.contains("playerConfiguration.iconColor"))
    #expect(options.values["connection.number-of-attempts"]?.origin == "o.json:3")
  }

  @Test func anApplicationMayDoWithoutImagesButDoesNotSayWhereTheyComeFrom() throws {
    let off = try read(#"{"playerConfiguration": {"avatar": false}}"#)
    #expect(off.values.mapValues(\.text) == ["recording.avatars": "off"])
    let on = try read(#"{"playerConfiguration": {"avatar": true}}"#)
    #expect(on.values.isEmpty)
    #expect(on.ignored == ["playerConfiguration.avatar"])
  }

  @Test func theKeysMayAlsoStandAlone() throws {
    let options = try read(#"{"allow_reconnect": false, "force_turn": true}"#)
    #expect(
      options.values.mapValues(\.text) == ["connection.allow-reconnect": "false", "connection.force-turn": "true"])
    #expect(try read("{}").values.isEmpty)
  }

  @Test(arguments: [
    (
      #"{"allow_recconect": true}"#,
      "o.json:1: there is no connect option 'allow_recconect'; did you mean 'allow_reconnect'?"
    ),
    (#"{"allow_reconnect": 1}"#, "o.json:1: allow_reconnect: true or false is expected"),
    (#"{"number_of_attempts": 0}"#, "o.json:1: number_of_attempts: a whole number from 1 to 1000000 is expected"),
    ("{\n\"timeout_interval\": \"soon\"}", "o.json:2: timeout_interval: a whole number from 0 to 86400000 is expected"),
    (#"{"activeviews": "grid"}"#, "o.json:1: activeviews: 'list' or 'view', not 'grid'"),
    (#"{"playerConfiguration": {"icon": true}}"#, "o.json:1: there is no player option 'icon'"),
    (#"{"playerConfiguration": {"iconColor": "red"}}"#, "o.json:1: iconColor: write for example #ff8800"),
    (#"{"playerConfiguration": true}"#, "o.json:1: playerConfiguration: an object is expected"),
    (#"{"advanceOptions": {"id": 1}}"#, "o.json:1: advanceOptions: a list of objects is expected"),
    (#"{"advanceOptions": [{"id": "battery_updates"}]}"#, "o.json:1: advanceOptions: 'id' and 'enable' are expected"),
    (#"{"advanceOptions": [{"id": "x", "enable": true}]}"#, "o.json:1: there is no advance option 'x'"),
    (#"{"roomInfo": {"token": "x"}}"#, "o.json:1: there is no connect option 'token'"),
    ("[]", "o.json: an object with connect options is expected"),
    ("", "o.json: an object with connect options is expected"),
    ("{\"a\": ", "o.json: "),
  ])
  func mistakesAreRefusedWithTheirPlace(json: String, beginning: String) {
    let text = refusal(json)
    #expect(text?.hasPrefix(beginning) == true, "\(text ?? "accepted")")
    #expect(text?.contains("\n") == false)
  }

  @Test(arguments: 0..<300)
  func damagedOptionsAreReadOrRefused(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var bytes = Array(
      #"{"roomInfo":{"allow_reconnect":true,"playerConfiguration":{"audiomute":false}},"advanceOptions":[{"id":"a"}]}"#
        .utf8)
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes[index] = .random(in: 0...255, using: &random)
      case 1: bytes.remove(at: index)
      default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: index)
      }
    }
    if let text = refusal(String(decoding: bytes, as: UTF8.self)) {
      #expect(text.hasPrefix("o.json") && !text.contains("\n"), "seed \(seed): \(text)")
    }
  }
}
