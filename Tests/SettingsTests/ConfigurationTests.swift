import Foundation
import Testing

@testable import Settings

@Suite struct ConfigurationTests {
  /// A configuration file with this text, for the length of `body`.
  private func withFile<T>(_ text: String, _ body: (String) throws -> T) throws -> T {
    let path = FileManager.default.temporaryDirectory.appending(path: "recbot-\(UUID()).yaml").path
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
  }

  @Test func theEnvironmentGoesBeforeTheFile() throws {
    try withFile("recording:\n  layout: speaker\n  fps: 25\n") { path in
      let configuration = try Configuration.load(path: path, environment: ["RECBOT_LAYOUT": "grid"])
      #expect(configuration[.layout]?.text == "grid")
      #expect(configuration[.layout]?.origin == "RECBOT_LAYOUT")
      #expect(configuration[.framesPerSecond]?.text == "25")
      #expect(configuration[.framesPerSecond]?.origin == "\(path):3")
    }
  }

  @Test func liveKitsOwnVariablesCount() throws {
    let configuration = try Configuration.load(
      path: nil, environment: ["LIVEKIT_URL": "ws://a", "LIVEKIT_API_KEY": "k", "LIVEKIT_API_SECRET": "s"])
    #expect(configuration[.url]?.text == "ws://a")
    #expect(configuration[.apiKey]?.text == "k")
    #expect(configuration[.apiSecret]?.text == "s")
  }

  @Test func anUnknownSettingIsRefusedWithFileLineAndSuggestion() throws {
    try withFile("recording:\n  layuot: grid\n") { path in
      let error = #expect(throws: ConfigurationError.self) {
        try Configuration.load(path: path, environment: [:])
      }
      #expect(error?.description == "\(path):2: there is no setting 'layuot'; did you mean 'layout'?")
    }
  }

  @Test(arguments: ["- a\n- b\n", "recording: 5\n", "recording:\n  fps: [1]\n", "foo:\n  x: 1\n", "a: b: c\n", "\t"])
  func nonsenseIsRefusedInOneLine(text: String) throws {
    try withFile(text) { path in
      let error = #expect(throws: ConfigurationError.self) {
        try Configuration.load(path: path, environment: [:])
      }
      #expect(error?.description.contains("\n") == false)
      #expect(error?.description.hasPrefix(path) == true)
    }
  }

  @Test func aNamedFileMustExist() {
    #expect(throws: ConfigurationError.self) { try Configuration.load(path: "/nowhere/x.yaml", environment: [:]) }
  }

  @Test func theShippedFileIsValidAndNamesEverySetting() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "Config/recbot.yaml").path
    _ = try Configuration.load(path: path, environment: [:])
    let text = try String(contentsOfFile: path, encoding: .utf8)
    for setting in Setting.allCases {
      let key = setting.rawValue.split(separator: ".").last.map(String.init) ?? ""
      #expect(text.contains("# \(key): "), "Config/recbot.yaml does not name \(setting.rawValue)")
      #expect(
        setting.environmentNames.contains { text.contains($0) },
        "Config/recbot.yaml does not name a variable for \(setting.rawValue)")
    }
  }
}
