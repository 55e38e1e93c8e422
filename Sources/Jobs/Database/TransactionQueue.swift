import Dispatch
import Platform
import Synchronization

/// Transactions that wait for a database thread. Bounded: a backend that can't keep up says so instead of growing.
final class TransactionQueue: Sendable {
  /// One transaction, and who waits for it.
  struct Entry: Sendable {
    /// Runs the caller's work and keeps its result; throws what the caller's work throws.
    var run: @Sendable (any SQLConnection) throws -> Void
    /// Tells the caller: the result that was kept (nil), or the error.
    var finish: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  private let limit: Int
  // A semaphore counts the entries, so that threads sleep without a lock.
  private let semaphore = DispatchSemaphore(value: 0)

  init(limit: Int) { self.limit = limit }

  /// Starts threads that serve the queue. When the system has none to give, the queue closes: everybody is refused, and
  /// nobody waits for ever.
  func serve(name: String, threads: Int = 1, _ body: @escaping @Sendable () -> Void) {
    let started = (0..<max(1, threads)).count { DetachedThread.isStarted(name: "\(name)-\($0)", body) }
    if started == 0 { close() }
  }

  /// Puts a transaction in and waits for its result.
  func run<Value: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> Value) async throws -> Value {
    let result = Result<Value>()
    return try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      let entry = Entry(
        run: { connection in try result.set(body(connection)) },
        finish: { error in
          if let error { return continuation.resume(throwing: error) }
          guard let value = result.get() else { return continuation.resume(throwing: SQLError.closed) }
          continuation.resume(returning: value)
        })
      if let refusal = put(entry) { continuation.resume(throwing: refusal) }
    }
  }

  private func put(_ entry: Entry) -> SQLError? {
    let refusal: SQLError? = state.withLock { state in
      if state.isClosed { return .closed }
      if state.entries.count >= limit { return .unavailable("too many requests wait") }
      state.entries.append(entry)
      return nil
    }
    if refusal == nil { semaphore.signal() }
    return refusal
  }

  /// Waits for transactions and takes up to `most`; nil when the queue was closed and is empty.
  func take(most: Int) -> [Entry]? {
    while true {
      semaphore.wait()
      let (taken, isClosed) = state.withLock { state in
        let taken = Array(state.entries.prefix(most))
        state.entries.removeFirst(taken.count)
        return (taken, state.isClosed)
      }
      // Each entry posted once; the first was waited for, the others must be waited for too.
      for _ in taken.dropFirst() { _ = semaphore.wait(timeout: .now()) }
      if !taken.isEmpty { return taken }
      if isClosed {
        semaphore.signal()
        return nil
      }
    }
  }

  /// Refuses everything from now on; what waits fails.
  func close() {
    let entries = state.withLock { state in
      state.isClosed = true
      defer { state.entries = [] }
      return state.entries
    }
    semaphore.signal()
    for entry in entries { entry.finish(SQLError.closed) }
  }

  /// A place for a value that is made on one thread and read on another afterwards.
  private final class Result<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    func set(_ new: Value) { value.withLock { $0 = new } }
    func get() -> Value? { value.withLock { $0 } }
  }
}
