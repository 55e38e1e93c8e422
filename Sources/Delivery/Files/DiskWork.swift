import Dispatch

/// Work that blocks for the disk, away from the few threads on which tasks run.
enum DiskWork {
  /// Runs `body` on a thread that may block.
  static func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(DeliveryError) -> Value
  ) async throws(DeliveryError) -> Value {
    let result: Result<Value, DeliveryError> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        do throws(DeliveryError) {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }
}
