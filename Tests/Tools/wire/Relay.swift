import Glibc
import MediaCore
import Synchronization
import TestKit

/// Takes packets from one side to the other through a `SeededNetwork`, on one thread.
struct Relay {
  private let ends: Ends
  private let report: Report
  private var network: SeededNetwork<IPv4Packet>
  private var translation: AddressTranslation
  private var untranslated = 0
  private var line: [UInt8] = []
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

  /// Set by SIGINT and SIGTERM.
  private static let isStopping = Atomic(false)
  /// Packets taken from one side before the other gets its turn.
  private static let batch = 64
  private static let longestWait = Duration.milliseconds(200)

  init(ends: Ends, seed: UInt64, report: Report) {
    self.ends = ends
    self.report = report
    network = SeededNetwork(seed: seed)
    translation = AddressTranslation(first: ends.firstOutside, count: Ends.outsideCount)
  }

  /// Runs until it is told to end, then tells what it counted.
  mutating func run(_ script: NetworkScript, length: Duration?, takesCommands: Bool) {
    for number in [SIGINT, SIGTERM] { signal(number) { _ in Self.isStopping.store(true, ordering: .relaxed) } }
    signal(SIGPIPE, SIG_IGN)
    let start = Clock.monotonic
    network.schedule(script, at: start)
    var isOpen = true
    while isOpen, !Self.isStopping.load(ordering: .relaxed) {
      let now = Clock.monotonic
      if let length, now - start >= length { break }
      drain(at: now)
      var limit = now + Self.longestWait
      if let deadline = network.deadline { limit = min(limit, deadline) }
      if let length { limit = min(limit, start + length) }
      isOpen = wait(until: limit, takesCommands: takesCommands)
    }
    report.statistics(network, untranslated: untranslated)
    buffer.deallocate()
  }

  /// Lets everything out that is due.
  private mutating func drain(at now: Instant) {
    while let output = network.poll(at: now) {
      switch output {
      case .packet(var packet, let direction, let corruption):
        if let corruption { packet.corrupt(corruption) }
        (direction == .up ? ends.far : ends.near).write(packet.bytes)
      case .event(let event):
        if event.kind == .rebind { translation.rebind() }
        report.happened(event, outside: ends.outside(Int(translation.address &- ends.firstOutside)))
      }
    }
  }

  /// Takes what comes in; false when standard input has ended.
  private mutating func wait(until limit: Instant, takesCommands: Bool) -> Bool {
    var sources = [
      pollfd(fd: ends.near.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: ends.far.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: takesCommands ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
    ]
    let rest = max(.zero, limit - Clock.monotonic)
    guard poll(&sources, nfds_t(sources.count), Int32(truncatingIfNeeded: rest.milliseconds)) > 0 else {
      // poll(2) knows whole milliseconds only; the rest must not be spent on looking again and again.
      var time = timespec(
        tv_sec: 0, tv_nsec: Int(max(.zero, min(.milliseconds(1), limit - Clock.monotonic)).nanoseconds))
      nanosleep(&time, nil)
      return true
    }
    if sources[0].revents != 0 { take(from: ends.near, .up) }
    if sources[1].revents != 0 { take(from: ends.far, .down) }
    return sources[2].revents == 0 || takeCommands()
  }

  private mutating func take(from end: End, _ direction: Direction) {
    for _ in 0..<Self.batch {
      let count = end.read(into: buffer)
      guard count > 0 else { return }
      guard var packet = IPv4Packet(buffer[..<count]),
        direction == .up ? translation.outgoing(&packet) : translation.incoming(&packet)
      else {
        untranslated += 1
        continue
      }
      network.send(packet, count: packet.bytes.count, direction, packet.kind, at: Clock.monotonic)
    }
  }

  private mutating func takeCommands() -> Bool {
    let count = read(STDIN_FILENO, buffer.baseAddress, 4096)
    guard count > 0 else { return count < 0 && errno == EINTR }
    for byte in buffer[..<count] {
      guard byte == UInt8(ascii: "\n") else {
        if line.count < 4096 { line.append(byte) }
        continue
      }
      let text = String(decoding: line, as: UTF8.self)
      line.removeAll()
      do throws(NetworkScript.Mistake) {
        network.schedule(try NetworkScript(text), at: Clock.monotonic)
      } catch {
        report.mistake(error.description)
      }
    }
    return true
  }
}
