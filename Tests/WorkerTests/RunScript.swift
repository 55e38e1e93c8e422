import JobsAPI

@testable import Worker

/// Plays what happens to a run's machine step by step, in manual time, and says in words what it does.
struct RunScript {
  /// What happens.
  enum Step: Sendable {
    case event(RunEvent)
    case journaled(JournalEntry.Kind)
    case wait(Duration)
    /// The newest heartbeat that is not held is answered, or comes to nothing.
    case answered
    case unanswered(BackendError)
    /// The same of the one that is held; with commands, or because somebody else has the job.
    case heldAnswered([JobCommand])
    case heldUnanswered(BackendError)
    case heldLost
    /// The process says that it has a picture; how its recording ended; that it ends, or breaks off.
    case picture
    case said(String, JobError?, mayRetry: Bool)
    /// It stops, and something beside its recording is less than was wanted.
    case lacked(String)
    case exited
    case crashed
    case probed(Int, PartFile?)
    case finish(RunFinish.Event)
    /// The newest last word is answered; nil: the backend agrees.
    case told(BackendError?)
    case renewed(Int64)
  }

  static let epoch = Timestamp(seconds: 1_700_000_000)

  private(set) var heartbeats: [HeartbeatRequest] = []
  private let settings: RunSettings
  private var machine: RunMachine
  private var job: Job
  private var elapsed = Duration.zero
  private var newest = 0
  private var held = 0
  private var lastFence: Int64 = 0

  init(_ job: Job, _ settings: RunSettings) {
    (self.job, self.settings) = (job, settings)
    machine = RunMachine(Assignment(job: job, ticket: Self.ticket), settings: settings)
  }

  private static let ticket = RoomTicket(url: "ws://x", token: "t", until: epoch)

  /// Lets something happen. Gives what is done, without lines for the log and what is counted.
  mutating func play(_ step: Step) -> [String] {
    switch step {
    case .event(let event): return handle(event)
    case .journaled(let kind): return handle(.journaled(kind, fence: machine.fence))
    case .wait(let time): return wait(time)
    case .answered: return handle(.heartbeatAnswered(newest, HeartbeatAnswer(job: job)))
    case .unanswered(let error): return handle(.heartbeatFailed(newest, error))
    case .heldAnswered(let commands):
      job.commands = commands
      return handle(.heartbeatAnswered(held, HeartbeatAnswer(job: job)))
    case .heldUnanswered(let error): return handle(.heartbeatFailed(held, error))
    case .heldLost:
      return handle(.heartbeatFailed(held, .refused(status: 409, APIProblem.Body(code: "fenced", message: ""))))
    case .picture:
      return handle(.reported(RecordingReport(state: .running, startedAt: Self.epoch, duration: 7), hasLog: false))
    case .said(let reason, let error, let mayRetry):
      return handle(
        .reported(
          RecordingReport(
            state: .finishing, end: RecordingReport.End(reason: reason, error: error, mayRetry: mayRetry)),
          hasLog: false))
    case .lacked(let name):
      let end = RecordingReport.End(reason: "stopped", lack: JobError(name: name, message: "m"))
      return handle(.reported(RecordingReport(state: .finishing, end: end), hasLog: false))
    case .exited: return handle(.recorderEnded(.exited(0)))
    case .crashed: return handle(.recorderEnded(.signaled(11)))
    case .probed(let number, let found):
      return handle(.probed(RunPiece(number: number, job: job, settings: settings), found, hasLog: false))
    case .finish(let event): return handle(.finish(event))
    case .told(let error): return handle(.lastWordAnswered(fence: lastFence, error))
    case .renewed(let fence):
      job.fence = fence
      return handle(.renewed(Assignment(job: job, ticket: Self.ticket)))
    }
  }

  private mutating func wait(_ time: Duration) -> [String] {
    let end = elapsed + time
    var done: [String] = []
    while let deadline = machine.nextDeadline, deadline <= end {
      elapsed = max(elapsed, deadline)
      done += handle(.timer)
    }
    elapsed = end
    return done
  }

  private mutating func handle(_ event: RunEvent) -> [String] {
    machine.handle(event, now: RunTime(elapsed: elapsed, calendar: Self.epoch)).compactMap { word($0) }
  }

  private mutating func word(_ action: RunAction) -> String? {
    switch action {
    case .journal(let entry): "journal \(entry.kind)" + (entry.kind == .recorded ? Self.name(entry.error) : "")
    case .heartbeat(let number, let request, let wait): heartbeat(number, request, wait: wait)
    case .startRecorder(let order):
      (["start \(Self.file(order.output))"] + order.commands.map { "with \($0.verb)" }).joined(separator: " ")
    case .tell(.command(let command)): "tell \(command.verb)"
    case .tell(.ticket): "tell ticket"
    case .tell(.order): "tell order"
    case .killRecorder: "kill"
    case .probe(let piece): "probe \(Self.file(piece.path))"
    case .delete(let piece): "delete \(Self.file(piece.path))"
    case .follow(let path): "follow \(Self.file(path))"
    case .beginUpload(let path, _, _): "upload \(Self.file(path))"
    case .dropUpload: "drop upload"
    case .finish(.gather): "gather"
    case .finish(.inspect(let path)): "inspect \(Self.file(path))"
    case .finish(.join(_, let path)): "join \(Self.file(path))"
    case .finish(.deliver(let item)): "deliver \(Self.file(item.source))"
    case .finish(.runAfter): "after"
    case .endAfter: "end after"
    case .tellLast(let message): last(message)
    case .lookUp: "look up"
    case .share(let paths): "share \(paths.map(Self.file).joined(separator: " "))"
    case .tidy: "tidy"
    case .end: "end"
    case .countReport, .countEnd, .log: nil
    }
  }

  private mutating func heartbeat(_ number: Int, _ request: HeartbeatRequest, wait: Int64) -> String {
    heartbeats.append(request)
    if wait > 0 {
      held = number
      return "heartbeat held"
    }
    newest = number
    return "heartbeat" + Self.name(request.report.error)
  }

  private mutating func last(_ message: RunLastWord.Message) -> String {
    switch message {
    case .complete(let request):
      lastFence = request.fence
      return "complete"
    case .fail(let request):
      lastFence = request.fence
      return "fail \(request.error.name)" + (request.mayRetry ? ", may retry" : "")
    case .release(let request):
      lastFence = request.fence
      return "release"
    }
  }

  private static func name(_ error: JobError?) -> String { error.map { " \($0.name)" } ?? "" }

  /// `/p/1-0.webm` is `1-0`.
  private static func file(_ path: String) -> String {
    path.split(separator: "/").last.map { String($0.dropLast(5)) } ?? path
  }
}
