/// Work of which somebody else decides how long it takes.
public enum TimeLimit {
  /// The work took too long.
  public struct Exceeded: Error, Hashable, Sendable {
    /// Makes the error.
    public init() {}
  }

  /// Gives what `body` gives or throws; after `limit` cancels it and throws `Exceeded`. Returns when `body` has returned: it must
  /// heed its cancellation.
  public static func run<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
      group.addTask(operation: body)
      group.addTask {
        try await Task.sleep(for: limit)
        throw Exceeded()
      }
      defer { group.cancelAll() }
      // Two tasks have been added: one of them ends first.
      guard let value = try await group.next() else { throw Exceeded() }
      return value
    }
  }
}
