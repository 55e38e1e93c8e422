import Glibc
import Yams

/// A configuration file that cannot be used: one clear line with file and line number.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, where, and what to do, in one line.
  public let description: String
  /// Makes an error from its text; line breaks of what it quotes become blanks.
  init(description: String) { self.description = YAMLText.oneLine(description) }
}

/// The settings in force below the flags: environment first, then the configuration file. Printed and dumped, it shows
/// no secret.
public struct Configuration: Sendable, CustomStringConvertible, CustomReflectable {
  /// All settings that there are, in the order of the file.
  private let known: [AnySetting]
  /// What is set, by the settings' names.
  private var values: [String: (text: String, origin: String)] = [:]

  /// Nothing set, of these settings.
  public init(known: [AnySetting]) { self.known = known }

  /// What is set, as it may be shown.
  public var customMirror: Mirror { Mirror(self, children: shown.map { (label: $0.name, value: $0.text as Any) }) }

  /// What is set, as it may be shown, on one line.
  public var description: String { shown.map { "\($0.name)=\($0.text)" }.joined(separator: " ") }

  /// The values that must never be shown.
  public var secrets: [String] { known.filter(\.isSecret).compactMap { values[$0.name]?.text } }

  private var shown: [(name: String, text: String)] {
    known.compactMap { setting in values[setting.name].map { (setting.name, setting.shown($0.text)) } }
  }

  /// Reads the file and the environment for the settings that are `known`.
  ///
  /// The file is `path`, or `RECBOT_CONFIG`, or the first that exists of `Config/recbot.yaml` and
  /// `/etc/recbot/recbot.yaml`. A file that was named must exist; unknown keys are refused.
  public static func load(
    path: String?, environment: [String: String], known: [AnySetting]
  ) throws(ConfigurationError) -> Configuration {
    let found = inspect(path: path, environment: environment, known: known)
    if let first = found.problems.first { throw first }
    return found.configuration
  }

  /// What stands in a file and the environment.
  public struct Inspection: Sendable {
    /// What is in force.
    public var configuration: Configuration
    /// What the file alone would set.
    public var inFile: Configuration
    /// The file that was read; nil: there is none.
    public var file: String?
    /// What cannot be understood, in the order of the lines.
    public var problems: [ConfigurationError] = []
  }

  /// Reads the file and the environment like `load`, but goes on after each problem.
  public static func inspect(path: String?, environment: [String: String], known: [AnySetting]) -> Inspection {
    var result = Configuration(known: known)
    var file: String?
    var problems: [ConfigurationError] = []
    if let named = path ?? environment["RECBOT_CONFIG"].flatMap({ $0.isEmpty ? nil : $0 }) {
      file = named
      if let text = readFile(named) {
        problems = result.merge(yaml: text, file: named)
      } else {
        problems = [ConfigurationError(description: "configuration file \(named) cannot be read: \(systemMessage())")]
      }
    } else {
      for candidate in ["Config/recbot.yaml", "/etc/recbot/recbot.yaml"] {
        guard let text = readFile(candidate) else { continue }
        file = candidate
        problems = result.merge(yaml: text, file: candidate)
        break
      }
    }
    let inFile = result
    for setting in known {
      for name in setting.variables.reversed() {
        if let value = environment[name], !value.isEmpty { result.values[setting.name] = (value, name) }
      }
    }
    return Inspection(configuration: result, inFile: inFile, file: file, problems: problems)
  }

  /// The text of a setting and where it comes from (a variable's name, or file and line), if it is set.
  public subscript(setting: AnySetting) -> (text: String, origin: String)? { values[setting.name] }

  /// The text of a setting and where it comes from (a variable's name, or file and line), if it is set.
  public subscript<Value>(setting: Setting<Value>) -> (text: String, origin: String)? { self[setting.about] }

  /// Reads connect options from a JSON file; what they set goes before environment and file. Gives the keys that mean
  /// nothing to a recording.
  public mutating func merge(connectOptions path: String) throws(ConfigurationError) -> [String] {
    guard let text = Self.readFile(path) else {
      throw ConfigurationError(description: "connect options \(path) cannot be read: \(Self.systemMessage())")
    }
    let options = try ConnectOptions(json: text, file: path)
    values.merge(options.values) { $1 }
    return options.ignored
  }

  /// Takes over what the text sets; gives what is wrong with it.
  private mutating func merge(yaml text: String, file: String) -> [ConfigurationError] {
    let root: Node?
    do {
      root = try YAMLText.compose(text)
    } catch let error as YamlError {
      return [ConfigurationError(description: YAMLText.fault(error, in: text, file: file))]
    } catch {
      return [ConfigurationError(description: "\(file): \(error)")]
    }
    guard let root, root != Node("") else { return [] }
    guard let sections = root.mapping else {
      return [
        ConfigurationError(description: "\(file): a mapping of sections is expected, for example 'recording:'")
      ]
    }
    var problems: [ConfigurationError] = []
    for (sectionNode, body) in sections {
      let section = sectionNode.string ?? "?"
      let sections = Set(known.map(\.section))
      guard sections.contains(section) else {
        problems.append(unknown(section, "section", at: sectionNode, file: file, among: sections.sorted()))
        continue
      }
      if body.null != nil { continue }
      guard let entries = body.mapping else {
        problems.append(
          ConfigurationError(
            description: "\(place(sectionNode, file)): '\(section)' must hold settings, indented"))
        continue
      }
      for (keyNode, valueNode) in entries {
        // `allow_reconnect` is how other systems write `allow-reconnect`.
        let key = (keyNode.string ?? "?").replacing("_", with: "-")
        let settings = known.filter { $0.section == section }
        guard let setting = settings.first(where: { $0.key == key }) else {
          let names = settings.map(\.key)
          problems.append(unknown(key, "setting", at: keyNode, file: file, among: names))
          continue
        }
        if valueNode.null != nil { continue }
        guard let value = valueNode.scalar?.string else {
          problems.append(
            ConfigurationError(description: "\(place(valueNode, file)): '\(key)' must be a single value"))
          continue
        }
        values[setting.name] = (value, place(valueNode, file))
      }
    }
    return problems
  }

  private func unknown(
    _ word: String, _ what: String, at node: Node, file: String, among known: [String]
  ) -> ConfigurationError {
    let hint = Values.suggestion(for: word, among: known).map { "; did you mean '\($0)'?" }
    return ConfigurationError(
      description: "\(place(node, file)): there is no \(what) '\(word)'"
        + (hint ?? "; known: \(known.joined(separator: ", "))"))
  }

  private func place(_ node: Node, _ file: String) -> String {
    node.mark.map { "\(file):\($0.line)" } ?? file
  }

  private static func readFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    // A configuration is small: what is larger than 1 MiB is none.
    while bytes.count <= 1 << 20 {
      let count = read(descriptor, &chunk, chunk.count)
      if count <= 0 { return count == 0 ? String(validating: bytes, as: UTF8.self) : nil }
      bytes.append(contentsOf: chunk[..<count])
    }
    return nil
  }

  private static func systemMessage() -> String {
    errno == 0 ? "not a text file" : String(cString: strerror(errno))
  }
}
