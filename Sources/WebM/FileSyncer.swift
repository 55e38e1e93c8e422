import Glibc
import MediaCore
import Platform
import Synchronization

// Sendable: `stopping` and `dirty` are guarded by the mutex, `failure` is atomic, `pace` is the thread's alone, the rest is set before
// the thread starts and never changed.
/// Makes a file's content durable once a second on a thread of its own, so that a slow disk holds up nobody else. A file that hardly
/// grows, for nobody sends anything, waits longer: the disk then sleeps too. After a power cut at most about a second is missing, or a
/// few of those in which nothing happened.
final class FileSyncer: @unchecked Sendable {
  /// First error number of a failed `fdatasync`; 0 while all went well. Any thread.
  var failureNumber: Int32 { failure.load(ordering: .relaxed) }

  private let failure = Atomic<Int32>(0)
  private let descriptor: Int32
  private let interval: Duration
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var stopping = false
  private var dirty = false
  private var pace = SyncPace()

  private init(descriptor: Int32, interval: Duration) {
    self.descriptor = descriptor
    self.interval = interval
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    close(descriptor)
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Starts syncing a file, through a descriptor of its own. Nil when the system has no thread or descriptor left: the
  /// recording then goes on without.
  static func start(descriptor: Int32, interval: Duration = .seconds(1)) -> FileSyncer? {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return nil }
    let syncer = FileSyncer(descriptor: copy, interval: interval)
    // Never joined: a disk that hangs must not hang whoever lets go of the file. The thread owns what it uses.
    return DetachedThread.isStarted(name: "file sync") { syncer.run() } ? syncer : nil
  }

  /// Says that there is something new to sync. Any thread.
  func markDirty() {
    pthread_mutex_lock(mutex)
    dirty = true
    pthread_mutex_unlock(mutex)
  }

  /// Ends the thread as soon as a sync that is under way returns. Does not wait. Any thread.
  func stop() {
    pthread_mutex_lock(mutex)
    stopping = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  private func run() {
    pthread_mutex_lock(mutex)
    while !stopping {
      var deadline = (MonotonicClock.now + interval).timespec
      while !stopping, pthread_cond_timedwait(condition, mutex, &deadline) != ETIMEDOUT {}
      guard dirty, !stopping else { continue }
      dirty = false
      // Whatever asks the disk may hang, and must not hold up who marks.
      pthread_mutex_unlock(mutex)
      let isDue = isDue()
      if isDue { sync() }
      pthread_mutex_lock(mutex)
      if !isDue { dirty = true }
    }
    pthread_mutex_unlock(mutex)
  }

  private func sync() {
    while fdatasync(descriptor) != 0 {
      guard errno == EINTR else {
        _ = failure.compareExchange(expected: 0, desired: errno, ordering: .relaxed)
        return
      }
    }
  }

  private func isDue() -> Bool {
    var status = stat()
    return fstat(descriptor, &status) != 0 || pace.isDue(size: Int64(status.st_size))
  }
}

/// Which intervals a file is synced in. A value.
struct SyncPace {
  /// Of a file that has grown by fewer bytes, so many intervals are synced at once.
  static let little: Int64 = 4096, mostCalm = 4

  private var size: Int64 = 0
  private var calm = 0

  /// Whether a file of this size is synced at the end of an interval in which it changed.
  mutating func isDue(size now: Int64) -> Bool {
    calm += 1
    guard now - size >= Self.little || calm >= Self.mostCalm else { return false }
    (size, calm) = (now, 0)
    return true
  }
}
