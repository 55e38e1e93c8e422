import Jobs

/// Looks on behalf of all requests that are held: five times a second one question for free jobs and one for new
/// events, however many wait. What another backend said (`NOTIFY`) only makes it faster.
struct QueueWatch: BackgroundWork {
  let core: BackendCore
  let name = "watch"

  func run() async throws {
    var newest = try await core.store.newestEvent()
    while !Task.isCancelled {
      if core.jobsBell.isAwaited, try await core.store.hasAvailableJob() { core.jobsBell.ring() }
      if core.eventsBell.isAwaited {
        let number = try await core.store.newestEvent()
        if number != newest { core.eventsBell.ring() }
        newest = number
      }
      try await Task.sleep(for: .milliseconds(200))
    }
  }
}
