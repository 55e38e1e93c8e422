import Delivery
import Jobs
import JobsAPI
import MediaCore

@testable import Worker

/// A run's machine in manual time, between a backend (the real `JobMachine`), processes and disks that behave as a seed
/// says. What must never happen is written down in `problems`.
final class RunWorld {
  /// What goes wrong, and what people do.
  struct Weather {
    /// Requests and answers are lost, the backend is away for a while, others get the job.
    var outages = true
    /// Processes break off, fall silent, and end with errors; steps of the finishing fail.
    var crashes = true
    /// The recording is told something, stopped, cancelled, handed over.
    var orders = true
  }

  private(set) var problems: [String] = []
  /// What was seen, for the tests to know that their seeds reach it.
  private(set) var story: Set<String> = []
  private(set) var isOver = false

  private let weather: Weather
  private let rules = JobMachine()
  private var job: Job
  private var random: SeededRandom
  private var machine: RunMachine
  private var now = Duration.zero
  private var queue: [(at: Duration, order: Int, body: () -> Void)] = []
  private var order = 0
  private var outageEnd = Duration.zero
  /// Heartbeats of which the backend holds the answer, by their number: their fencing number.
  private var held: [Int: Int64] = [:]
  /// The fencing numbers of all heartbeats that are under way.
  private var outstanding: [Int: Int64] = [:]
  /// A heartbeat came to the backend after one that was sent later: what it told may have been newer.
  private var isOvertaken = false
  private var newestArrived = 0

  private var journal: [JournalEntry] = []
  private var ends: [WorkerMetrics.End] = []
  private var lastWord: RunLastWord.Message?
  private var isLost = false
  private var entriesAfterLoss = 0
  private var finishWork = 0
  private var process: WorldProcess?
  private var crashesInRow = 0
  /// Commands that the machine has seen, and those that a process has answered.
  private var seen: Set<Int64> = []
  private var answered: Set<Int64> = []
  private var stopSeenAt: Duration?
  /// Files that the machine knows to have pictures with their newest length, those that were gathered, and those that
  /// were shared.
  private var lengths: [String: Int64] = [:]
  private var gathered: Set<String> = []
  private var shared: Set<String> = []

  private static let epoch = Timestamp(seconds: 1_700_000_000)
  private static let ticket = RoomTicket(url: "ws://x", token: "t", until: epoch)

  init(seed: UInt64, _ weather: Weather) throws {
    random = SeededRandom(seed: seed)
    self.weather = weather
    var request = JobRequest(room: "r")
    if random.next() % 4 == 0 { request.maxDuration = Int64(random.next() % 60) + 5 }
    if random.next() % 4 == 0 { request.deadline = Self.epoch + .seconds(Int64(random.next() % 90)) + .seconds(1) }
    let new = rules.submit(id: "job", owner: "o", request: request, origin: nil, now: Self.epoch)
    job = try rules.apply(.claim(worker: "w1"), to: new, now: Self.epoch)
    var settings = RunSettings(worker: "w1", parts: "/p", logs: "/l", heartbeatTime: 4)
    settings.isUploadedLive = random.next() % 2 == 0
    settings.canFetchParts = random.next() % 2 == 0
    settings.hasAfterCommand = random.next() % 2 == 0
    machine = RunMachine(Assignment(job: job, ticket: Self.ticket), settings: settings)
  }

  // MARK: Time

  private func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }
  private func pause(_ range: ClosedRange<Int>) -> Duration { .milliseconds(Int.random(in: range, using: &random)) }

  private func after(_ pause: Duration, _ body: @escaping () -> Void) {
    order += 1
    queue.append((now + pause, order, body))
  }

  private var calendar: Timestamp { Self.epoch + now }

  private func problem(_ text: String) { problems.append("\(now): \(text)") }

  /// Goes on until the run has ended, and then looks whether everything is right.
  func run() {
    if weather.orders { plan() }
    if weather.outages {
      for _ in 0...1 { after(pause(0...120_000)) { self.outageEnd = self.now + self.pause(100...40_000) } }
    }
    watchLease()
    tell(.begun)
    var steps = 0
    while !isOver, problems.isEmpty {
      steps += 1
      guard steps < 50_000 else { return problem("does not end") }
      let next = queue.min { ($0.at, $0.order) < ($1.at, $1.order) }
      if let deadline = machine.nextDeadline, next.map({ deadline <= $0.at }) ?? true {
        now = max(now, deadline)
        tell(.timer)
        if machine.nextDeadline == deadline { problem("a deadline stays") }
      } else if let next {
        now = max(now, next.at)
        queue.removeAll { $0.order == next.order }
        next.body()
      } else {
        return problem("nothing is under way, and nothing is due")
      }
    }
    if problems.isEmpty { checkEnd() }
  }

  private func tell(_ event: RunEvent) {
    note(event)
    let wasOver = isOver
    let actions = machine.handle(event, now: RunTime(elapsed: now, calendar: calendar))
    if wasOver, !actions.isEmpty { problem("goes on after its end: \(actions)") }
    for action in actions {
      if isLost { checkAfterLoss(action) }
      carryOut(action)
    }
    if isOver, machine.nextDeadline != nil { problem("something is due after the end") }
  }

  /// What the machine learns by an event.
  private func note(_ event: RunEvent) {
    switch event {
    case .heartbeatFailed(let number, let error):
      let fence = outstanding.removeValue(forKey: number)
      if error.isFenced, fence == machine.fence { isLost = true }
    case .heartbeatAnswered(let number, let answer):
      guard outstanding.removeValue(forKey: number) == machine.fence, !isLost else { return }
      seen.formUnion(answer.job.commands.map(\.sequence))
      let isStopped = answer.job.commands.contains { $0.verb == .stop || $0.verb == .cancel }
      if isStopped, stopSeenAt == nil { stopSeenAt = now }
    case .reported(let report, _) where !isLost && report.startedAt != nil:
      if let process { lengths[process.order.output] = report.duration }
    case .probed(let piece, let found?, _) where !isLost: lengths[piece.path] = found.duration
    default: break
    }
  }

  // MARK: What others do

  private func plan() {
    for _ in 0..<Int.random(in: 0...6, using: &random) {
      let verb = [JobCommand.Verb.layout, .pause, .resume, .marker, .title][Int(random.next() % 5)]
      after(pause(0...60_000)) { self.command(verb) }
    }
    switch random.next() % 4 {
    case 0: after(pause(0...90_000)) { self.command(.stop) }
    case 1: after(pause(0...90_000)) { self.command(.cancel) }
    case 2: after(pause(0...90_000)) { self.tell(.handOver) }
    default: break
    }
  }

  private func command(_ verb: JobCommand.Verb) {
    guard let next = try? rules.apply(.command(verb, argument: "a"), to: job, now: calendar) else { return }
    job = next
    for number in held.keys.sorted() { answerHeld(number) }
  }

  /// Once a second the backend looks for leases that have ended; somebody claims the job again.
  private func watchLease() {
    after(.seconds(1)) { [self] in
      watchLease()
      guard job.lease != nil, let next = try? rules.apply(.expire, to: job, now: calendar) else { return }
      if !weather.outages { problem("the lease was not renewed in time") }
      job = next
      after(pause(0...3_000)) { [self] in
        let isSame = chance(50) && now >= outageEnd
        guard let next = try? rules.apply(.claim(worker: isSame ? "w1" : "w2"), to: job, now: calendar) else { return }
        job = next
        story.insert("claimed by \(isSame ? "the same" : "another")")
        let assignment = Assignment(job: job, ticket: Self.ticket)
        guard isSame, machine.accepts(assignment) else { return }
        story.insert("renewed")
        tell(.renewed(assignment))
      }
    }
  }

  // MARK: What the machine does

  private func carryOut(_ action: RunAction) {
    switch action {
    case .journal(let entry):
      journal.append(entry)
      // A process that obeys is gone in half a second, one that is silent in twice 30 s; then its file is looked at.
      if entry.kind == .recorded, let stopSeenAt,
        now - stopSeenAt > (story.contains("silent") ? .seconds(64) : .seconds(4))
      {
        problem("stopped only after \(now - stopSeenAt)")
      }
      after(pause(0...30)) { self.tell(.journaled(entry.kind, fence: entry.fence)) }
    case .heartbeat(let number, let beat, let wait): send(number, beat, wait: wait)
    case .startRecorder(let order): start(order)
    case .tell(.command(let command)): take(command)
    case .killRecorder: kill()
    case .probe(let piece):
      let found = chance(80) ? PartFile(duration: 1_500_000, startedAt: calendar) : nil
      after(pause(1...3_000)) { self.tell(.probed(piece, found, hasLog: false)) }
    case .finish(let work): finish(work)
    case .tellLast(let message):
      checkJournal(before: message)
      lastWord = message
      request(lost: .lastWordAnswered(fence: message.fence, .away("lost"))) { self.answer(message) }
    case .lookUp: after(pause(1...500)) { self.tell(.lookedUp(needsParts: !self.job.state.isFinal)) }
    case .share(let paths):
      shared.formUnion(paths)
      after(pause(0...2_000)) { self.tell(.shared) }
    case .tidy: after(pause(0...500)) { self.tell(.tidied) }
    case .countEnd(let end):
      ends.append(end)
      story.insert(end.rawValue)
    case .end:
      if isOver { problem("ends twice") }
      isOver = true
    case .tell, .delete, .follow, .beginUpload, .dropUpload, .endAfter, .countReport, .log: break
    }
  }

  /// A request on its way. It is lost, or its answer is, or all is well; `arrive` gives nil when the answer is held.
  private func request(lost: RunEvent, _ arrive: @escaping () -> RunEvent?) {
    after(pause(1...40)) { [self] in
      let isLost = now < outageEnd || weather.outages && chance(2)
      // Nothing of it arrives, or all but the answer.
      let event = isLost && chance(70) ? nil : arrive()
      if isLost {
        after(pause(5...3_000)) { self.tell(lost) }
      } else if let event {
        after(pause(1...40)) { self.tell(event) }
      }
    }
  }

  private func send(_ number: Int, _ beat: HeartbeatRequest, wait: Int64) {
    outstanding[number] = beat.fence
    request(lost: .heartbeatFailed(number, .away("lost"))) { [self] in
      isOvertaken = isOvertaken || number < newestArrived
      newestArrived = max(number, newestArrived)
      do throws(JobRefusal) {
        job = try rules.apply(.heartbeat(fence: beat.fence, beat.report), to: job, now: calendar)
      } catch {
        return .heartbeatFailed(number, Self.refused(error))
      }
      guard wait > 0, job.commands.isEmpty else { return .heartbeatAnswered(number, HeartbeatAnswer(job: job)) }
      held[number] = beat.fence
      after(.seconds(wait)) { self.answerHeld(number) }
      return nil
    }
  }

  private func answerHeld(_ number: Int) {
    guard let fence = held.removeValue(forKey: number) else { return }
    let isMine = job.fence == fence && job.lease != nil
    let event: RunEvent =
      isMine ? .heartbeatAnswered(number, HeartbeatAnswer(job: job)) : .heartbeatFailed(number, Self.refused(.fenced))
    after(pause(1...40)) { self.tell(event) }
  }

  private static func refused(_ refusal: JobRefusal) -> BackendError {
    let code =
      switch refusal {
      case .fenced: "fenced"
      case .isOver: "is_over"
      case .impossibleState: "impossible_state"
      case .notAvailable, .impossibleCommand: "invalid"
      }
    return .refused(status: 409, APIProblem.Body(code: code, message: code))
  }

  private func answer(_ message: RunLastWord.Message) -> RunEvent {
    let action: JobAction =
      switch message {
      case .complete(let request): .complete(fence: request.fence, request.files)
      case .fail(let request): .fail(fence: request.fence, request.error, mayRetry: request.mayRetry)
      case .release(let request): .release(fence: request.fence, request.report)
      }
    do throws(JobRefusal) {
      job = try rules.apply(action, to: job, now: calendar)
      for number in held.keys.sorted() { answerHeld(number) }
      return .lastWordAnswered(fence: message.fence, nil)
    } catch {
      // A completion that is told once more is answered alike.
      if case .complete(let request) = message, job.fence == request.fence, job.files == request.files,
        job.state == .completed || job.state == .cancelled
      {
        story.insert("completed twice")
        return .lastWordAnswered(fence: message.fence, nil)
      }
      return .lastWordAnswered(fence: message.fence, Self.refused(error))
    }
  }

  private func finish(_ work: RunFinish.Work) {
    finishWork += 1
    if finishWork > 1 { problem("two steps of the finishing at once") }
    if case .gather(let parts) = work { gathered.formUnion(parts.map(\.location)) }
    let event = outcome(of: work)
    after(chance(20) ? pause(8_000...40_000) : pause(1...8_000)) { [self] in
      finishWork -= 1
      tell(.finish(event))
    }
  }

  private func outcome(of work: RunFinish.Work) -> RunFinish.Event {
    let fails = weather.crashes && chance(10)
    switch work {
    case .gather(let parts):
      return .gathered(
        parts.map {
          $0.worker == "w1" && !fails ? .here : chance(50) ? .missing : .fetched(path: $0.location, duration: 1)
        })
    case .inspect: return .inspected(isWhole: chance(50))
    case .join(_, let path): return fails ? .notJoined("broken") : .joined(path)
    case .deliver(let item):
      if fails { return .failed(chance(50) ? .delivery(DeliveryError(.unreachable, "away")) : .settings("no store")) }
      let file = JobFile(location: "/r/\(finishWork)\(item.source)", size: 1, duration: 2)
      return .delivered(file, path: file.location, shortfall: nil)
    case .runAfter: return .afterEnded(fails ? "ended with code 1" : nil)
    }
  }
}

// MARK: - Processes

extension RunWorld {
  private func start(_ order: RecordingOrder) {
    if process != nil { problem("two processes at once") }
    if stopSeenAt != nil { problem("a process is started after a stop") }
    if let remaining = order.remaining, remaining <= 0 { problem("a process with no time left") }
    for command in order.commands where answered.contains(command.sequence) { problem("an old command is given again") }
    let process = WorldProcess(order, at: now)
    self.process = process
    let life = chance(30) ? pause(0...1_000) : pause(1_000...90_000)
    process.isSilent = weather.crashes && chance(5)
    after(pause(50...400)) { self.report(process) }
    if process.isSilent { story.insert("silent") }
    let breaksOff = weather.crashes && chance(50)
    after(life) { [self] in
      guard !process.isGone, !process.isStopping, !process.isSilent else { return }
      if breaksOff { return end(process, .signaled(11)) }
      let error = weather.crashes && chance(30) ? JobError(name: "roomFull", message: "full") : nil
      sayEnd(process, RecordingReport.End(reason: "roomEnded", error: error, mayRetry: chance(50)))
    }
  }

  private func report(_ process: WorldProcess, end: RecordingReport.End? = nil) {
    guard !process.isGone else { return }
    for command in process.told where command.sequence > process.confirmed {
      process.confirmed = command.sequence
      if chance(20) { process.refusals.append(CommandRefusal(sequence: command.sequence, message: "no")) }
    }
    let duration = (now - process.startedAt).microseconds
    var report = RecordingReport(
      state: duration > 500_000 ? .running : .waiting, startedAt: duration > 500_000 ? calendar : nil,
      duration: duration, confirmed: process.confirmed, refusals: process.refusals, end: end)
    report.roomSID = "RM_1"
    tell(.reported(report, hasLog: false))
    answered.formUnion(process.told.map(\.sequence).filter { $0 <= process.confirmed })
    if end == nil, !process.isSilent { after(pause(800...1_200)) { self.report(process) } }
  }

  private func take(_ command: JobCommand) {
    guard let process, !process.isGone else { return problem("a command for no process") }
    if command.sequence > 0 {
      let last = process.told.map(\.sequence).max() ?? 0
      if command.sequence <= last { problem("command \(command.sequence) is told again") }
      process.told.append(command)
    }
    if command.verb == .stop || command.verb == .cancel, !process.isStopping, !process.isSilent {
      process.isStopping = true
      after(pause(50...500)) { self.sayEnd(process, RecordingReport.End(reason: "stopped")) }
    }
  }

  private func sayEnd(_ process: WorldProcess, _ end: RecordingReport.End) {
    guard !process.isGone else { return }
    report(process, end: end)
    self.end(process, .exited(0), isWell: true)
  }

  private func kill() {
    guard let process else { return }
    after(pause(1...50)) { self.end(process, .signaled(9)) }
  }

  private func end(_ process: WorldProcess, _ exit: RecordingProcess.Exit, isWell: Bool = false) {
    guard !process.isGone else { return }
    process.isGone = true
    self.process = nil
    crashesInRow = isWell ? 0 : now - process.startedAt > .seconds(60) ? 1 : crashesInRow + 1
    if crashesInRow > 6 { problem("\(crashesInRow) crashes in a row") }
    tell(.recorderEnded(exit))
  }
}

// MARK: - What must hold

extension RunWorld {
  /// Who has lost the lease writes and tells nothing more; a last word that is under way may be told again.
  private func checkAfterLoss(_ action: RunAction) {
    switch action {
    case .log, .countEnd, .killRecorder, .dropUpload, .endAfter, .lookUp, .share, .tidy, .end: break
    case .journal(let entry):
      entriesAfterLoss += 1
      if entry.kind != .closed || entriesAfterLoss > 1 { problem("writes '\(entry.kind)' after the loss") }
    case .tellLast(let message): if message != lastWord { problem("a new last word after the loss") }
    default: problem("after the loss: \(action)")
    }
  }

  /// What the backend is told of the end stands in the journal first: a worker that starts again tells the same.
  private func checkJournal(before message: RunLastWord.Message) {
    let open = OpenJob.fold(journal).first { $0.fence == message.fence }
    switch message {
    case .complete(let request): if open?.completion != request { problem("completes what is not in the journal") }
    case .fail(let request): if open?.failure != request { problem("fails what is not in the journal") }
    case .release: if open == nil { problem("releases what is not in the journal") }
    }
  }

  private func checkEnd() {
    let pictures = Set(lengths.keys)
    if ends.count != 1 { problem("counted \(ends.count) times") }
    if process != nil { problem("a process runs on") }
    if finishWork != 0 { problem("a step of the finishing goes on") }
    let written = Set(journal.compactMap(\.part?.location))
    if !pictures.isSubset(of: written) {
      problem("parts that are not in the journal: \(pictures.subtracting(written))")
    }
    switch ends.first {
    case .completed, .incomplete:
      if !pictures.isSubset(of: gathered) { problem("parts are left out: \(pictures.subtracting(gathered))") }
    case .handedOver: if !pictures.isSubset(of: shared) { problem("parts are not shared") }
    case .failed, .lost, nil: break
    }
    // What nobody refused to hear is closed.
    if !weather.outages, !OpenJob.fold(journal).isEmpty { problem("the journal is left open") }
    if !weather.outages, ends == [.lost] { problem("lost without cause") }
    checkBackend()
  }

  /// What the backend knows in the end, when it always could hear.
  private func checkBackend() {
    guard !weather.outages else { return }
    if job.lease != nil { problem("the job was not given up") }
    let known = Dictionary(job.parts.map { ($0.location, $0.duration) }) { $1 }
    for (path, length) in lengths.sorted(by: { $0.key < $1.key }) {
      if known[path] == nil { problem("the backend has not heard of \(path)") }
      // Who goes on with the job must know how long the parts are.
      let goesOn = ends == [.handedOver] || ends == [.failed]
      if goesOn, !isOvertaken, known[path] != length { problem("the backend has not heard the newest of \(path)") }
    }
    if stopSeenAt != nil, ends == [.handedOver] { problem("handed over in spite of a stop") }
    guard !job.state.isFinal, !job.isRecorded else { return }
    // Each command was answered by a process, or waits for the next worker.
    let waiting = Set(job.commands.map(\.sequence))
    if !seen.subtracting(answered).isSubset(of: waiting) { problem("commands are forgotten") }
    if ends == [.handedOver], !answered.isDisjoint(with: waiting) { problem("commands that were answered wait") }
  }
}

extension RunLastWord.Message {
  fileprivate var fence: Int64 {
    switch self {
    case .complete(let request): request.fence
    case .fail(let request): request.fence
    case .release(let request): request.fence
    }
  }
}
