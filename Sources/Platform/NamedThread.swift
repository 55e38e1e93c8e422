import Glibc

/// A thread of the operating system, with a name. Its owner joins or detaches it, once.
public struct NamedThread: ~Copyable, Sendable {
  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void
    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  /// libvpx and Pango want more than the small default of some systems; only what is used becomes memory.
  private static let stackSize = 4 << 20

  private let thread: pthread_t

  /// Runs `body` on a new thread. Nil when the system has no thread to give; `body` is then let go without having run.
  /// The first 15 bytes of `name` are shown by `top` and debuggers.
  public init?(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, Self.stackSize)
    var thread = pthread_t()
    let status = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        NamedThread.nameCurrent(start.name)
        start.body()
        return nil
      }, start.toOpaque())
    guard status == 0 else {
      start.release()
      return nil
    }
    self.thread = thread
  }

  /// Waits until the body has returned. On any other thread.
  public consuming func join() { pthread_join(thread, nil) }

  /// Lets the thread end by itself; nobody waits for it.
  public consuming func detach() { pthread_detach(thread) }

  /// Names the calling thread (proc(5), `comm`).
  private static func nameCurrent(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
  }
}
