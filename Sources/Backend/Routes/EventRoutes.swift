import Hummingbird
import Jobs
import JobsAPI

/// What happened to jobs; can be waited for.
struct EventRoutes: RouteGroup {
  let events: EventStore
  let jobs: JobStore

  func add(to routes: Routes) {
    routes.caller(.get, "/v1/jobs/{id}/events", .jobsRead) { call, caller in
      let job = try await JobRoutes.job(of: call, caller, in: jobs)
      return .json(try await page(call, of: job.id, caller))
    }
    routes.caller(.get, "/v1/events", .eventsRead) { call, caller in
      .json(try await page(call, of: nil, caller))
    }
  }

  private func page(_ call: Call, of job: String?, _ caller: Caller) async throws -> EventPage {
    let limit = try call.pageSize()
    let filter = JobFilter(owner: caller.visibleOwner, rooms: caller.rooms)
    var last = try call.number("after", in: 0...(.max), default: 0)
    return try await call.hold(on: call.core.changes.events, for: try call.wait()) {
      var page = try await events.page(of: job, filter: filter, after: last, limit: limit)
      // Events that the caller must not see are passed over; very many, in several requests.
      var rounds = 0
      while page.events.isEmpty, page.next > last, rounds < 100 {
        rounds += 1
        last = page.next
        page = try await events.page(of: job, filter: filter, after: last, limit: limit)
      }
      last = page.next
      return EventPage(events: page.events, next: page.next)
    } until: {
      !$0.events.isEmpty
    }
  }
}

extension Call {
  /// The least time from one look of a held request to its next.
  private static let lookInterval = Duration.milliseconds(50)

  /// Looks, and looks again each time that something has changed, until there is what is waited for, the time is over, or
  /// nobody waits for the answer any more. Gives what was seen last.
  func hold<Value: Sendable>(
    on notifier: Notifier, for time: Duration, look: () async throws -> Value, until isReady: (Value) -> Bool
  ) async throws -> Value {
    let end = ContinuousClock.now + time
    var looked: ContinuousClock.Instant?
    while true {
      // At once after a quiet time; while changes never rest, so often that the database is not asked for nothing.
      if let looked { try? await Task.sleep(until: min(end, looked + Self.lookInterval), clock: .continuous) }
      looked = .now
      let notices = notifier.notices
      let value = try await look()
      let left = end - .now
      if isReady(value) || left <= .zero || notifier.isClosed { return value }
      await notifier.wait(since: notices, atMost: left)
      if !isConnected { return value }
    }
  }
}
