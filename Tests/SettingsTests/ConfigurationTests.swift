import Foundation
import LayoutFiles
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

  @Test func theStrongestVariableCounts() throws {
    try withFile("") { path in
      let names = ["LIVEKIT_URL": "ws://a", "RECBOT_URL": "ws://b", "RECBOT_WORKER_SECRET": "s"]
      let configuration = try Configuration.load(path: path, environment: names)
      #expect(configuration[.url]?.text == "ws://b" && configuration[.url]?.origin == "RECBOT_URL")
      #expect(configuration[.secret]?.text == "s" && configuration.secrets == ["s"])
      #expect(try Configuration.load(path: path, environment: ["LIVEKIT_URL": "ws://a"])[.url]?.text == "ws://a")
      #expect("\(configuration)" == "livekit.url=ws://b worker.secret=****")
    }
  }

  @Test func whatIsSetNowhereHasItsDefault() throws {
    #expect(try Setting<Int>.framesPerSecond.unset() == 30)
    #expect(try Setting<String?>.url.unset() == nil)
    #expect(throws: ValueError.self) { try Setting<Int>.framesPerSecond.parse("61") }
    #expect(throws: ValueError.self) { try Setting<Int>.framesPerSecond.about.check("61") }
  }

  @Test func anUnknownSettingIsRefusedWithFileLineAndSuggestion() throws {
    try withFile("recording:\n  layuot: grid\n") { path in
      let error = #expect(throws: ConfigurationError.self) {
        try Configuration.load(path: path, environment: [:])
      }
      #expect(error?.description == "\(path):2: there is no setting 'layuot'; did you mean 'layout'?")
    }
  }

  @Test(arguments: [
    "- a\n- b\n", "recording: 5\n", "recording:\n  fps: [1]\n", "foo:\n  x: 1\n", "a: b: c\n", "\t",
    " a:&,a*]?\u{e} \r\n",
  ])
  func nonsenseIsRefusedInOneLine(text: String) throws {
    try withFile(text) { path in
      let error = #expect(throws: ConfigurationError.self) {
        try Configuration.load(path: path, environment: [:])
      }
      #expect(error?.description.contains("\n") == false)
      #expect(error?.description.hasPrefix(path) == true)
    }
  }

  @Test(arguments: [
    ("recording:\n\tfps: 5\n", ":2:1: the line is indented with a tab; YAML wants spaces"),
    ("recording:\n  fps: 5\n    layout: grid\n", "is the line indented like its neighbours?"),
    ("recording:\n  title: @home\n", "put the text in quotes"),
    ("recording:\n  fps: 5\n  fps: 6\n", "given twice: 'fps'"),
  ])
  func whatIsNoYAMLIsToldInWords(text: String, says: String) throws {
    try withFile(text) { path in
      let error = #expect(throws: ConfigurationError.self) { try Configuration.load(path: path, environment: [:]) }
      #expect(error?.description.hasPrefix(path) == true)
      #expect(error?.description.contains(says) == true, "\(error?.description ?? "")")
    }
  }

  /// Yams hashes the keys of a mapping wholly: one that is a list of lists of aliases has more values than there is time.
  @Test(arguments: ["? *i\n: 1\n", "*i : 1\n", "x: {*i : 1}\n", "x: {[*i]: 1}\n", "x: {? *i : 1}\n", "? - *i\n: 1\n"])
  func aliasesThatStandForMoreThanThereIsAreRefusedAtOnce(use: String) throws {
    var text = "a: &a [x, x, x, x, x, x, x, x]\n"
    for (last, next) in zip("abcdefgh", "bcdefghi") {
      text += "\(next): &\(next) [" + Array(repeating: "*\(last)", count: 8).joined(separator: ", ") + "]\n"
    }
    #expect(throws: ConfigurationError.self) { try YAMLText.compose(text + use) }
    try withFile(text + use) { path in
      let error = #expect(throws: ConfigurationError.self) { try Configuration.load(path: path, environment: [:]) }
      #expect(error?.description == "\(path): where there are aliases, keys must be plain words")
      #expect(throws: LayoutError.self) { try LayoutReader.read(text + use, file: path, name: "x") }
    }
    // Without such a key they cost nothing, and what walks over them counts.
    #expect(try YAMLText.compose(text) != nil)
    #expect(throws: LayoutError.self) { try LayoutReader.read(text + "scenes: *i\n", file: "x", name: "x") }
  }

  @Test func usualYAMLIsNotTakenForTooMuch() throws {
    for text in [
      "a: &a {b: 1}\nc: *a\nd: [*a, *a]\n'e f': 2\n", "secret: \"a&b*c:d\"\n", "a: &x [1, 2]\nb: {c: *x, d: 1}\ne: f\n",
      "title: Q & A, what? *all*\n", "<<: 1\na: '? :'\n",
    ] { #expect(try YAMLText.compose(text) != nil, "\(text)") }
    #expect(throws: ConfigurationError.self) { try YAMLText.compose(String(repeating: " ", count: 1 << 20) + "a") }
    for depth in [900, 1100, 100_000] {
      for opening in ["[", "{a: ", "- ", "? "] {
        let node = try? YAMLText.compose(String(repeating: opening, count: depth))
        #expect(node == nil || depth < 1000, "\(depth) of \(opening)")
      }
    }
  }

  @Test func aNamedFileMustExist() {
    #expect(throws: ConfigurationError.self) { try Configuration.load(path: "/nowhere/x.yaml", environment: [:]) }
  }
}
