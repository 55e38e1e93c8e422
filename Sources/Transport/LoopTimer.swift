import CNice

/// A timer of a `MediaLoop`. Confined to the loop. It keeps running when nobody holds it; `cancel()` ends it.
public final class LoopTimer {
  // Owned by GLib's context while the timer runs; nil afterwards.
  private var source: UnsafeMutablePointer<GSource>?
  private let interval: Int64
  private let repeats: Bool
  private var due: Int64
  private var fire: (() -> Void)?

  init(context: OpaquePointer, interval: Int64, repeats: Bool, fire: @escaping () -> Void) {
    self.interval = max(0, interval)
    self.repeats = repeats
    self.fire = fire
    due = MediaLoop.now() &+ self.interval
    // The source holds one reference to this object, which `cancel()` gives back.
    let source = cnice_ready_source_new(
      { data in
        guard let data else { return gboolean(0) }
        let timer = Unmanaged<LoopTimer>.fromOpaque(data).takeUnretainedValue()
        timer.fired()
        return gboolean(1)
      }, Unmanaged.passRetained(self).toOpaque())
    self.source = source
    arm()
    g_source_attach(source, context)
  }

  /// Ends the timer; it does not fire any more. Harmless when it has ended already.
  public func cancel() {
    guard let source else { return }
    self.source = nil
    fire = nil
    g_source_destroy(source)
    g_source_unref(source)
    Unmanaged.passUnretained(self).release()
  }

  private func arm() {
    guard let source else { return }
    // GLib counts the monotonic clock in microseconds; rounded up, so that a timer is never early.
    g_source_set_ready_time(source, gint64(due / 1000 + (due % 1000 == 0 ? 0 : 1)))
  }

  private func fired() {
    guard let action = fire else { return }
    guard repeats else {
      cancel()
      action()
      return
    }
    // Keeps its beat, but does not catch up on beats that were missed.
    let now = MediaLoop.now()
    due = max(due &+ interval, now)
    arm()
    action()
  }
}
