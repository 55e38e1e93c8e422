import Jobs
import JobsAPI
import MediaCore

/// A day of a fleet: jobs come, workers ask, record, crash and come back, a zone is lost; what becomes of each job, `JobMachine` says.
/// Only the network and the database are left out: each question takes `answerTime`. Heartbeats are carried out when something depends
/// on them (the last one before a crash), and counted otherwise.
struct Fleet {
  struct Settings {
    var workers = 1000
    /// Recordings at once on each.
    var capacity = 75
    var jobs = 1_000_000
    /// How long a worker lives until it crashes, on average.
    var life = Duration.seconds(7 * 86_400)
    /// A third of the workers is gone at the busiest hour, for an hour.
    var losesZone = false
    var seed: UInt64 = 1
  }

  struct Report {
    /// From a meeting's begin until a worker has its job, seconds, in order.
    var delays: [Double] = []
    /// From a worker's crash until another one has the job, seconds, in order.
    var gaps: [Double] = []
    var completed = 0
    /// Jobs of which nothing is left.
    var failed = 0
    /// Seconds of meetings, and those of them that nobody recorded.
    var wanted = 0.0, missed = 0.0
    var mostRunning = 0
    /// The longest queue.
    var mostWaiting = 0
    /// Transactions of each minute.
    var transactions = [Int](repeating: 0, count: 30 * 60)
  }

  private enum Event {
    case begins(Int)
    case asks(Int, life: Int)
    case ends(Int, fence: Int64)
    case leaseEnds(Int, fence: Int64)
    case crashes(Int, life: Int)
    case returns(Int)
    case losesZone
    case minute
  }

  private struct Worker {
    var jobs: Set<Int> = []
    var life = 0
    var isUp = true
    var waits = false
  }

  private struct Running {
    var job: Job
    var meeting: Meetings.Meeting
    var worker: Int?
    /// When its worker got it.
    var claimedAt = Timestamp(seconds: 0)
    /// Since when nobody has recorded it.
    var missedSince: Timestamp
    var wasRecorded = false
  }

  /// A question and its answer: what a submission took until a worker had the job, in the middle (see Decisions).
  private static let answerTime = Duration.milliseconds(13)
  private static let heartbeatTime: Int64 = 4_000_000
  /// A full worker says so in this interval.
  private static let fullTime = Duration.seconds(2)
  private static let restartTime = Duration.seconds(60), zoneTime = Duration.seconds(3600)
  /// Finishing and delivering a file.
  private static let deliveryTime = Duration.seconds(20)
  private static let zoneLoss = Timestamp(seconds: 15 * 3600 + 5)

  private let settings: Settings
  private let machine = JobMachine()
  private var random: Meetings
  private var events = EventQueue<Event>()
  private var workers: [Worker]
  private var running: [Int: Running] = [:]
  private let meetings: [Meetings.Meeting]
  private var free: [Int] = [], firstFree = 0
  private var waiting: [(worker: Int, life: Int)] = [], firstWaiting = 0
  private var recording = 0
  private var left: Int
  private(set) var report = Report()

  init(_ settings: Settings) {
    self.settings = settings
    random = Meetings(seed: settings.seed)
    meetings = random.make(settings.jobs)
    workers = Array(repeating: Worker(), count: settings.workers)
    left = settings.jobs
  }

  /// Lets the day pass, and the jobs of its end.
  mutating func run() {
    for index in meetings.indices { events.put(.begins(index), at: meetings[index].begin) }
    for index in workers.indices {
      events.put(.asks(index, life: 0), at: Timestamp(seconds: 0))
      dies(index, after: Timestamp(seconds: 0))
    }
    if settings.losesZone { events.put(.losesZone, at: Self.zoneLoss) }
    events.put(.minute, at: Timestamp(seconds: 60))
    while left > 0, let (now, event) = events.take() { take(event, now) }
    report.delays.sort()
    report.gaps.sort()
  }

  private mutating func take(_ event: Event, _ now: Timestamp) {
    switch event {
    case .begins(let index):
      let job = machine.submit(
        id: "job_\(index)", owner: "app", request: JobRequest(room: "room-\(index)"), origin: nil, now: now)
      running[index] = Running(job: job, meeting: meetings[index], missedSince: now)
      report.wanted += seconds(from: now, to: meetings[index].end)
      count(1, now)
      becomesFree(index, now)
    case .asks(let worker, let life):
      guard workers[worker].isUp, workers[worker].life == life, !workers[worker].waits else { return }
      // It says how it stands, and looks.
      count(2, now)
      if workers[worker].jobs.count < settings.capacity {
        workers[worker].waits = true
        waiting.append((worker, life))
        serve(now)
      } else {
        events.put(.asks(worker, life: life), at: now + Self.fullTime)
      }
    case .ends(let index, let fence): ends(index, fence, now)
    case .leaseEnds(let index, let fence):
      guard let entry = running[index], entry.job.fence == fence,
        let job = try? machine.apply(.expire, to: entry.job, now: now)
      else { return }
      running[index]?.job = job
      count(1, now)
      if job.state.isFinal { isOver(index, now) } else { becomesFree(index, now) }
    case .crashes(let worker, let life):
      guard workers[worker].life == life else { return }
      crashes(worker, for: Self.restartTime, now)
    case .returns(let worker):
      workers[worker].isUp = true
      events.put(.asks(worker, life: workers[worker].life), at: now)
      dies(worker, after: now)
    case .losesZone:
      for worker in stride(from: 0, to: workers.count, by: 3) where workers[worker].isUp {
        crashes(worker, for: Self.zoneTime, now)
      }
    case .minute:
      // What is only counted: heartbeats, and the questions of workers that wait: each says how it stands, and looks.
      let idle = waiting.count - firstWaiting
      count(recording * 60 / 4 + idle * 60 / 5 * 2, now)
      report.mostWaiting = max(report.mostWaiting, free.count - firstFree)
      events.put(.minute, at: now + .seconds(60))
    }
  }

  private mutating func becomesFree(_ index: Int, _ now: Timestamp) {
    free.append(index)
    serve(now)
  }

  /// Gives what is free to those who wait, each as many as it can.
  private mutating func serve(_ now: Timestamp) {
    while firstFree < free.count, firstWaiting < waiting.count {
      let (worker, life) = waiting[firstWaiting]
      firstWaiting += 1
      guard workers[worker].isUp, workers[worker].life == life else { continue }
      workers[worker].waits = false
      count(1, now)
      while firstFree < free.count, workers[worker].jobs.count < settings.capacity {
        let index = free[firstFree]
        firstFree += 1
        claim(index, worker, now + Self.answerTime)
      }
      events.put(.asks(worker, life: life), at: now + Self.answerTime)
    }
    // What is behind is let go of now and then.
    if firstFree > 100_000 { free.removeFirst(firstFree); firstFree = 0 }
    if firstWaiting > 100_000 { waiting.removeFirst(firstWaiting); firstWaiting = 0 }
  }

  private mutating func claim(_ index: Int, _ worker: Int, _ now: Timestamp) {
    guard var entry = running[index],
      let job = try? machine.apply(.claim(worker: "w\(worker)"), to: entry.job, now: now)
    else { return }
    entry.job = job
    (entry.worker, entry.claimedAt) = (worker, now)
    let missed = seconds(from: entry.missedSince, to: min(now, entry.meeting.end))
    report.missed += max(0, missed)
    if entry.wasRecorded {
      report.gaps.append(seconds(from: entry.missedSince, to: now))
    } else {
      report.delays.append(seconds(from: entry.meeting.begin, to: now))
    }
    entry.wasRecorded = true
    running[index] = entry
    workers[worker].jobs.insert(index)
    recording += 1
    report.mostRunning = max(report.mostRunning, recording)
    events.put(.ends(index, fence: job.fence), at: max(now, entry.meeting.end) + Self.deliveryTime)
  }

  private mutating func ends(_ index: Int, _ fence: Int64, _ now: Timestamp) {
    guard var entry = running[index], entry.job.fence == fence, let worker = entry.worker else { return }
    let part = JobPart(
      attempt: entry.job.attempt, worker: "w\(worker)", location: "part", startedAt: entry.claimedAt,
      duration: max(0, (entry.meeting.end - entry.claimedAt).microseconds))
    let file = JobFile(location: "file", size: 1, duration: part.duration)
    // Running, finishing, uploading, done.
    count(4, now)
    do {
      entry.job = try machine.apply(
        .heartbeat(fence: fence, JobReport(state: .uploading, part: part, isRecorded: true)), to: entry.job, now: now)
      entry.job = try machine.apply(.complete(fence: fence, [file]), to: entry.job, now: now)
    } catch {
      fatalError("a worker that has a job cannot complete it: \(error)")
    }
    workers[worker].jobs.remove(index)
    recording -= 1
    running[index] = entry
    isOver(index, now)
  }

  private mutating func isOver(_ index: Int, _ now: Timestamp) {
    guard let entry = running.removeValue(forKey: index) else { return }
    if entry.job.state == .completed { report.completed += 1 } else { report.failed += 1 }
    left -= 1
  }

  private mutating func crashes(_ worker: Int, for span: Duration, _ now: Timestamp) {
    workers[worker].life += 1
    let jobs = workers[worker].jobs
    workers[worker].jobs = []
    (workers[worker].isUp, workers[worker].waits) = (false, false)
    recording -= jobs.count
    for index in jobs.sorted() {
      guard var entry = running[index] else { continue }
      let beats = max(0, (now - entry.claimedAt).microseconds) / Self.heartbeatTime
      let last = entry.claimedAt + .microseconds(beats * Self.heartbeatTime)
      let part = JobPart(
        attempt: entry.job.attempt, worker: "w\(worker)", location: "part", startedAt: entry.claimedAt,
        duration: (last - entry.claimedAt).microseconds)
      do {
        entry.job = try machine.apply(
          .heartbeat(fence: entry.job.fence, JobReport(state: .running, part: part)), to: entry.job, now: last)
      } catch {
        fatalError("a worker that has a job cannot say so: \(error)")
      }
      (entry.worker, entry.missedSince) = (nil, now)
      running[index] = entry
      // Every second it is looked whose lease is over.
      let end = machine.nextExpiry(of: entry.job).microseconds
      events.put(
        .leaseEnds(index, fence: entry.job.fence), at: Timestamp(microseconds: (end / 1_000_000 + 1) * 1_000_000))
    }
    events.put(.returns(worker), at: now + span)
  }

  private mutating func dies(_ worker: Int, after now: Timestamp) {
    let life = settings.life.microseconds
    let share = random.exponential()
    events.put(.crashes(worker, life: workers[worker].life), at: now + .microseconds(Int64(Double(life) * share)))
  }

  private mutating func count(_ transactions: Int, _ now: Timestamp) {
    let minute = Int(now.seconds / 60)
    if report.transactions.indices.contains(minute) { report.transactions[minute] += transactions }
  }

  private func seconds(from one: Timestamp, to other: Timestamp) -> Double {
    Double((other - one).microseconds) / 1_000_000
  }
}
