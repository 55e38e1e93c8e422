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

  @Option(help: .setting(.logLevel))
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
  static func duration(_ text: String, _ flag: String) throws -> Duration {
    do {
      return try Values.duration(text)
    } catch {
      throw Failure(.usage, "\(flag): \(error)")
    }
  }

  /// A logger to standard error.
  func logger(
    _ label: String, _ configuration: Configuration, default fallback: Logger.Level? = nil
  ) throws -> Logger {
    let level = try configuration.given(.logLevel, flag: logLevel) ?? fallback ?? configuration.value(.logLevel)
    let secrets = configuration.secrets
    return Logger(label: label) { StderrLog(label: $0, level: level, secrets: secrets) }
  }
}
