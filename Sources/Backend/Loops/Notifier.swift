import Synchronization

/// Wakes requests that are held until something changes. Any thread.
final class Notifier: Sendable {
  private struct State {
    var notices: UInt64 = 0
    var isClosed = false
    var nextWaiter: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// How often it was notified: taken before looking, so that what happens meanwhile is not missed.
  var notices: UInt64 { state.withLock { $0.notices } }
  /// True while somebody waits.
  var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }
  /// True when nobody is held any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Wakes everybody who waits.
  func notify() {
    let woken = state.withLock { state in
      state.notices &+= 1
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in woken { waiter.resume() }
  }

  /// Wakes everybody, now and for ever.
  func close() {
    state.withLock { $0.isClosed = true }
    notify()
  }

  /// Waits until it is notified beyond so many `notices`, at most for so long.
  func wait(since notices: UInt64, atMost time: Duration) async {
    let id = state.withLock { state in
      state.nextWaiter &+= 1
      return state.nextWaiter
    }
    // The timer may be done before there is anybody whom it could wake: so the time is looked at then, too.
    let end = ContinuousClock.now + time
    let timer = Task {
      try? await Task.sleep(until: end, clock: .continuous)
      wake(id)
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.isClosed || state.notices != notices || Task.isCancelled || ContinuousClock.now >= end {
            return true
          }
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
