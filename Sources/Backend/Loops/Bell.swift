import Synchronization

/// Wakes requests that are held until something changes. Any thread.
final class Bell: Sendable {
  private struct State {
    var rings: UInt64 = 0
    var isClosed = false
    var nextWaiter: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// How often it has rung: taken before looking, so that what happens meanwhile is not missed.
  var rings: UInt64 { state.withLock { $0.rings } }
  /// True while somebody waits.
  var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }
  /// True when nobody is held any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Wakes everybody who waits.
  func ring() {
    let woken = state.withLock { state in
      state.rings &+= 1
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in woken { waiter.resume() }
  }

  /// Wakes everybody, now and for ever.
  func close() {
    state.withLock { $0.isClosed = true }
    ring()
  }

  /// Waits until it has rung since `rings`, at most for so long.
  func wait(since rings: UInt64, atMost time: Duration) async {
    let id = state.withLock { state in
      state.nextWaiter &+= 1
      return state.nextWaiter
    }
    let timer = Task {
      try? await Task.sleep(for: time)
      wake(id)
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.isClosed || state.rings != rings || Task.isCancelled { return true }
          state.waiters[id] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      wake(id)
    }
    timer.cancel()
  }

  private func wake(_ id: UInt64) { state.withLock { $0.waiters.removeValue(forKey: id) }?.resume() }
}
