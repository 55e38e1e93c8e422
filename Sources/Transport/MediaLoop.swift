import CNice
import Glibc
import MediaCore
import Platform
import Synchronization

// Sendable: what several threads touch is in `queue` (a lock); the rest is set before the thread starts or only
// touched on the loop's thread.
/// A thread of its own with a private GLib main context. All state of ICE, DTLS, SRTP, RTP and RTCP is confined to one.
public final class MediaLoop: @unchecked Sendable {
  private struct Queue: ~Copyable {
    var work: [@Sendable () -> Void] = []
    var closed = false
    // Until it is joined or detached.
    var thread: NamedThread?
  }

  let context: OpaquePointer
  private let queue = Mutex(Queue())
  private var wakeSource: UnsafeMutablePointer<GSource>
  private var stopping = false
  private var closings = 0
  private var stopDeadline = Instant.distantPast
  private var draining: [@Sendable () -> Void] = []
  private var timers = TimerQueue()
  private var timerSource: UnsafeMutablePointer<GSource>
  private var hasEnded = false
  private let rest: Duration
  // Given when the thread has ended; taken by who then works in its place.
  private let ended = Signal()

  /// Starts the thread. The first 15 bytes of `name` are its name in the system's lists. With a `rest` it goes back to waiting no sooner
  /// than so long after it did last: what comes meanwhile, datagrams, work and timers, is late by that at most, and taken together. A wake
  /// costs more than a packet.
  public init(name: String, rest: Duration = .zero) {
    ignoreBrokenPipes()
    self.rest = rest
    context = g_main_context_new()
    wakeSource = cnice_source_new()
    timerSource = cnice_source_new()
    // Unretained: the thread keeps the loop while it runs, and nothing dispatches afterwards.
    let me = Unmanaged.passUnretained(self).toOpaque()
    g_source_set_callback(
      wakeSource,
      { data in
        guard let data else { return gboolean(0) }
        Unmanaged<MediaLoop>.fromOpaque(data).takeUnretainedValue().drain()
        return gboolean(1)
      }, me, nil)
    g_source_set_callback(
      timerSource,
      { data in
        guard let data else { return gboolean(0) }
        Unmanaged<MediaLoop>.fromOpaque(data).takeUnretainedValue().fireTimers()
        return gboolean(1)
      }, me, nil)
    for source in [wakeSource, timerSource] { g_source_attach(source, context) }
    // Without a thread nothing can work at all; the process has met its limit of threads.
    let isStarted = queue.withLock { queue in
      queue.thread = NamedThread(name) { [self] in run() }
      return queue.thread != nil
    }
    precondition(isStarted, "the system has no thread for the loop \(name)")
  }

  deinit {
    for source in [wakeSource, timerSource] {
      g_source_destroy(source)
      g_source_unref(source)
    }
    g_main_context_unref(context)
  }

  /// Runs work on the loop, in the order of posting. Any thread. After `stop()` it is dropped.
  public func post(_ work: @escaping @Sendable () -> Void) { _ = enqueue(work) }

  /// Runs work on the loop and waits for its result. Any thread; on the loop itself it runs at once. After `stop()` the
  /// caller's thread takes the place of the loop's, which has ended by then.
  public func sync<T: Sendable, E: Error>(_ work: @escaping @Sendable () throws(E) -> T) throws(E) -> T {
    if isCurrent { return try work() }
    let outcome = Outcome<T, E>()
    let accepted = enqueue {
      do throws(E) { outcome.finish(.success(try work())) } catch { outcome.finish(.failure(error)) }
    }
    if accepted, let result = outcome.wait() { return try result.get() }
    ended.wait()
    g_main_context_acquire(context)
    defer {
      g_main_context_release(context)
      ended.signal()
    }
    return try work()
  }

  /// True on the loop's thread, and on the one that works in its place after the end.
  public var isCurrent: Bool { g_main_context_is_owner(context) != 0 }

  /// Stops a debug build that is not on the loop's thread: at the doors of what is confined to it. Optimized builds don't
  /// look.
  @inlinable
  public func assertIsCurrent() { assert(isCurrent, "this belongs to its loop's thread") }

  /// Calls `fire` after that time, once or again and again; to the millisecond. What repeats each second or less often begins up to a
  /// second sooner, at a whole second of the clock. Loop thread only.
  @discardableResult
  public func timer(after interval: Duration, repeats: Bool = false, _ fire: @escaping () -> Void) -> LoopTimer {
    assertIsCurrent()
    let now = MonotonicClock.now
    let timer = LoopTimer(interval: interval, repeats: repeats, now: now, fire: fire)
    if hasEnded {
      timer.cancel()
    } else {
      timers.add(timer)
      if timers.next === timer { armTimers() }
    }
    return timer
  }

  /// Does what was posted before, gives closing transports up to a second to free their relays, ends the thread and
  /// waits for it (unless called on the loop itself). Harmless when called again.
  public func stop() {
    let first = queue.withLock { queue in
      guard !queue.closed else { return false }
      queue.work.append { [unowned self] in self.beginStopping() }
      queue.closed = true
      return true
    }
    if first { cnice_source_tell(wakeSource, context) }
    guard let thread = queue.withLock({ $0.thread.take() }) else { return }
    if isCurrent { thread.detach() } else { thread.join() }
  }

  // Closing of an ICE agent goes on after `close()` has returned; the loop must not end before it.
  func closingBegan() { closings += 1 }
  func closingEnded() { closings -= 1 }

  private func enqueue(_ work: @escaping @Sendable () -> Void) -> Bool {
    let state = queue.withLock { queue -> (accepted: Bool, wake: Bool) in
      guard !queue.closed else { return (false, false) }
      queue.work.append(work)
      return (true, queue.work.count == 1)
    }
    if state.wake { cnice_source_tell(wakeSource, context) }
    return state.accepted
  }

  private func drain() {
    queue.withLock { swap(&$0.work, &draining) }
    for work in draining { work() }
    draining.removeAll(keepingCapacity: true)
  }

  private func fireTimers() {
    // Timers that these make are for the next round, so that one of zero length cannot hold the loop.
    let now = MonotonicClock.now
    while let timer = timers.takeDue(now: now) {
      guard let fire = timer.fire else { continue }
      if timer.repeats {
        timer.advance(now: now + .nanoseconds(1))
        timers.add(timer)
      } else {
        timer.cancel()
      }
      fire()
    }
    armTimers()
  }

  private func armTimers() {
    guard let due = timers.next?.due.nanoseconds else {
      return cnice_source_set_due(timerSource, -1)
    }
    // GLib counts the monotonic clock in microseconds; rounded up, so that a timer is never early.
    cnice_source_set_due(timerSource, gint64(due / 1000 + (due % 1000 == 0 ? 0 : 1)))
  }

  private func beginStopping() {
    stopping = true
    stopDeadline = MonotonicClock.now + .seconds(1)
    timer(after: .seconds(1)) {}
  }

  private func run() {
    g_main_context_acquire(context)
    g_main_context_push_thread_default(context)
    var waits = Instant.distantPast
    while !stopping || (closings > 0 && MonotonicClock.now < stopDeadline) {
      if rest > .zero { waits = MonotonicClock.sleep(until: waits + rest) }
      g_main_context_iteration(context, gboolean(1))
    }
    // Here and not in `deinit`, so that what the timers hold is let go on this thread.
    hasEnded = true
    timers.removeAll()
    g_main_context_pop_thread_default(context)
    g_main_context_release(context)
    ended.signal()
  }
}

// Writing to a TCP connection that the relay has closed must give an error, not end the process.
private let brokenPipesIgnored: Void = { signal(SIGPIPE, SIG_IGN) }()
private func ignoreBrokenPipes() { brokenPipesIgnored }
