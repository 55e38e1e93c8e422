import Foundation
import Settings
import Testing

@testable import recbot

@Suite struct ConfigTests {
  /// A line of `Config/recbot.yaml` that documents a setting: `  # key: value  # NAMES, --flag: what it is`.
  struct Line {
    var setting: String
    var value: String
    var comment: String
  }

  static func documented() throws -> [Line] {
    var section = ""
    var lines: [Line] = []
    for line in try Project.text("Config/recbot.yaml").split(separator: "\n") {
      if let name = try matches(#"^([a-z-]+):$"#, in: String(line)).first { section = name }
      guard let match = String(line).firstMatch(of: /^  # ([a-z0-9-]+): (.*?)  ?# (.*)$/) else { continue }
      let value = match.2.trimmingCharacters(in: .whitespaces)
      lines.append(
        Line(
          setting: "\(section).\(match.1)", value: value.trimmingCharacters(in: ["\""]), comment: String(match.3)))
    }
    return lines
  }

  @Test func theShippedFileAndTheSettingsAgreeBothWays() throws {
    let lines = try Self.documented()
    #expect(lines.map(\.setting).sorted() == Setting.allCases.map(\.rawValue).sorted())
    let flags = CommandLineReader.flags()
    #expect(flags.count > 50)
    for line in lines {
      guard let setting = Setting(rawValue: line.setting) else { continue }
      let names = try matches(#"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"#, in: String(line.comment.prefix { $0 != ":" }))
      #expect(!names.isEmpty, "\(line.setting): no variable is named")
      #expect(names.allSatisfy(setting.environmentNames.contains), "\(line.setting): \(names)")
      for flag in try matches(#"(--[a-z][a-z-]+)"#, in: line.comment) {
        #expect(flags.contains(flag), "\(line.setting): there is no flag \(flag)")
      }
      let rule = SettingRule.of(setting)
      if let fallback = rule.fallback {
        #expect(
          line.value == fallback || line.comment.contains("default"), "\(line.setting): the default is \(fallback)")
      } else {
        #expect(line.comment.contains("default"), "\(line.setting): says nothing of its default")
      }
    }
  }

  @Test func everyDefaultIsAGoodValue() throws {
    for setting in Setting.allCases {
      guard let fallback = SettingRule.of(setting).fallback else { continue }
      #expect(throws: Never.self, "\(setting.rawValue)") { try SettingRule.of(setting).check(fallback) }
    }
  }

  /// A file with this text, for the length of `body`.
  private func withFile<T>(_ text: String, _ body: (String) throws -> T) throws -> T {
    let path = FileManager.default.temporaryDirectory.appending(path: "recbot-\(UUID()).yaml").path
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
  }

  @Test func everythingThatIsWrongIsToldInTheOrderOfTheLines() throws {
    let text = """
      recording:
        layuot: grid
        fps: 100
        layout: gird
      recordng:
        x: 1
      worker:
        capacity: none
      delivery:
        upload: live
        s3-endpoint: ftp://x
      """
    try withFile(text) { path in
      let report = ConfigReport(file: path, environment: ["RECBOT_WORKER_CAPACITY": "4", "RECBOT_SIZE": "7x7"])
      let starts = [
        "\(path):2: there is no setting 'layuot'; did you mean 'layout'?", "\(path):3: fps: ", "\(path):4: layout: ",
        "\(path):5: there is no section 'recordng'; did you mean 'recording'?", "\(path):8: capacity: ",
        "\(path):10: upload: a bucket is missing", "\(path):11: s3-endpoint: ", "RECBOT_SIZE: size: ",
      ]
      #expect(report.problems.count == starts.count, "\(report.problems)")
      for (problem, start) in zip(report.problems, starts) { #expect(problem.hasPrefix(start), "\(problem)") }
    }
  }

  @Test func eachValueIsShownWithItsOrigin() throws {
    try withFile("recording:\n  fps: 25\n  layout: speaker\n") { path in
      let report = ConfigReport(file: path, environment: ["RECBOT_LAYOUT": "grid", "RECBOT_LAYOT": "x"])
      #expect(report.problems.isEmpty)
      #expect(report.warnings == ["the variable RECBOT_LAYOT means nothing; did you mean RECBOT_LAYOUT?"])
      func entry(_ setting: Setting) -> String? {
        report.entries.first { $0.setting == setting }.map { "\($0.value ?? "-") \($0.origin)" }
      }
      #expect(entry(.framesPerSecond) == "25 \(path):2")
      #expect(entry(.layout) == "grid RECBOT_LAYOUT")
      #expect(entry(.size) == "1280x720 default")
      #expect(entry(.token) == "- default")
      #expect(report.lines(onlySet: true).joined(separator: "\n").contains("size") == false)
    }
  }

  @Test func noSecretIsEverShown() throws {
    var environment: [String: String] = [:]
    for setting in Setting.allCases where setting.isSecret {
      environment[setting.environmentNames[0]] = "planted-\(setting.key)"
    }
    environment["RECBOT_DATABASE"] = "postgres://me:pla@nted@host/db?sslmode=require&password=planted"
    environment["RECBOT_WEBHOOK_URLS"] = "https://me:planted@a.example/x,https://b.example/?token=planted&a=b"
    let report = ConfigReport(file: "/dev/null", environment: environment)
    let text =
      (report.lines(onlySet: false) + [report.json(onlySet: false)] + report.problems + report.warnings)
      .joined(separator: "\n")
    #expect(!text.contains("planted") && !text.contains("pla@nted"))
    #expect(text.contains("postgres://me:****@host/db?sslmode=require&password=****"))
    #expect(text.contains("https://me:****@a.example/x,https://b.example/?token=****&a=b"))
    #expect(report.problems.contains { $0.hasPrefix("RECBOT_WORKER_SECRET: secret: ") })
  }

  @Test func theReportAsJSONIsJSON() throws {
    let report = ConfigReport(file: "/dev/null", environment: ["RECBOT_NAME": "a \"b\" \u{1} ü"])
    let object = try JSONSerialization.jsonObject(with: Data(report.json(onlySet: false).utf8)) as? [String: Any]
    let settings = try #require(object?["settings"] as? [String: [String: Any]])
    #expect(settings.count == Setting.allCases.count)
    #expect(settings["recording.name"]?["value"] as? String == "a \"b\" \u{1} ü")
  }
}
