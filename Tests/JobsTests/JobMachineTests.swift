import MediaCore
import Testing

@testable import Jobs
@testable import JobsAPI

@Suite struct JobMachineTests {
  let machine = JobMachine()
  static let start = Timestamp(seconds: 1_800_000_000)

  func job(_ request: JobRequest = JobRequest(room: "talk")) -> Job {
    machine.submit(id: "job_1", owner: "app", request: request, origin: nil, now: Self.start)
  }

  func claimed(_ request: JobRequest = JobRequest(room: "talk"), at now: Timestamp = start) throws -> Job {
    try machine.apply(.claim(worker: "a"), to: job(request), now: now)
  }

  static let part = JobPart(attempt: 1, worker: "a", location: "/a/1.webm", startedAt: start, duration: 5_000_000)

  @Test func aClaimedJobHasALeaseAndANewFence() throws {
    let job = try claimed()
    #expect(job.state == .waiting)
    #expect(job.lease == Lease(worker: "a", fence: 1, until: Self.start + .seconds(15)))
    #expect(throws: JobRefusal.notAvailable) { try machine.apply(.claim(worker: "b"), to: job, now: Self.start) }
  }

  @Test func aJobIsNotTakenBeforeItsTimeNorAfterItsDeadline() throws {
    let job = job(
      JobRequest(room: "talk", startAt: Self.start + .seconds(60), deadline: Self.start + .seconds(120)))
    for second in [Int64(0), 59, 120, 500] {
      #expect(throws: JobRefusal.notAvailable) {
        try machine.apply(.claim(worker: "a"), to: job, now: Self.start + .seconds(second))
      }
    }
    _ = try machine.apply(.claim(worker: "a"), to: job, now: Self.start + .seconds(60))
  }

  @Test func heartbeatsRenewTheLeaseAndReplaceThePart() throws {
    var job = try claimed()
    var part = Self.part
    job = try machine.apply(
      .heartbeat(fence: 1, JobReport(state: .running, part: part)), to: job, now: Self.start + .seconds(5))
    part.duration = 9_000_000
    job = try machine.apply(.heartbeat(fence: 1, JobReport(part: part)), to: job, now: Self.start + .seconds(10))
    #expect(job.lease?.until == Self.start + .seconds(25))
    #expect(job.state == .running)
    #expect(job.parts == [part])
    #expect(job.updatedAt == Self.start + .seconds(5))
  }

  @Test func aLostWorkerIsReplacedAndItsFenceIsRefused() throws {
    var job = try claimed()
    job = try machine.apply(.heartbeat(fence: 1, JobReport(state: .running, part: Self.part)), to: job, now: Self.start)
    #expect(throws: JobRefusal.notAvailable) { try machine.apply(.expire, to: job, now: Self.start + .seconds(14)) }
    job = try machine.apply(.expire, to: job, now: Self.start + .seconds(15))
    #expect(job.state == .queued)
    #expect(throws: JobRefusal.fenced) {
      try machine.apply(.heartbeat(fence: 1, JobReport()), to: job, now: Self.start + .seconds(16))
    }
    job = try machine.apply(.claim(worker: "b"), to: job, now: Self.start + .seconds(16))
    #expect(job.fence == 2)
    #expect(job.parts == [Self.part])
    for action in [
      JobAction.heartbeat(fence: 1, JobReport()), .complete(fence: 1, []), .release(fence: 1, JobReport()),
      .fail(fence: 1, JobError(name: "x", message: ""), mayRetry: true),
    ] {
      #expect(throws: JobRefusal.fenced) { try machine.apply(action, to: job, now: Self.start + .seconds(17)) }
    }
  }

  @Test func aWorkerThatIsLateButNotReplacedGoesOn() throws {
    let job = try claimed()
    let next = try machine.apply(
      .heartbeat(fence: 1, JobReport(state: .running)), to: job, now: Self.start + .seconds(40))
    #expect(next.lease?.until == Self.start + .seconds(55))
  }

  @Test func aRecordingThatIsOverIsNotBroughtBack() throws {
    var job = try claimed()
    job = try machine.apply(
      .heartbeat(fence: 1, JobReport(state: .finishing, part: Self.part, isRecorded: true)), to: job, now: Self.start)
    #expect(throws: JobRefusal.impossibleState) {
      try machine.apply(.heartbeat(fence: 1, JobReport(state: .running)), to: job, now: Self.start)
    }
    job = try machine.apply(.expire, to: job, now: Self.start + .seconds(20))
    job = try machine.apply(.claim(worker: "b"), to: job, now: Self.start + .seconds(20))
    #expect(job.state == .finishing)
  }

  @Test func aDeadlineEndsAJobThatNobodyRecorded() throws {
    let request = JobRequest(room: "talk", deadline: Self.start + .seconds(100))
    let failed = try machine.apply(.expire, to: job(request), now: Self.start + .seconds(100))
    #expect(failed.state == .failed)
    #expect(failed.error?.name == "deadlinePassed")
    #expect(failed.finishedAt == Self.start + .seconds(100))
  }

  @Test func partsOfALostWorkerAreFinishedAfterTheDeadline() throws {
    let request = JobRequest(room: "talk", deadline: Self.start + .seconds(100))
    var job = try claimed(request)
    job = try machine.apply(
      .heartbeat(fence: 1, JobReport(state: .running, part: Self.part)), to: job, now: Self.start + .seconds(95))
    job = try machine.apply(.expire, to: job, now: Self.start + .seconds(110))
    #expect(job.state == .queued && job.isRecorded)
    job = try machine.apply(.claim(worker: "b"), to: job, now: Self.start + .seconds(111))
    #expect(job.state == .finishing)
    let file = JobFile(location: "/b/x.webm", size: 1, duration: 5_000_000)
    job = try machine.apply(.complete(fence: 2, [file]), to: job, now: Self.start + .seconds(112))
    #expect(job.state == .completed && job.files == [file] && job.lease == nil)
  }

  @Test func cancellingAQueuedJobEndsIt() throws {
    let cancelled = try machine.apply(.command(.cancel, argument: nil), to: job(), now: Self.start)
    #expect(cancelled.state == .cancelled)
    #expect(throws: JobRefusal.isOver) {
      try machine.apply(.command(.stop, argument: nil), to: cancelled, now: Self.start)
    }
  }

  @Test func cancellingARunningJobTellsTheWorkerAndEndsAsCancelled() throws {
    var job = try claimed()
    job = try machine.apply(.command(.cancel, argument: nil), to: job, now: Self.start)
    #expect(job.state == .waiting)
    #expect(job.commands.map(\.verb) == [.cancel])
    job = try machine.apply(.complete(fence: 1, []), to: job, now: Self.start)
    #expect(job.state == .cancelled)
  }

  @Test func confirmedCommandsAreForgottenAndOthersKept() throws {
    var job = try claimed()
    for layout in ["grid", "speaker"] {
      job = try machine.apply(.command(.layout, argument: layout), to: job, now: Self.start)
    }
    #expect(job.commands.map(\.sequence) == [1, 2])
    job = try machine.apply(.heartbeat(fence: 1, JobReport(confirmed: 1)), to: job, now: Self.start)
    #expect(job.commands.map(\.argument) == ["speaker"])
  }

  @Test func aRefusedCommandIsToldOfAndHoldsForNothing() throws {
    var job = try claimed()
    for layout in ["speaker", "nosuch"] {
      job = try machine.apply(.command(.layout, argument: layout), to: job, now: Self.start)
    }
    let refusal = CommandRefusal(sequence: 2, message: "there is no layout 'nosuch'")
    job = try machine.apply(
      .heartbeat(fence: 1, JobReport(confirmed: 2, refusals: [refusal])), to: job, now: Self.start)
    #expect(job.commands.isEmpty && job.steering.layout == "speaker")
    #expect(
      job.refusals == [CommandRefusal(sequence: 2, verb: .layout, argument: "nosuch", message: refusal.message)])
    // Told again, as after an answer that was lost, it changes nothing.
    let again = try machine.apply(
      .heartbeat(fence: 1, JobReport(confirmed: 2, refusals: [refusal])), to: job, now: Self.start)
    #expect(again.refusals == job.refusals)
    for sequence in 3..<Int64(3 + 3 * machine.maximumRefusals) {
      job = try machine.apply(.command(.layout, argument: "x"), to: job, now: Self.start)
      let report = JobReport(confirmed: sequence, refusals: [CommandRefusal(sequence: sequence, message: "no")])
      job = try machine.apply(.heartbeat(fence: 1, report), to: job, now: Self.start)
    }
    #expect(job.refusals?.count == machine.maximumRefusals && job.steering.layout == "speaker")
  }

  @Test func aCancelledJobIsNeverQueuedAgain() throws {
    var job = try claimed()
    job = try machine.apply(.heartbeat(fence: 1, JobReport(state: .running, part: Self.part)), to: job, now: Self.start)
    job = try machine.apply(.command(.cancel, argument: nil), to: job, now: Self.start)
    let error = JobError(name: "busy", message: "busy")
    for action in [
      JobAction.expire, .release(fence: 1, JobReport()), .fail(fence: 1, error, mayRetry: true),
    ] {
      let next = try machine.apply(action, to: job, now: Self.start + .seconds(20))
      #expect(next.state == .cancelled && next.lease == nil && next.parts == [Self.part])
    }
  }

  @Test func commandsAreBounded() throws {
    var job = try claimed()
    for _ in 0..<machine.maximumCommands {
      job = try machine.apply(.command(.marker, argument: "m"), to: job, now: Self.start)
    }
    #expect(throws: JobRefusal.impossibleCommand) {
      try machine.apply(.command(.marker, argument: "m"), to: job, now: Self.start)
    }
    _ = try machine.apply(.command(.stop, argument: nil), to: job, now: Self.start)
  }

  @Test func retriesWaitLongerEachTime() throws {
    var job = job()
    var now = Self.start
    var waits: [Int64] = []
    for _ in 0..<10 {
      job = try machine.apply(.claim(worker: "a"), to: job, now: now)
      job = try machine.apply(
        .fail(fence: job.fence, JobError(name: "busy", code: 25, message: "busy"), mayRetry: true), to: job, now: now)
      waits.append((job.notBefore - now).microseconds / 1_000_000)
      now = job.notBefore
    }
    #expect(waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
  }

  @Test func aJobThatKillsItsWorkersIsGivenUp() throws {
    var job = job()
    var now = Self.start
    var count = 0
    while !job.state.isFinal, count < 100 {
      job = try machine.apply(.claim(worker: "w\(count)"), to: job, now: now)
      now = now + .seconds(15)
      job = try machine.apply(.expire, to: job, now: now)
      count += 1
    }
    #expect(count == machine.maximumAttempts)
    #expect(job.state == .failed && job.error?.name == "workersLost")
  }

  @Test func anEndIsAskedForOnceHoweverOftenItIsSaid() throws {
    var job = try claimed()
    job = try machine.apply(.heartbeat(fence: 1, JobReport(state: .running, part: Self.part)), to: job, now: Self.start)
    for _ in 0..<1000 {
      job = try machine.apply(.command(.stop, argument: "now"), to: job, now: Self.start)
    }
    #expect(job.commands.map(\.verb) == [.stop])
    for _ in 0..<1000 {
      job = try machine.apply(.command(.cancel, argument: nil), to: job, now: Self.start)
    }
    #expect(job.commands.map(\.verb) == [.stop, .cancel] && job.isCancelling)
  }

  @Test func whatWasRecordedOutlivesTheAttempts() throws {
    var job = job()
    var now = Self.start
    var count = 0
    while !job.state.isFinal, !job.isRecorded, count < 100 {
      job = try machine.apply(.claim(worker: "w"), to: job, now: now)
      if count == 0 {
        job = try machine.apply(
          .heartbeat(fence: job.fence, JobReport(state: .running, part: Self.part)), to: job, now: now)
      }
      now = now + .seconds(15)
      job = try machine.apply(.expire, to: job, now: now)
      count += 1
    }
    #expect(count == machine.maximumAttempts && job.state == .queued && job.isRecorded)
    // The next worker has only to finish it.
    job = try machine.apply(.claim(worker: "w"), to: job, now: now)
    #expect(job.state == .finishing && job.error?.name == "workersLost")
    let file = JobFile(location: "f", size: 1, duration: 1)
    let done = try machine.apply(.complete(fence: job.fence, [file]), to: job, now: now)
    #expect(done.state == .completed && done.error?.name == "workersLost")
    // And where that can't be done, it ends all the same.
    count = 0
    while !job.state.isFinal, count < 100 {
      now = now + .seconds(15)
      job = try machine.apply(.expire, to: job, now: now)
      if !job.state.isFinal { job = try machine.apply(.claim(worker: "w"), to: job, now: now) }
      count += 1
    }
    #expect(count == machine.maximumAttempts && job.state == .failed)
  }

  @Test func handingOverAndSoundAttemptsAreNoFailures() throws {
    var job = job()
    var now = Self.start
    for attempt in 1...100 {
      job = try machine.apply(.claim(worker: "w"), to: job, now: now)
      var part = Self.part
      (part.attempt, part.duration) = (attempt, 3_600_000_000)
      job = try machine.apply(.heartbeat(fence: job.fence, JobReport(state: .running, part: part)), to: job, now: now)
      if attempt % 2 == 0 {
        job = try machine.apply(.release(fence: job.fence, JobReport()), to: job, now: now)
      } else {
        now = now + .seconds(15)
        job = try machine.apply(.expire, to: job, now: now)
      }
      #expect(job.state == .queued && !job.isRecorded && (job.setbacks ?? 0) <= 1)
    }
    #expect(job.parts.count == 100)
  }

  @Test func theRoomsIdIsKeptAndStaysShort() throws {
    var job = try claimed()
    job = try machine.apply(.heartbeat(fence: 1, JobReport(roomSID: "RM_1")), to: job, now: Self.start)
    job = try machine.apply(.heartbeat(fence: 1, JobReport()), to: job, now: Self.start)
    #expect(job.roomSID == "RM_1")
    let long = String(repeating: "x", count: 129)
    job = try machine.apply(.heartbeat(fence: 1, JobReport(roomSID: long)), to: job, now: Self.start)
    #expect(job.roomSID == "RM_1")
  }

  /// Random lives: whatever happens, the rules that others build on hold.
  @Test(arguments: 0..<64) func invariantsHoldInRandomLives(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var now = Self.start
    var job = job(JobRequest(room: "r", deadline: seed % 2 == 0 ? Self.start + .seconds(200) : nil))
    var fences: Set<Int64> = []
    for _ in 0..<400 {
      now = now + .milliseconds(Int64.random(in: 0...6000, using: &random))
      let fence = Int64.random(in: 0...max(1, job.fence), using: &random)
      let action: JobAction =
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: .claim(worker: "w")
        case 2, 3:
          .heartbeat(
            fence: fence,
            JobReport(
              state: JobState.allCases.randomElement(using: &random), part: Self.part,
              isRecorded: Int.random(in: 0..<40, using: &random) == 0))
        case 4: .release(fence: fence, JobReport())
        case 5:
          .fail(fence: fence, JobError(name: "e", message: ""), mayRetry: Int.random(in: 0..<50, using: &random) > 0)
        case 6: Int.random(in: 0..<20, using: &random) == 0 ? .complete(fence: fence, []) : .expire
        case 7: Int.random(in: 0..<60, using: &random) == 0 ? .command(.cancel, argument: nil) : .expire
        default: .command(.layout, argument: "grid")
        }
      let before = job
      guard let next = try? machine.apply(action, to: job, now: now) else { continue }
      #expect(!before.state.isFinal, "seed \(seed)")
      #expect(next.fence >= before.fence && next.attempt >= before.attempt, "seed \(seed)")
      #expect((next.lease != nil) == next.state.isLeased, "seed \(seed)")
      #expect(next.state.isFinal == (next.finishedAt != nil), "seed \(seed)")
      #expect(!before.isRecorded || next.isRecorded, "seed \(seed)")
      if case .claim = action { #expect(fences.insert(next.fence).inserted, "seed \(seed): a fence was given twice") }
      switch action {
      case .heartbeat(let given, _), .release(let given, _), .complete(let given, _), .fail(let given, _, _):
        #expect(given == before.fence, "seed \(seed): an old worker changed the job")
      default: break
      }
      job = next
    }
  }
}
