import Glibc
import MediaCore

/// Wakes a thread that waits in poll(2): two connected sockets, of which the thread waits at one and anybody writes a byte into the
/// other. Any thread may wake.
public struct Waker: ~Copyable, Sendable {
  /// What the thread waits at, for POLLIN; it never blocks.
  public let descriptor: Int32
  private let other: Int32

  /// Nil when there are no descriptors left.
  public init?() {
    guard let pair = UnixSocket.pair() else { return nil }
    (descriptor, other) = (pair.reader, pair.writer)
  }

  deinit {
    close(descriptor)
    close(other)
  }

  /// Wakes the thread. Never waits.
  public borrowing func wake() {
    // When it is full, the thread is being woken already.
    var byte: UInt8 = 0
    _ = send(other, &byte, 1, Int32(MSG_NOSIGNAL))
  }

  /// Waits at nothing else, but no longer than so (to the next millisecond), and forgets that it was woken; false when it was not.
  public borrowing func wait(atMost limit: Duration) -> Bool {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&wait, 1, Int32(clamping: limit.milliseconds + 1)) > 0 else { return false }
    clear()
    return true
  }

  /// Forgets that it was woken: the thread's, once it is awake.
  public borrowing func clear() {
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { _ = read(descriptor, $0.baseAddress, $0.count) }
  }
}
