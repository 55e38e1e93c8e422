/// Threads that nobody joins, for work that must not run on Swift's cooperative pool, which has only one thread per
/// core: codecs, disks.
public enum DetachedThread {
  /// Runs `body` on a named thread of its own. When the system has no thread to give, the body runs here.
  public static func start(name: String, _ body: @escaping @Sendable () -> Void) {
    if !isStarted(name: name, body) { body() }
  }

  /// Runs `body` on a named thread of its own. False when the system has no thread to give; the body then never runs.
  /// For bodies that only end when the caller, who would have to run them, says so.
  public static func isStarted(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    guard let thread = NamedThread(name, body) else { return false }
    thread.detach()
    return true
  }
}
