import Backend
import JobsAPI
import LayoutFiles
import MediaCore
import Settings
import WebClient

/// The settings in force, where each comes from, and what is wrong with them.
struct ConfigReport {
  /// A setting as it is shown.
  struct Entry {
    var setting: AnySetting
    /// The value, secrets hidden; nil: not set, and there is no default.
    var value: String?
    /// A variable's name, file and line, or `default`.
    var origin: String
  }

  /// The file that was read, if there was one.
  private(set) var file: String?
  /// In the order of `Config/recbot.yaml`.
  private(set) var entries: [Entry] = []
  /// One line each; with any of them the settings cannot be used.
  private(set) var problems: [String] = []
  /// One line each.
  private(set) var warnings: [String] = []

  /// Reads the file (nil: the usual ones) and the environment.
  init(file named: String?, environment: [String: String]) {
    let found = Configuration.inspect(path: named, environment: environment)
    let configuration = found.configuration
    file = found.file
    problems = found.problems.map(\.description)
    for setting in AnySetting.all {
      // What a variable hides today is in force tomorrow: the file is checked by itself, too.
      for (text, origin) in [found.inFile[setting], configuration[setting]].compactMap({ $0 }) {
        do {
          try setting.check(text)
        } catch {
          let problem = "\(origin): \(setting.key): \(error)"
          if !problems.contains(problem) { problems.append(problem) }
        }
      }
      if let (text, origin) = configuration[setting] {
        entries.append(Entry(setting: setting, value: setting.shown(text), origin: origin))
      } else {
        entries.append(Entry(setting: setting, value: setting.fallback, origin: "default"))
      }
    }
    warnings = Self.strangers(in: environment)
    checkLayout(configuration)
    checkWebhooks(configuration)
    if configuration[.workerSecret] != nil, configuration[.workerSecretFile] != nil {
      warnings.append("worker.secret and worker.secret-file are both set: the file counts")
    }
    if configuration[.upload].map({ $0.text != "off" }) == true, configuration[.s3Bucket] == nil {
      problems.append("\(configuration[.upload]?.origin ?? ""): upload: a bucket is missing (delivery.s3-bucket)")
    }
    problems = problems.enumerated().sorted {
      (Self.line($0.element), $0.offset) < (Self.line($1.element), $1.offset)
    }.map(\.element)
  }

  /// The line of the file that a problem is about; those of variables come last.
  private static func line(_ problem: String) -> Int {
    problem.split(separator: ":", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? .max
  }

  /// A layout is looked for as a recording would.
  private mutating func checkLayout(_ configuration: Configuration) {
    guard let (name, origin) = configuration[.layout] else { return }
    do throws(LayoutError) {
      _ = try LayoutStore(folder: configuration.text(.layoutsDir)).layout(name)
    } catch {
      problems.append("\(origin): layout: \(error)")
    }
  }

  /// Webhooks that can never be sent; a backend would not start with them.
  private mutating func checkWebhooks(_ configuration: Configuration) {
    guard let (urls, origin) = configuration[.webhookURLs] else { return }
    var backend = BackendConfiguration(roomService: RoomService(url: "ws://127.0.0.1", apiKey: "", apiSecret: ""))
    backend.webhookSecret = configuration.text(.webhookSecret)
    backend.webhookForm = (try? configuration.value(.webhookForm)) ?? .standard
    backend.allowsPrivateAddresses = (try? configuration.value(.privateAddresses)) == .allow
    backend.webhooks = WebhookTarget.list(urls, form: backend.webhookForm)
    problems += backend.webhookProblems.map { "\(origin): \($0)" }
  }

  /// Variables that look like settings, and are none.
  private static func strangers(in environment: [String: String]) -> [String] {
    let known = AnySetting.all.flatMap(\.variables) + ["RECBOT_CONFIG"]
    return environment.keys.filter { $0.hasPrefix("RECBOT_") && !known.contains($0) && !$0.hasPrefix("RECBOT_UPDATE_") }
      .sorted().map { name in
        let hint = Values.suggestion(for: name, among: known).map { "; did you mean \($0)?" } ?? ""
        return "the variable \(name) means nothing\(hint)"
      }
  }

  /// Everything as a table by sections.
  func lines(onlySet: Bool) -> [String] {
    var lines = ["file: \(file ?? "none")"]
    let shown = entries.filter { !onlySet || $0.origin != "default" }
    let keys = shown.map(\.setting.key.count).max() ?? 0
    let values = min(40, shown.map { $0.value?.count ?? 1 }.max() ?? 0)
    var section = ""
    for entry in shown {
      if entry.setting.section != section {
        section = entry.setting.section
        lines += ["", "\(section):"]
      }
      let value = RoomText.oneLine(entry.value ?? "-", limit: 300)
      lines.append("  \(Self.padded(entry.setting.key, keys))  \(Self.padded(value, values))  \(entry.origin)")
    }
    return lines
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// Everything as one line of JSON.
  func json(onlySet: Bool) -> String {
    func list(_ texts: [String]) -> String { "[" + texts.map(JSONText.quoted).joined(separator: ",") + "]" }
    let settings = entries.filter { !onlySet || $0.origin != "default" }.map { entry in
      let value = entry.value.map(JSONText.quoted) ?? "null"
      return
        "\(JSONText.quoted(entry.setting.name)):{\"value\":\(value),\"origin\":\(JSONText.quoted(entry.origin))}"
    }
    return "{\"file\":\(file.map(JSONText.quoted) ?? "null"),\"problems\":\(list(problems)),"
      + "\"warnings\":\(list(warnings)),\"settings\":{\(settings.joined(separator: ","))}}"
  }
}
