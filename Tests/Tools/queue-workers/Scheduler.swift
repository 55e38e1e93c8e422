import DatabaseKit
import Glibc
import Jobs
import JobsAPI
import MediaCore

/// One scheduler: fires what is due, as a backend does about once a second, until everything before `end` has fired.
/// The time is everybody's, and each round moves it on: it waits for nobody who is dead.
func schedule(schedules: ScheduleStore, time: SharedTime, end: Timestamp, seed: UInt64) async throws {
  var random = SeededRandom(seed: seed)
  let parent = getppid()
  // A test that dies takes its schedulers along.
  while getppid() == parent {
    do {
      // Few at a time, so that all of them have something to do.
      try await schedules.fire(limit: Int.random(in: 1...4, using: &random))
      if time.now < end.microseconds {
        time.advance(microseconds: Int64.random(in: 0...800, using: &random) * 1_000_000)
      } else if try await schedules.list(limit: 1000).allSatisfy({ $0.nextFire.map { $0 >= end } ?? true }) {
        return
      }
    } catch SQLError.unavailable {
      // What was asked may have happened or not: the next round finds out.
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
