import ArgumentParser
import Logging
import MediaCore
import Settings

/// Flags that every command has.
struct SharedOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Configuration file (default: Config/recbot.yaml, /etc/recbot/recbot.yaml).", valueName: "file"))
  var config: String?

  @Option(help: ArgumentHelp("Log level: trace, debug, info, notice, warning, error.", valueName: "level"))
  var logLevel: String?

  /// The settings below the flags.
  func load() throws -> Configuration {
    do {
      return try Configuration.load(path: config, environment: Environment.all)
    } catch {
      throw Failure(error)
    }
  }

  /// The span of time that a flag gives.
  func duration(_ text: String, _ flag: String) throws -> SessionTime {
    do {
      return try Values.duration(text)
    } catch {
      throw Failure(.usage, "\(flag): \(error)")
    }
  }

  /// A logger to standard error.
  func logger(
    _ label: String, _ configuration: Configuration, default fallback: Logger.Level = .warning
  ) throws -> Logger {
    let level = try configuration.value(
      flag: logLevel, "--log-level", .logLevel, default: fallback
    ) { text throws(ValueError) in
      guard let level = Logger.Level(rawValue: text) else {
        throw ValueError("there is no log level '\(text)'; known: trace, debug, info, notice, warning, error")
      }
      return level
    }
    let secrets = configuration.secrets
    return Logger(label: label) { StderrLog(label: $0, level: level, secrets: secrets) }
  }
}

extension Configuration {
  /// The value of a setting: the flag, else environment or file, else nil. A bad value says where it stands.
  func value<T>(
    flag: String?, _ flagName: String, _ setting: Setting, parse: (String) throws(ValueError) -> T
  ) throws -> T? {
    let origin = flag.map { ($0, flagName) } ?? self[setting].map { ($0.text, $0.origin) }
    guard let (text, place) = origin else { return nil }
    do {
      return try parse(text)
    } catch {
      throw Failure(.usage, "\(place): \(error)")
    }
  }

  /// The same with a default.
  func value<T>(
    flag: String?, _ flagName: String, _ setting: Setting, default fallback: T,
    parse: (String) throws(ValueError) -> T
  ) throws -> T {
    try value(flag: flag, flagName, setting, parse: parse) ?? fallback
  }

  /// A setting that has no flag of its own, or one without a value.
  func value<T>(_ setting: Setting, default fallback: T, parse: (String) throws(ValueError) -> T) throws -> T {
    try value(flag: nil, "", setting, default: fallback, parse: parse)
  }

  /// A text setting.
  func text(flag: String?, _ setting: Setting) -> String? { flag ?? self[setting]?.text }
}
