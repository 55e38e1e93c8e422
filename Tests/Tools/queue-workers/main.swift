import DatabaseKit
import Glibc
import Jobs
import JobsAPI

// Processes on a queue, for the checks of JobsTests that kill some:
//
//   queue-workers work DATABASE HISTORY NAME COUNT SEED MILLISECONDS
//   queue-workers schedule DATABASE TIME END COUNT SEED
//
// `work`: COUNT workers claim, heartbeat and complete jobs at random until the process is killed, in leases of MILLISECONDS.
// Now and then one dies: it forgets its jobs, and goes on with them later as a zombie. What the queue said yes to stands
// in the file HISTORY, a line each, written at once: what, job, fencing number, worker, and the monotonic times in
// nanoseconds at which it was asked for and known.
//
// `schedule`: COUNT schedulers fire what is due until everything before END (RFC 3339) has fired. The time is that of the
// file TIME, which all processes share and move on.

/// The queue that an address or path names.
func openQueue(
  _ place: String, clock: DatabaseClock = .system, machine: JobMachine = JobMachine(), count: Int, seed: UInt64
) async throws -> JobQueue {
  let database: any SQLDatabase =
    place.hasPrefix("postgres:")
    ? PostgresDatabase(address: place, connections: count, clock: clock) : try SQLiteDatabase(path: place, clock: clock)
  while true {
    do {
      return try await JobQueue(database: database, machine: machine, seed: seed)
    } catch SQLError.unavailable {
      // The server was killed just now.
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}

func runWorkers(_ words: [String]) async -> Int32 {
  guard words.count == 6, let count = Int(words[3]), let seed = UInt64(words[4]), let lease = Int64(words[5]) else {
    return usage()
  }
  let history = History(file: open(words[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600))
  var machine = JobMachine()
  machine.leaseTime = .milliseconds(lease)
  machine.maximumAttempts = 100_000
  do {
    let queue = try await openQueue(words[0], machine: machine, count: count, seed: seed)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        let name = "\(words[2])-\(index)"
        group.addTask { try await work(name, store: queue.jobs, history: history, seed: seed &+ UInt64(index)) }
      }
      try await group.waitForAll()
    }
    return 0
  } catch {
    // Written down, so that the check finds it.
    history.add("error", "\(error)".replacing(" ", with: "_"), 0, words[2], since: 0)
    return 1
  }
}

func runSchedulers(_ words: [String]) async -> Int32 {
  guard words.count == 5, let time = SharedTime(path: words[1]), let end = Timestamp(words[2]),
    let count = Int(words[3]), let seed = UInt64(words[4])
  else { return usage() }
  do {
    let clock = DatabaseClock.given { Timestamp(microseconds: time.now) }
    let queue = try await openQueue(words[0], clock: clock, count: count, seed: seed)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        group.addTask {
          try await schedule(schedules: queue.schedules, time: time, end: end, seed: seed &+ UInt64(index))
        }
      }
      try await group.waitForAll()
    }
    return 0
  } catch {
    print("queue-workers: \(error)")
    return 1
  }
}

func usage() -> Int32 {
  print("usage: queue-workers work DATABASE HISTORY NAME COUNT SEED MILLISECONDS")
  print("       queue-workers schedule DATABASE TIME END COUNT SEED")
  return 64
}

let words = Array(CommandLine.arguments.dropFirst())
switch words.first {
case "work": exit(await runWorkers(Array(words.dropFirst())))
case "schedule": exit(await runSchedulers(Array(words.dropFirst())))
default: exit(usage())
}
