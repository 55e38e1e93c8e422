import ArgumentParser
import Settings

/// `recbot config`: the settings.
struct ConfigCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Checks the settings and shows what is in force.",
    subcommands: [ConfigCheckCommand.self])
}

/// `recbot config check`.
struct ConfigCheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Checks a configuration file and the environment; shows what is in force.",
    discussion: """
      Says everything that is wrong, with file and line, and then each setting's value and where it comes from: a \
      variable, a line of the file, or the default. Secrets are shown as ****. The exit code is 64 when something is \
      wrong.

        recbot config check /etc/recbot/recbot.yaml
        recbot config check --set --json
      """)

  @Argument(help: "The file (default: RECBOT_CONFIG, Config/recbot.yaml, /etc/recbot/recbot.yaml).")
  var file: String?

  @Flag(name: .customLong("set"), help: "Show only what is set somewhere, without the defaults.")
  var onlySet = false

  @Flag(help: "As JSON: {\"file\", \"problems\", \"warnings\", \"settings\"}.")
  var json = false

  func run() throws {
    let report = ConfigReport(file: file, environment: Environment.all)
    if json {
      Console.print(report.json(onlySet: onlySet))
    } else {
      for line in report.lines(onlySet: onlySet) { Console.print(line) }
      for warning in report.warnings { Console.error("warning: \(warning)") }
      for problem in report.problems { Console.error(problem) }
    }
    guard report.problems.isEmpty else {
      throw Failure(.usage, report.problems.count == 1 ? "1 problem" : "\(report.problems.count) problems")
    }
  }
}
