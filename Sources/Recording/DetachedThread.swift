import Glibc

/// Threads for work that must not run on Swift's cooperative pool, which has only one thread per core: codecs, disks.
public enum DetachedThread {
  private final class Start {
    let name: String
    let body: @Sendable () -> Void
    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  /// Runs `body` on a named thread of its own, which nobody joins. When the system has no thread to give, the body runs
  /// here.
  public static func start(name: String, _ body: @escaping @Sendable () -> Void) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // libvpx and Pango want more than the small default of some systems.
    pthread_attr_setstacksize(&attributes, 4 << 20)
    var thread = pthread_t()
    let status = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        DetachedThread.nameCurrent(start.name)
        start.body()
        return nil
      }, start.toOpaque())
    if status != 0 { start.takeRetainedValue().body() }
  }

  /// Names the calling thread, for `top` and debuggers (at most 15 bytes count; proc(5), `comm`).
  private static func nameCurrent(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
  }
}
