import Glibc

/// Threads that nobody joins, for work that must not run on Swift's cooperative pool, which has only one thread per
/// core: codecs, disks.
public enum DetachedThread {
  /// A thread of the usual niceness gets three times as much as one of this.
  private static let yieldingNiceness: Int32 = 5

  /// Runs `body` on a named thread of its own. When the system has no thread to give, the body runs here.
  public static func start(name: String, _ body: @escaping @Sendable () -> Void) {
    if !isStarted(name: name, body) { body() }
  }

  /// Runs `body` on a named thread of its own. False when the system has no thread to give; the body then never runs.
  /// For bodies that only end when the caller, who would have to run them, says so. `yields`: other threads go before it when
  /// there is not enough for all.
  public static func isStarted(name: String, yields: Bool = false, _ body: @escaping @Sendable () -> Void) -> Bool {
    let run: @Sendable () -> Void = {
      // Of Linux's threads each has a niceness of its own, and 0 is the one that asks.
      _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, yieldingNiceness)
      body()
    }
    guard let thread = NamedThread(name, yields ? run : body) else { return false }
    thread.detach()
    return true
  }
}
