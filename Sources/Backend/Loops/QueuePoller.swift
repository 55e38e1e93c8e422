import Jobs
import JobsAPI

/// Looks on behalf of all requests that are held: five times a second one question for jobs that became free and one for new
/// events, however many wait. What another backend said (`NOTIFY`) only makes it faster.
struct QueuePoller: BackgroundWork {
  let core: BackendCore
  let jobs: JobStore
  let events: EventStore
  let name = "watch"
  /// What has been free for longer was seen by whoever waits: each has looked when it came. One that nobody here can carry out is
  /// not looked at for ever.
  private static let news = Duration.seconds(2)

  func run() async throws {
    var newest = try await events.newest()
    while !Task.isCancelled {
      if core.changes.claims.waiting > 0, try await jobs.hasAvailableJob(since: Self.news) {
        core.changes.claims.begin()
      }
      if core.changes.events.isAwaited {
        let number = try await events.newest()
        if number != newest { core.changes.events.notify() }
        newest = number
      }
      try await Task.sleep(for: .milliseconds(200))
    }
  }
}
