import Glibc

/// A named thread that runs one function to its end. Codecs never run on Swift's cooperative pool, which has only one
/// thread per core.
struct RecordingThread {
  private let name: String
  private let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }

  /// Starts the thread; nobody joins it. When the system has no thread to give, the body runs here.
  func start() {
    final class Box {
      let name: String
      let body: @Sendable () -> Void
      init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
      }
    }
    let box = Unmanaged.passRetained(Box(name: name, body: body))
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
        let box = Unmanaged<Box>.fromOpaque(context).takeRetainedValue()
        RecordingThread.nameCurrent(box.name)
        box.body()
        return nil
      }, box.toOpaque())
    if status != 0 { box.takeRetainedValue().body() }
  }

  /// Names the calling thread, for `top` and debuggers (at most 15 bytes count; proc(5), `comm`).
  private static func nameCurrent(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
  }
}
