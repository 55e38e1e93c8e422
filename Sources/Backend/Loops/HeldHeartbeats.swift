import Synchronization

/// Wakes heartbeats that are held, each by what concerns its own job. Any thread.
final class HeldHeartbeats: Sendable {
  /// One that is held.
  struct Held: Sendable {
    /// Wakes it.
    let notifier: Notifier
    fileprivate let job: String
    fileprivate let owner: HeldHeartbeats

    /// From now on this room's beginning wakes it.
    func wait(for room: String) { owner.state.withLock { $0.entries[job]?.room = room } }
  }

  private struct Entry {
    let notifier = Notifier()
    /// How many heartbeats of the job are held.
    var count = 0
    /// Nil as long as it is not known.
    var room: String?
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())

  /// How many jobs have one.
  var count: Int { state.withLock { $0.entries.count } }

  /// Holds one of a job as long as `body` takes.
  func hold<Value>(job: String, _ body: (Held) async throws -> Value) async rethrows -> Value {
    let (notifier, isClosed) = state.withLock { state in
      state.entries[job, default: Entry()].count += 1
      return (state.entries[job]?.notifier ?? Notifier(), state.isClosed)
    }
    if isClosed { notifier.close() }
    defer {
      state.withLock { state in
        state.entries[job]?.count -= 1
        if state.entries[job]?.count == 0 { state.entries[job] = nil }
      }
    }
    return try await body(Held(notifier: notifier, job: job, owner: self))
  }

  /// Something about a job has changed.
  func notify(job: String) { state.withLock { $0.entries[job]?.notifier }?.notify() }

  /// A room has begun.
  func notify(room: String) {
    for notifier in notifiers(where: { $0.room == room }) { notifier.notify() }
  }

  /// Something about any job may have changed.
  func notifyAll() { for notifier in notifiers(where: { _ in true }) { notifier.notify() } }

  /// Wakes everybody, now and for ever.
  func close() {
    state.withLock { $0.isClosed = true }
    for notifier in notifiers(where: { _ in true }) { notifier.close() }
  }

  private func notifiers(where fits: (Entry) -> Bool) -> [Notifier] {
    state.withLock { $0.entries.values.filter(fits).map(\.notifier) }
  }
}
