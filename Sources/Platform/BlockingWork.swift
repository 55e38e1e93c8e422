import Dispatch

/// Work that waits for disks or names, away from Swift's cooperative pool, which has one thread per core: two calls that
/// wait would halt a machine of two.
public enum BlockingWork {
  private static let queue = DispatchQueue(label: "recbot.blocking", attributes: .concurrent)

  /// Runs `body` on a thread that may block, and waits for what it gives or throws. The task's cancellation does not end
  /// the body.
  public static func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      queue.async {
        do throws(Failure) {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }
}
