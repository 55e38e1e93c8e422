import JobsAPI

/// The commands of a job in a worker's hands.
///
///     new ──► pending ──► carried out: holds for the parts that follow
///                    └──► refused: the backend is told why, until it has heard it
///
/// Each goes through it once, in the order of the numbers. A process that crashes leaves pending what it has not
/// answered; the next one begins with it. A pure value.
struct RunCommands: Hashable, Sendable {
  /// What changes the looks is there from the first picture on; a mark needs a recording.
  private static let opening: Set<JobCommand.Verb> = [.layout, .title, .pause, .resume, .processor]

  /// What the commands that were carried out have made of the recording.
  private(set) var steering: JobSteering
  /// The newest command that was carried out or refused; 0: none.
  private(set) var confirmed: Int64 = 0
  /// Refusals of which the backend has not heard.
  private(set) var refusals: [CommandRefusal] = []
  /// Somebody wants the recording to end.
  private(set) var isStopping = false
  private var newest: Int64 = 0
  private var pending: [JobCommand] = []

  /// Begins with what the parts before were told.
  init(steering: JobSteering) { self.steering = steering }

  /// Takes the commands that wait at the backend. Gives those that are new.
  mutating func take(_ commands: [JobCommand]) -> [JobCommand] {
    var new: [JobCommand] = []
    for command in commands where command.sequence > newest {
      newest = command.sequence
      if command.verb == .stop || command.verb == .cancel { isStopping = true }
      new.append(command)
    }
    pending += new
    return new
  }

  /// What a process begins with, and what it is told after that.
  var forNextProcess: (opening: [JobCommand], rest: [JobCommand]) {
    let opening = pending.prefix { Self.opening.contains($0.verb) }
    return (Array(opening), Array(pending[opening.endIndex...]))
  }

  /// A process has answered commands: those up to a number, of which it refused some. Gives how many were pending, and
  /// the refusals among them.
  mutating func confirm(
    upTo number: Int64, refused: [CommandRefusal]
  ) -> (count: Int, refusals: [CommandRefusal]) {
    let answered = pending.prefix { $0.sequence <= number }
    pending.removeFirst(answered.count)
    var new: [CommandRefusal] = []
    for command in answered {
      confirmed = max(confirmed, command.sequence)
      if let refusal = refused.first(where: { $0.sequence == command.sequence }) {
        new.append(refusal)
      } else {
        steering.apply(command)
      }
    }
    refusals += new
    return (answered.count, new)
  }

  /// Refuses what nobody carries out any more; an end has come true. True when anything was pending.
  mutating func refusePending() -> Bool {
    guard let last = pending.last else { return false }
    refusals += pending.filter { $0.verb != .stop && $0.verb != .cancel }.map {
      CommandRefusal(sequence: $0.sequence, message: "the recording is over")
    }
    confirmed = max(confirmed, last.sequence)
    pending = []
    return true
  }

  /// The backend has heard of these refusals.
  mutating func told(_ heard: [CommandRefusal]) { refusals.removeAll { heard.contains($0) } }
}
