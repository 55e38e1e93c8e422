import Jobs
import JobsAPI

/// Looks on behalf of all requests that are held: five times a second one question for free jobs and one for new
/// events, however many wait. What another backend said (`NOTIFY`) only makes it faster.
struct QueuePoller: BackgroundWork {
  let core: BackendCore
  let jobs: JobStore
  let events: EventStore
  let name = "watch"

  func run() async throws {
    var newest = try await events.newest()
    while !Task.isCancelled {
      if core.changes.jobs.isAwaited, try await jobs.hasAvailableJob() { core.changes.jobs.notify() }
      if core.changes.events.isAwaited {
        let number = try await events.newest()
        if number != newest { core.changes.events.notify() }
        newest = number
      }
      try await Task.sleep(for: .milliseconds(200))
    }
  }
}
