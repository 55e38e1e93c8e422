import JobsAPI
import Layouts
import Logging
import MediaCore
import Recording
import Session
import Settings

/// What a job's recording begins with: what the parts before it were told, and the commands that no recording has
/// answered yet. A recording never fails for a command that came later than the request: what can't be carried out is
/// refused, and what worked before goes on.
struct JobBeginning {
  /// What the commands have made of the recording.
  private(set) var steering: JobSteering
  /// The newest command that is carried out, or refused, hereby.
  private(set) var confirmed: Int64 = 0
  /// Those that can't be carried out.
  private(set) var refusals: [CommandRefusal] = []

  /// Reads an order; `layouts` finds a layout by its name.
  init(_ order: RecordingOrder, layouts: (String) throws(ValueError) -> Layout, logger: Logger) {
    steering = order.steering
    if let problem = steering.layout.flatMap({
      Self.problem(JobCommand(sequence: 0, verb: .layout, argument: $0), layouts)
    }) {
      logger.warning(
        "the layout of the parts before is not known here: the first one is shown", metadata: ["reason": "\(problem)"])
      steering.layout = nil
    }
    for command in order.commands {
      confirmed = max(confirmed, command.sequence)
      if let problem = Self.problem(command, layouts) {
        refusals.append(CommandRefusal(sequence: command.sequence, message: String(problem.prefix(300))))
      } else {
        steering.apply(command)
      }
    }
  }

  /// What the commands say of whose pictures and sound.
  var processors: [ProcessorRule] {
    // They were read before they were kept.
    (steering.processors ?? []).compactMap { text in try? ProcessorText.rule(text) }
  }

  /// Why a command can't be carried out, in one line; nil when it can.
  private static func problem(_ command: JobCommand, _ layouts: (String) throws(ValueError) -> Layout) -> String? {
    do throws(ValueError) {
      switch command.verb {
      case .layout: _ = try layouts(command.argument ?? "")
      case .pause:
        if let policy = command.argument { _ = try Values.word(policy, "pause policy", of: PausePolicy.self) }
      case .title: if command.argument == nil { throw ValueError("'title' is missing") }
      case .processor: _ = try ProcessorText.rule(command.argument ?? "")
      case .resume, .marker, .stop, .cancel: break
      }
      return nil
    } catch {
      return error.description
    }
  }
}
