import Synchronization

/// Lets the workers that wait for a job look for one after another. A job that becomes free begins a round: it wakes the worker
/// that has waited longest, and the next one looks only if that one may have left something. So a new job costs one look, however
/// many workers wait. Any thread.
final class ClaimTurns: Sendable {
  /// Whose turn it can be in a round: of those only who waited when it began, so that each is woken once at most.
  struct Round: Sendable {
    fileprivate let end: UInt64
  }

  private struct State {
    var rounds: UInt64 = 0
    var isClosed = false
    var nextNumber: UInt64 = 0
    /// The longest waiting first.
    var waiters: [(number: UInt64, continuation: CheckedContinuation<Round?, Never>)] = []

    mutating func remove(_ number: UInt64) -> CheckedContinuation<Round?, Never>? {
      waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0).continuation }
    }
  }

  private let state = Mutex(State())

  /// How many rounds have begun: taken before looking, so that what becomes free meanwhile is not missed.
  var rounds: UInt64 { state.withLock { $0.rounds } }
  /// How many wait.
  var waiting: Int { state.withLock { $0.waiters.count } }
  /// True when nobody is held any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// A job may have become free.
  func begin() {
    let round = state.withLock { state in
      state.rounds &+= 1
      return Round(end: state.nextNumber)
    }
    goOn(round)
  }

  /// Whoever was woken in a round has looked, or could not, and may have left something: it is the next one's turn.
  func goOn(_ round: Round) {
    let next = state.withLock { state -> CheckedContinuation<Round?, Never>? in
      guard let first = state.waiters.first, first.number < round.end else { return nil }
      return state.waiters.removeFirst().continuation
    }
    next?.resume(returning: round)
  }

  /// Wakes everybody, now and for ever.
  func close() {
    let woken = state.withLock { state in
      state.isClosed = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in woken { waiter.continuation.resume(returning: nil) }
  }

  /// Waits until it is this worker's turn, and gives the round, with which `goOn` is to be called; at most for so long, and not at
  /// all when a round has begun after so many `rounds`. Nil: the time is over, or nobody is held any more.
  func wait(since rounds: UInt64, atMost time: Duration) async -> Round? {
    let number = state.withLock { state in
      defer { state.nextNumber &+= 1 }
      return state.nextNumber
    }
    // The timer may be done before there is anybody whom it could wake: so the time is looked at then, too.
    let end = ContinuousClock.now + time
    let timer = Task {
      try? await Task.sleep(until: end, clock: .continuous)
      giveUp(number)
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.isClosed || Task.isCancelled || ContinuousClock.now >= end { return true }
          // It has looked too early for that round, and may have missed what it was about.
          if state.rounds != rounds { return true }
          state.waiters.append((number, continuation))
          return false
        }
        if isOver { continuation.resume(returning: nil) }
      }
    } onCancel: {
      giveUp(number)
    }
  }

  private func giveUp(_ number: UInt64) { state.withLock { $0.remove(number) }?.resume(returning: nil) }
}
