import Dispatch

/// Work that waits for disks: not on Swift's cooperative pool, which has one thread a core.
enum Blocking {
  private static let queue = DispatchQueue(label: "recbot.worker.disk", attributes: .concurrent)

  /// Runs `body` on a thread that may block, and waits for what it gives.
  static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
  }
}
