import FoundationEssentials
import Glibc
import JobsAPI
import Recording
import Rooms
import Session
import Synchronization

/// Tells the worker on standard output how its recording stands, and carries its commands out. May be used on any
/// thread.
final class ReportOutput: Sendable {
  private struct State {
    var running: RunningJob?
    var waiting: [JobCommand] = []
    var report = RecordingReport(state: .waiting)
    var told: (report: RecordingReport, at: ContinuousClock.Instant)?
    var isOver = false
    /// When the newest command was carried out.
    var carriedOut: ContinuousClock.Instant?
  }

  /// A command is in the pictures only after the time for which they are held back. A stop that comes together with
  /// others, as after a loss of the backend, waits for so long after them.
  private static let settlingTime = Duration.milliseconds(600)
  /// How many of the newest refusals are told each time; a line must not get longer than a pipe takes whole.
  private static let mostRefusals = 4

  private let order: RecordingOrder
  private let state = Mutex(State())

  init(order: RecordingOrder) {
    self.order = order
    // Nobody reads when the worker is stopped: a report is lost then, and the recording goes on.
    _ = fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK)
  }

  /// What the recording begins with, before it is started.
  func prepare(_ beginning: JobBeginning) {
    state.withLock { state in
      // What the recording was told before is told again, under a number that no command has.
      if let pause = beginning.steering.pause {
        state.waiting.append(JobCommand(sequence: 0, verb: .pause, argument: pause.isEmpty ? nil : pause))
      }
      state.report.confirmed = beginning.confirmed
      state.report.refusals = Array(beginning.refusals.suffix(Self.mostRefusals))
    }
  }

  /// The recording can be watched from now on.
  func start(_ running: RunningJob) {
    state.withLock { $0.running = running }
    Task { [self] in
      while update() { try? await Task.sleep(for: .milliseconds(100)) }
    }
  }

  /// Takes a command; it is carried out as soon as the recording has begun.
  func take(_ command: JobCommand) {
    let end = state.withLock { state -> (stop: @Sendable () -> Void, pause: Duration)? in
      guard command.verb == .stop || command.verb == .cancel else {
        state.waiting.append(command)
        return nil
      }
      // What waits before it is not answered by it.
      if state.waiting.isEmpty { state.report.confirmed = max(state.report.confirmed, command.sequence) }
      let pause = state.carriedOut.map { Self.settlingTime - (ContinuousClock.now - $0) } ?? .zero
      return state.running.map { (stop: $0.stop, pause: command.verb == .stop ? pause : .zero) }
    }
    if let end {
      Task {
        if end.pause > .zero { try? await Task.sleep(for: end.pause) }
        end.stop()
      }
    }
    _ = update()
  }

  /// The last word of a recording that has a file.
  func finish(_ summary: RecordingSummary, _ error: RoomError?) {
    let end = RecordingReport.End(
      reason: summary.end.reason,
      error: error.map { JobError(name: $0.name, code: $0.exitCode.map(Int.init), message: $0.description) },
      mayRetry: error.map { Self.canHelp($0.kind, hasJoined: true) } ?? false)
    finish(end, summary.progress)
  }

  /// The last word of a recording that came to nothing, or broke off.
  func finish(_ failure: Failure) {
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
    finish(end, state.withLock { $0.running }?.recording.progress)
  }

  /// Whether the table says that the error is one to try again after. A worker also has what a command line lacks: a
  /// new token.
  private static func canHelp(_ kind: RoomError.Kind, hasJoined: Bool) -> Bool {
    switch RoomError(kind).action(hasJoined: hasJoined) {
    case .retry, .wait, .rejoin: true
    case .complete, .fail, .none: kind == .tokenExpired
    }
  }

  private func finish(_ end: RecordingReport.End, _ progress: RecordingProgress?) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.isOver = true
      if let progress { fill(&state.report, progress) }
      state.report.state = .finishing
      state.report.end = end
      // The last word must arrive; a worker that doesn't read it for so long is stopped, and asks the file itself.
      for _ in 0..<50 where !write(state.report) { usleep(20_000) }
    }
  }

  /// Carries out what waits, and tells what has changed. False when the recording is over.
  private func update() -> Bool {
    state.withLock { state in
      guard !state.isOver, let running = state.running else { return !state.isOver }
      let progress = running.recording.progress
      fill(&state.report, progress)
      state.report.roomSID = running.board.latest.roomSID.map { String($0.prefix(64)) }
      if let deadline = order.request.deadline, deadline <= Timestamp.now { running.stop() }
      if progress.phase != .waiting {
        // No more at once than can be told of, and none before that was told: the worker must hear of each refusal.
        if (state.told?.report.confirmed ?? 0) == state.report.confirmed {
          for command in state.waiting.prefix(Self.mostRefusals) { carryOut(command, running, &state) }
          state.waiting.removeFirst(min(state.waiting.count, Self.mostRefusals))
        }
      }
      tell(&state)
      return true
    }
  }

  private func carryOut(_ command: JobCommand, _ running: RunningJob, _ state: inout State) {
    var request = ControlRequest(.status)
    switch command.verb {
    case .layout: (request.command, request.layout) = (.layout, command.argument)
    case .pause: (request.command, request.policy) = (.pause, command.argument)
    case .resume: request.command = .resume
    case .marker: (request.command, request.title) = (.marker, command.argument)
    case .title: (request.command, request.title) = (.title, command.argument)
    case .stop, .cancel: request.command = .stop
    }
    if command.sequence > 0 { state.carriedOut = .now }
    let answer = running.control.answer(request, job: order.job)
    state.report.confirmed = max(state.report.confirmed, command.sequence)
    if let message = answer.error {
      let refusal = CommandRefusal(sequence: command.sequence, message: String(message.prefix(300)))
      state.report.refusals = state.report.refusals.suffix(Self.mostRefusals - 1) + [refusal]
    }
  }

  private func tell(_ state: inout State) {
    if let told = state.told, told.report.state == state.report.state,
      told.report.confirmed == state.report.confirmed, told.report.startedAt == state.report.startedAt,
      told.report.roomSID == state.report.roomSID,
      ContinuousClock.now - told.at < .seconds(1)
    {
      return
    }
    if write(state.report) { state.told = (state.report, .now) }
  }

  private func fill(_ report: inout RecordingReport, _ progress: RecordingProgress) {
    report.duration = progress.time.nanoseconds / 1000
    report.size = Int64(clamping: progress.bytes)
    report.droppedFrames = Int64(clamping: progress.droppedFrames)
    report.participants = progress.participants
    if report.startedAt == nil, progress.phase != .waiting, progress.frames > 0 {
      report.startedAt = Timestamp.now - .microseconds(report.duration)
    }
    switch progress.phase {
    case .waiting: report.state = .waiting
    case .recording:
      report.state = progress.frames == 0 ? .waiting : progress.pause != nil ? .paused : .running
    case .reconnecting: report.state = .reconnecting
    case .finished: report.state = .finishing
    }
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
