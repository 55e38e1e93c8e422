import Jobs
import JobsAPI

/// What the queue needs to go on by itself, once a second: reaps leases of workers that are gone, fires schedules, and
/// prunes what is old. Every backend does it; with PostgreSQL they share the work.
struct QueueMaintenance: BackgroundWork {
  let core: BackendCore
  let queue: JobQueue
  let name = "queue"

  func run() async throws {
    // Workers that went on recording while no backend was there come back first: their leases are good again when
    // they are renewed before anybody takes them.
    let usual = queue.jobs.machine.leaseTime + .seconds(5)
    let patience = ContinuousClock.now + (core.configuration.startPatience ?? usual)
    var rounds = 0
    while !Task.isCancelled {
      try await round(expires: ContinuousClock.now >= patience)
      // The old is swept out once in ten minutes.
      if rounds % 600 == 0 {
        while !Task.isCancelled,
          try await queue.prune(
            keysOlderThan: core.configuration.keyRetention, jobsOlderThan: core.configuration.jobRetention)
        {}
        try await queue.workers.forget(unseenFor: .seconds(86_400))
      }
      rounds += 1
      try await Task.sleep(for: .seconds(1))
    }
  }

  private func round(expires: Bool) async throws {
    let limit = 100
    var isFree = false
    if expires {
      var count = limit
      while count == limit {
        let expired = try await queue.jobs.expire(limit: limit)
        for id in expired { core.changes.changed(id) }
        count = expired.count
        if count > 0 { isFree = true }
      }
    }
    if try await !queue.schedules.fire().isEmpty { isFree = true }
    if isFree { core.changes.jobIsFree() }
  }
}
