import Synchronization

/// Keeps what happens in a recording until it is told, so that a slow reader of standard output never holds the
/// recording up. May be used on any thread.
final class EventBuffer: Sendable {
  private let state = Mutex<[String]>([])
  /// Nobody needs more of what wasn't told.
  private static let limit = 1024

  /// Keeps an event, unless too many wait.
  func put(_ event: String) {
    state.withLock { if $0.count < Self.limit { $0.append(event) } }
  }

  /// What came since the last call, the oldest first.
  func drain() -> [String] {
    state.withLock { events in
      defer { events = [] }
      return events
    }
  }
}
