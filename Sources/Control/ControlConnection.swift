import Glibc
import MediaCore
import Platform

/// One client of a control socket: bytes in, lines out. Confined to the control thread. Everything is bounded.
struct ControlConnection: ~Copyable {
  /// The longest line of a request.
  static let longestLine = 16_384
  /// What may wait for a client that does not read.
  static let longestBacklog = 262_144
  /// A client must ask for something, or finish a line that it began, within this time; listeners may stay.
  static let patience = Duration.seconds(60)

  let descriptor: Int32
  /// True for a client that is told of events.
  var isSubscribed = false
  /// When the client last did something sensible.
  private(set) var lastSign: Instant
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var sent = 0
  /// True when nothing more is read: the rest goes out, then it is closed.
  private(set) var isClosing = false

  init(descriptor: Int32, now: Instant) {
    self.descriptor = descriptor
    lastSign = now
    UnixSocket.setNonBlocking(descriptor)
  }

  deinit { close(descriptor) }

  /// True while something waits to go out.
  var wantsToWrite: Bool { sent < output.count }
  /// False while the client asks for more than it reads.
  var wantsToRead: Bool { !isClosing && output.count - sent < Self.longestBacklog / 4 }

  /// True while a whole line was received that nobody has taken.
  var hasLine: Bool { input.contains(UInt8(ascii: "\n")) }

  /// True when the client is to be let go.
  func isOver(at now: Instant) -> Bool {
    if isClosing, !wantsToWrite { return true }
    return now - lastSign > Self.patience && !(isSubscribed && input.isEmpty)
  }

  /// Reads what is there. False when the client has gone.
  mutating func receive() -> Bool {
    guard wantsToRead else { return true }
    let count = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
      let count = read(descriptor, room.baseAddress, room.count)
      if count > 0 { input.append(contentsOf: room[..<count]) }
      return count
    }
    if count > 0 { return true }
    return count < 0 && (errno == EAGAIN || errno == EINTR)
  }

  /// Takes the next whole line that was received, without its end. A line that is too long ends the connection.
  mutating func nextLine(at now: Instant) -> [UInt8]? {
    guard let end = input.firstIndex(of: UInt8(ascii: "\n")) else {
      if input.count > Self.longestLine {
        input = []
        put(ControlAnswer.refused("a request has more than \(Self.longestLine) bytes").line)
        isClosing = true
      }
      return nil
    }
    let line = Array(input[..<end])
    input.removeFirst(end + 1)
    lastSign = now
    return line
  }

  /// Puts bytes on the way. A listener that does not read is let go.
  mutating func put(_ bytes: [UInt8]) {
    if sent > 0 {
      output.removeFirst(sent)
      sent = 0
    }
    guard output.count + bytes.count <= Self.longestBacklog else {
      output = []
      isClosing = true
      return
    }
    output += bytes
  }

  /// Sends what the client takes. False when it has gone.
  mutating func flush() -> Bool {
    while wantsToWrite {
      let count = output.withUnsafeBytes {
        send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      if count < 0 { return errno == EAGAIN }
      sent += count
    }
    output.removeAll(keepingCapacity: true)
    sent = 0
    return true
  }
}
