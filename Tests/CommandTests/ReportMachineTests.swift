import JobsAPI
import Logging
import MediaCore
import Recording
import Session
import TestKit
import Testing

@testable import recbot

/// What a recording tells its worker, and which commands it carries out when, on a clock that the test moves.
@Suite struct ReportMachineTests {
  private let start = ContinuousClock.now
  private let date = Timestamp(microseconds: 1_700_000_000_000_000)

  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

  private func standing(_ phase: RecordingProgress.Phase = .recording, frames: UInt64 = 30) -> ReportMachine.Standing {
    var progress = RecordingProgress()
    (progress.phase, progress.frames, progress.time) = (phase, frames, .seconds(1))
    return ReportMachine.Standing(progress: progress, roomSID: "RM_1")
  }

  private func command(_ sequence: Int64, _ verb: JobCommand.Verb = .marker) -> JobCommand {
    JobCommand(sequence: sequence, verb: verb, argument: "x")
  }

  /// A machine whose recording runs and whose worker knows it.
  private func running(deadline: Timestamp? = nil) -> ReportMachine {
    var machine = ReportMachine(deadline: deadline)
    #expect(machine.orders(standing(), now: at(0), date: date) == [])
    tell(&machine, at(0))
    return machine
  }

  private func tell(_ machine: inout ReportMachine, _ now: ContinuousClock.Instant) {
    if let report = machine.news(now: now) { machine.wasTold(report, now: now) }
  }

  @Test func theStateFollowsTheRecording() {
    var machine = ReportMachine(deadline: nil)
    // With nil, the worker has nothing to learn.
    let rows: [(RecordingProgress.Phase, UInt64, PausePolicy?, JobState?)] = [
      (.waiting, 0, nil, .waiting), (.recording, 0, nil, nil), (.recording, 1, nil, .running),
      (.reconnecting, 9, nil, .reconnecting), (.recording, 9, .cut, .paused), (.recording, 9, nil, .running),
      (.finished, 9, nil, .finishing),
    ]
    for (index, row) in rows.enumerated() {
      var standing = standing(row.0, frames: row.1)
      standing.progress.pause = row.2
      _ = machine.orders(standing, now: at(index * 10), date: date)
      let report = machine.news(now: at(index * 10))
      #expect(report?.state == row.3, "\(row)")
      // The first picture was a second ago.
      #expect(report == nil || report?.startedAt == (index < 2 ? nil : Timestamp(seconds: date.seconds - 1)))
      tell(&machine, at(index * 10))
    }
  }

  @Test func whatHasNotChangedIsToldEachSecond() {
    var machine = running()
    #expect(machine.news(now: at(999)) == nil)
    #expect(machine.news(now: at(1000))?.state == .running)
    // A worker that takes nothing is told at the next look.
    #expect(machine.news(now: at(1100)) != nil)
    tell(&machine, at(1100))
    #expect(machine.news(now: at(1200)) == nil)
  }

  @Test func commandsWaitForTheFirstPicture() {
    var machine = ReportMachine(deadline: nil)
    machine.take(command(1), now: at(0))
    #expect(machine.orders(standing(.waiting, frames: 0), now: at(100), date: date) == [])
    #expect(machine.orders(standing(), now: at(200), date: date) == [.carryOut(command(1))])
    machine.answered(command(1), refusal: nil, now: at(200))
    #expect(machine.news(now: at(200))?.confirmed == 1)
  }

  /// However many come and however many are refused, the worker hears of each refusal.
  @Test func eachRefusalIsTold() {
    var machine = running()
    for sequence in 1...10 { machine.take(command(Int64(sequence)), now: at(1)) }
    var heard: Set<Int64> = []
    for step in 1...10 {
      for case .carryOut(let command) in machine.orders(standing(), now: at(step * 100), date: date) {
        machine.answered(command, refusal: "no", now: at(step * 100))
      }
      // The worker reads every other time only.
      guard step % 2 == 0, let report = machine.news(now: at(step * 100)) else { continue }
      heard.formUnion(report.refusals.map(\.sequence))
      machine.wasTold(report, now: at(step * 100))
    }
    #expect(heard == Set(1...10))
  }

  @Test func aStopWaitsUntilWhatCameBeforeCanBeSeen() {
    var machine = running()
    machine.take(command(1), now: at(100))
    _ = machine.orders(standing(), now: at(100), date: date)
    machine.answered(command(1), refusal: nil, now: at(100))
    machine.take(command(2, .stop), now: at(150))
    // It is answered at once, and carried out later.
    #expect(machine.news(now: at(150))?.confirmed == 2)
    tell(&machine, at(150))
    #expect(machine.orders(standing(), now: at(699), date: date) == [])
    #expect(machine.orders(standing(), now: at(700), date: date) == [.stop])
    #expect(machine.orders(standing(), now: at(800), date: date) == [])
  }

  @Test func aCancelWaitsForNothing() {
    var machine = running()
    machine.take(command(1), now: at(100))
    _ = machine.orders(standing(), now: at(100), date: date)
    machine.answered(command(1), refusal: nil, now: at(100))
    machine.take(command(2, .cancel), now: at(150))
    #expect(machine.orders(standing(), now: at(150), date: date) == [.stop])
  }

  /// A stop does not answer what came before it and was not carried out.
  @Test func aStopConfirmsNothingThatWaits() {
    var machine = ReportMachine(deadline: nil)
    machine.take(command(1), now: at(0))
    machine.take(command(2, .stop), now: at(0))
    #expect(machine.orders(standing(.waiting, frames: 0), now: at(0), date: date) == [.stop])
    #expect(machine.news(now: at(0))?.confirmed == 0)
  }

  @Test func theDeadlineEndsARecordingOnce() {
    let deadline = Timestamp(seconds: date.seconds + 1)
    var machine = running(deadline: deadline)
    #expect(machine.orders(standing(), now: at(900), date: date) == [])
    #expect(machine.orders(standing(), now: at(1000), date: deadline) == [.stop])
    #expect(machine.orders(standing(), now: at(1100), date: deadline) == [])
  }

  @Test func theLastWordIsToldUntilTheWorkerHasIt() {
    var machine = running()
    let end = RecordingReport.End(reason: "stopped")
    machine.finish(end, standing(.finished).progress, date: date)
    // The first end counts, and nothing is carried out behind it.
    machine.finish(RecordingReport.End(reason: "other"), nil, date: date)
    machine.take(command(1), now: at(10))
    #expect(machine.orders(standing(), now: at(10), date: date) == [])
    for time in [10, 20, 3000] { #expect(machine.news(now: at(time))?.end == end) }
    tell(&machine, at(3000))
    #expect(machine.news(now: at(9000)) == nil)
  }
}
