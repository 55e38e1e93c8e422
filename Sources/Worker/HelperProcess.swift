import Subprocess

/// A command of recbot that runs to its end.
enum HelperProcess {
  /// What came of it.
  struct Result: Sendable {
    var isSuccess: Bool
    /// What it said on standard error, one line.
    var text: String
  }

  /// Runs a command; cancelling the task ends it.
  static func run(_ executable: String, _ arguments: [String], environment: [String: String]) async -> Result {
    var options = PlatformOptions()
    options.createSession = true
    let environment = environment.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
    do {
      let result = try await Subprocess.run(
        .path(.init(executable)),
        arguments: Arguments(executablePathOverride: "recbot", remainingValues: arguments),
        environment: .custom(Dictionary(environment) { $1 }), platformOptions: options, output: .discarded,
        error: .string(limit: 65_536))
      let text = result.standardError.split(separator: "\n").last.map { String($0.prefix(400)) } ?? ""
      return Result(isSuccess: result.terminationStatus.isSuccess, text: text)
    } catch {
      return Result(isSuccess: false, text: "\(error)")
    }
  }
}
