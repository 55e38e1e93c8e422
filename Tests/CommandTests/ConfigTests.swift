import Foundation
import Settings
import Testing

@testable import recbot

@Suite struct ConfigTests {
  /// What is made of the settings: `RECBOT_UPDATE_GOLDENS=1 swift test --filter ConfigTests` writes it.
  private func expect(_ path: String, is text: String) throws {
    let file = Project.root.appending(path: path).path
    if Environment.all["RECBOT_UPDATE_GOLDENS"] != nil {
      try text.write(toFile: file, atomically: true, encoding: .utf8)
    }
    let shipped = try String(contentsOfFile: file, encoding: .utf8)
    let lines = zip(shipped.split(separator: "\n"), text.split(separator: "\n"))
    let difference = lines.first { $0 != $1 }.map { "\($0) | \($1)" }
    #expect(difference == nil, "\(path)")
    #expect(shipped == text, "\(path)")
  }

  @Test func theShippedFileIsWhatTheSettingsSay() throws {
    try expect("Config/recbot.yaml", is: SettingTexts.file)
    #expect(SettingTexts.file.split(separator: "\n").allSatisfy { $0.count <= 124 })
    let path = Project.root.appending(path: "Config/recbot.yaml").path
    #expect(ConfigReport(file: path, environment: [:]).problems.isEmpty)
  }

  @Test func theTableOfTheTalkersSettingsIsWhatTheySay() throws {
    let path = "Sources/recbot/Documentation.docc/Talkers.md"
    let parts = try Project.text(path).split(separator: "| key |", maxSplits: 1)
    try expect(path, is: parts[0] + SettingTexts.table(.talker))
  }

  /// Each line of the shipped file means what it shows: without its sign of a comment it is a good setting.
  @Test func theShippedFileShowsGoodValues() throws {
    let text = SettingTexts.file.split(separator: "\n").map { line in
      line.firstMatch(of: #/^  # [a-z0-9-]+: /#) == nil ? String(line) : "  " + line.dropFirst(4)
    }
    try withFile(text.joined(separator: "\n").replacing("…", with: "x")) { path in
      let found = Configuration.inspect(path: path, environment: [:])
      #expect(found.problems.isEmpty)
      for setting in AnySetting.all {
        let value = try #require(found.configuration[setting]?.text, "\(setting.name)")
        if let fallback = setting.fallback { #expect(value == fallback) }
        if !setting.example.contains("…") {
          #expect(throws: Never.self, "\(setting.name)") { try setting.check(value) }
        }
      }
    }
  }

  @Test func settingsAreListedOnce() throws {
    #expect(Set(AnySetting.all).count == AnySetting.all.count)
    #expect(Set(AnySetting.all.flatMap(\.variables)).count == AnySetting.all.flatMap(\.variables).count)
    for section in SettingSection.all {
      #expect(section.settings.allSatisfy { $0.section == section.name }, "\(section.name)")
    }
    var declared = 0
    for path in Project.files(in: "Sources/recbot/Settings", endings: ["Section.swift"]) {
      declared += try matches(#"static var (\w+): Setting<"#, in: try Project.text(path)).count
    }
    #expect(declared == AnySetting.all.count, "a setting is declared and stands in no section")
  }

  @Test func everyFlagOfASettingIsOne() {
    let flags = CommandLineReader.flags()
    #expect(flags.count > 50)
    for setting in AnySetting.all {
      if let flag = setting.flag { #expect(flags.contains(flag), "\(setting.name): there is no flag \(flag)") }
    }
  }

  @Test func everyDefaultIsAGoodValue() throws {
    for setting in AnySetting.all {
      guard let fallback = setting.fallback else { continue }
      #expect(throws: Never.self, "\(setting.name)") { try setting.check(fallback) }
    }
  }

  @Test func connectOptionsSetWhatThereIs() throws {
    let text = """
      {"roomInfo": {"allow_reconnect": true, "number_of_attempts": 3, "timeout_interval": 5, "activeviews": "list",
      "forceTurn": true, "chat_only": true, "playerConfiguration": {"audiomute": true, "bandwidth": true, "avatar": false}},
      "token": "x", "advanceOptions": [{"id": "notify-video-resolution-change", "enable": true}],
      "publishStreamInfo": {"attributes": {"name": "bot"}}}
      """
    let values = try ConnectOptions(json: text, file: "o.json").values
    #expect(values.count == 12)
    for (name, value) in values {
      let setting = try #require(AnySetting.all.first { $0.name == name }, "there is no setting \(name)")
      #expect(throws: Never.self) { try setting.check(value.text) }
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
      func entry<Value>(_ setting: Setting<Value>) -> String? {
        report.entries.first { $0.setting == setting.about }.map { "\($0.value ?? "-") \($0.origin)" }
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
    for setting in AnySetting.all where setting.isSecret {
      environment[setting.variables[0]] = "planted-\(setting.key)"
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
    #expect(settings.count == AnySetting.all.count)
    #expect(settings["recording.name"]?["value"] as? String == "a \"b\" \u{1} ü")
  }
}
