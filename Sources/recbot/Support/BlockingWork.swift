import Dispatch

/// Work that blocks (files, disks), away from the few threads on which tasks run.
enum BlockingWork {
  /// Runs `body` on a thread that may block, and waits for it.
  static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
