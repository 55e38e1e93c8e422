import Synchronization

/// A value that comes once; everybody can wait for it. The first result stays. Any thread.
public final class Promise<Value: Sendable>: Sendable {
  private struct State {
    var result: Result<Value, any Error>?
    var waiters: [CheckedContinuation<Value, any Error>] = []
  }

  private let state = Mutex(State())

  /// Nothing has come yet.
  public init() {}

  /// The value, or why there will be none. Only the first counts.
  public func complete(_ result: Result<Value, any Error>) {
    let waiters = state.withLock { state in
      guard state.result == nil else { return [CheckedContinuation<Value, any Error>]() }
      state.result = result
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(with: result) }
  }

  /// Waits for the value. Throws what `complete` was given in its place.
  public var value: Value {
    get async throws {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state in
          if state.result == nil { state.waiters.append(continuation) }
          return state.result
        }
        if let result { continuation.resume(with: result) }
      }
    }
  }
}
