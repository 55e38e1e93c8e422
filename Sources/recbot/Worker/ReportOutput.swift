import Control
import FoundationEssentials
import Glibc
import JobsAPI
import Recording
import RecbotKit
import Session
import Synchronization

/// Tells the worker on standard output how its recording stands, and has its commands carried out, as `ReportMachine` says.
/// May be used on any thread. One task does everything, with no lock held while it asks the recording or writes.
final class ReportOutput: Sendable {
  private let job: String
  private let machine: Mutex<ReportMachine>
  private let running = Mutex<RunningJob?>(nil)
  /// Something came in; nobody waits for the next look.
  private let wakeUp: AsyncStream<Void>.Continuation
  private let wakeUps: AsyncStream<Void>
  private let work = Mutex<Task<Void, Never>?>(nil)

  /// How often the recording is looked at.
  private static let pause = Duration.milliseconds(100)
  /// The last word must arrive; a worker that doesn't read it for so long is stopped, and asks the file itself.
  private static let lastWordTime = Duration.seconds(1)

  init(order: RecordingOrder) {
    job = order.job
    machine = Mutex(ReportMachine(deadline: order.request.deadline))
    (wakeUps, wakeUp) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // Nobody reads when the worker is stopped: a report is lost then, and the recording goes on.
    _ = fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK)
  }

  /// What the recording begins with, before it is started.
  func prepare(_ beginning: JobBeginning) { machine.withLock { $0.begin(beginning) } }

  /// The recording can be watched from now on. Once.
  func start(_ running: RunningJob) {
    self.running.withLock { $0 = running }
    let work = Task { [self] in
      let clock = Task { [wakeUp] in
        while !Task.isCancelled {
          wakeUp.yield()
          try? await Task.sleep(for: Self.pause)
        }
      }
      for await _ in wakeUps { look(running) }
      clock.cancel()
    }
    self.work.withLock { $0 = work }
  }

  /// Takes a command; it is carried out as soon as the recording has begun.
  func take(_ command: JobCommand) {
    machine.withLock { $0.take(command, now: .now) }
    wakeUp.yield()
  }

  /// The last word of a recording that has a file. Returns when the worker has it, or does not read.
  func finish(_ summary: RecordingSummary, _ error: RoomError?, sinkFaults: [String]) async {
    let end = RecordingReport.End(
      reason: summary.end.reason,
      error: error.map { JobError(name: $0.name, code: $0.exitCode.map(Int.init), message: $0.description) },
      mayRetry: error.map { Self.canHelp($0.kind, hasJoined: true) } ?? false,
      lack: Self.lack(ofSinks: sinkFaults))
    await finish(end, summary.progress)
  }

  /// The last word of a recording that came to nothing, or broke off. Returns when the worker has it, or does not read.
  func finish(_ failure: Failure) async {
    var end = RecordingReport.End(reason: failure.exitCode.name, mayRetry: false)
    switch failure.exitCode {
    case .forced: end.reason = "stopped"
    case .room(let kind): end.mayRetry = Self.canHelp(kind, hasJoined: false)
    case .unexpected, .outputExists, .outputNotWritable: end.mayRetry = true
    default: break
    }
    if failure.exitCode != .forced {
      end.error = JobError(
        name: failure.exitCode.name, code: Int(failure.exitCode.rawValue), message: failure.message)
    }
    await finish(end, running.withLock { $0 }?.recording.progress)
  }

  /// What sinks lack; nil: nothing. It costs the recording nothing.
  private static func lack(ofSinks faults: [String]) -> JobError? {
    guard !faults.isEmpty else { return nil }
    let text = RoomText.oneLine(faults.joined(separator: "; "), limit: 800)
    return JobError(name: "sinkFailed", message: "\(text); the recording is whole")
  }

  /// Whether the table says that the error is one to try again after. A worker also has what a command line lacks: a
  /// new token.
  private static func canHelp(_ kind: RoomError.Kind, hasJoined: Bool) -> Bool {
    switch RoomError(kind).action(hasJoined: hasJoined) {
    case .retry, .wait, .rejoin: true
    case .complete, .fail, .none: kind == .tokenExpired
    }
  }

  private func finish(_ end: RecordingReport.End, _ progress: RecordingProgress?) async {
    // What is under way is done first, so that nothing is written behind the last word.
    wakeUp.finish()
    await work.withLock { $0 }?.value
    machine.withLock { $0.finish(end, progress, date: .now) }
    let deadline = ContinuousClock.now + Self.lastWordTime
    while !tell(), ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(20)) }
  }

  /// Looks at the recording, has carried out what is due, and tells what has changed.
  private func look(_ running: RunningJob) {
    let standing = ReportMachine.Standing(
      progress: running.recording.progress, roomSID: running.board.latest.roomSID)
    for order in machine.withLock({ $0.orders(standing, now: .now, date: .now) }) {
      switch order {
      case .stop: running.stop()
      case .carryOut(let command):
        let answer = running.control.answer(ControlRequest(command), job: job)
        machine.withLock { $0.answered(command, refusal: answer.error, now: .now) }
      }
    }
    _ = tell()
  }

  /// Tells the worker what it does not know. False when it takes nothing now.
  private func tell() -> Bool {
    guard let report = machine.withLock({ $0.news(now: .now) }) else { return true }
    guard write(report) else { return false }
    machine.withLock { $0.wasTold(report, now: .now) }
    return true
  }

  /// Writes a line, whole or not at all (it is shorter than PIPE_BUF); false when there is no room.
  private func write(_ report: RecordingReport) -> Bool {
    guard var line = try? JSONEncoder().encode(report) else { return true }
    line.append(10)
    let (count, limit) = (line.count, 4096)
    guard count <= limit else { return true }
    let written = line.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, count) }
    return written == count || (errno != EAGAIN && errno != EINTR)
  }
}

extension ControlRequest {
  /// What a job's command asks of the recording.
  fileprivate init(_ command: JobCommand) {
    self.init(.status)
    switch command.verb {
    case .layout: (self.command, layout) = (.layout, command.argument)
    case .pause: (self.command, policy) = (.pause, command.argument)
    case .resume: self.command = .resume
    case .marker: (self.command, title) = (.marker, command.argument)
    case .title: (self.command, title) = (.title, command.argument)
    case .processor:
      // What is no rule is refused by the recording, in words.
      let rule = try? ProcessorText.rule(command.argument ?? "")
      (self.command, participant) = (.processor, rule?.selector.description ?? command.argument)
      processors = rule.map(\.processors.words) ?? []
    case .stop, .cancel: self.command = .stop
    }
  }
}

extension SessionEnd {
  /// A stable name.
  var reason: String {
    switch self {
    case .stopped: "stopped"
    case .roomEnded: "roomEnded"
    case .evicted: "evicted"
    case .removed: "removed"
    case .maxDuration: "maxDuration"
    case .empty: "empty"
    case .connectionLost: "connectionLost"
    }
  }
}

extension ExitCode {
  /// A stable name: that of the error table, or of the code.
  var name: String {
    if case .room(let kind) = self { return kind.rawValue }
    return "\(self)"
  }
}
