import Synchronization

/// Wakes heartbeats that are held, each by what concerns its own job. Any thread.
final class HeldHeartbeats: Sendable {
  private struct Entry {
    let notifier = Notifier()
    /// How many heartbeats of the job are held.
    var count = 0
    var room: String
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())

  /// How many jobs have one.
  var count: Int { state.withLock { $0.entries.count } }

  /// Holds one of a job, which may wait for this room, as long as `body` takes.
  func hold<Value>(
    job: String, room: String, _ body: (Notifier) async throws -> Value
  ) async rethrows -> Value {
    let (notifier, isClosed) = state.withLock { state in
      var entry = state.entries[job] ?? Entry(room: room)
      entry.count += 1
      state.entries[job] = entry
      return (entry.notifier, state.isClosed)
    }
    if isClosed { notifier.close() }
    defer {
      state.withLock { state in
        guard var entry = state.entries[job] else { return }
        entry.count -= 1
        state.entries[job] = entry.count > 0 ? entry : nil
      }
    }
    return try await body(notifier)
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
