import Glibc
import TLS

/// A TCP connection, encrypted by TLS or not, that carries datagrams. When the network takes no more, further ones are
/// dropped, as UDP would drop them. Confined to its loop.
final class StreamLink {
  private let loop: MediaLoop
  private let framing: StreamFraming
  private let tls: TLSSession?
  private let onDatagram: (UnsafeRawBufferPointer) -> Void
  private let onEnd: (String) -> Void
  private var descriptor: Int32
  private var input: DescriptorSource?
  private var output: DescriptorSource?
  private var deadline: LoopTimer?
  private var isConnected: Bool
  // Datagrams that came before the connection was ready.
  private var early: [[UInt8]] = []
  // What the network has not taken yet, and what is no whole datagram yet.
  private var unsent: [UInt8] = []
  private var unread: [UInt8] = []

  // Time to connect, with TLS.
  private static let connectLimit = Duration.seconds(10)
  private static let maximumEarly = 16
  private static let maximumUnsent = 128 << 10
  // Read at a time, so that what they are given on to keeps up.
  private static let readSize = 32 << 10

  /// Takes over a socket that is connected, or is being connected. `onEnd` says why it is over, once, and never from
  /// inside a call of the owner's.
  init(
    _ descriptor: Int32, isConnected: Bool, framing: StreamFraming, tls: TLSSession? = nil, on loop: MediaLoop,
    onDatagram: @escaping (UnsafeRawBufferPointer) -> Void, onEnd: @escaping (String) -> Void
  ) {
    self.loop = loop
    self.framing = framing
    self.tls = tls
    self.onDatagram = onDatagram
    self.onEnd = onEnd
    self.descriptor = descriptor
    self.isConnected = isConnected
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    input = DescriptorSource(descriptor, .input, on: loop) { [weak self] in self?.readable() }
    if !isConnected {
      watchOutput()
      deadline = loop.timer(after: Self.connectLimit) { [weak self] in self?.end("no connection within 10 s") }
    }
  }

  /// Connects to an address; nil when the system refuses at once.
  convenience init?(
    to address: SocketAddress, framing: StreamFraming, tls: TLSSession?, on loop: MediaLoop,
    onDatagram: @escaping (UnsafeRawBufferPointer) -> Void, onEnd: @escaping (String) -> Void
  ) {
    guard let descriptor = address.makeSocket(isStream: true) else { return nil }
    guard address.with({ connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS else {
      Glibc.close(descriptor)
      return nil
    }
    self.init(
      descriptor, isConnected: false, framing: framing, tls: tls, on: loop, onDatagram: onDatagram, onEnd: onEnd)
  }

  deinit { close() }

  private var isReady: Bool { isConnected && tls?.isOpen != false }

  /// Sends a datagram, or drops it when there is no room.
  func send(_ datagram: UnsafeRawBufferPointer) {
    guard descriptor >= 0 else { return }
    guard isReady else {
      if early.count < Self.maximumEarly { early.append(Array(datagram)) }
      return
    }
    guard unsent.count < Self.maximumUnsent else { return }
    append(datagram)
    flush()
  }

  /// Ends it without a word.
  func close() {
    input?.cancel()
    output?.cancel()
    deadline?.cancel()
    (input, output, deadline) = (nil, nil, nil)
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
    (early, unsent, unread) = ([], [], [])
  }

  private func end(_ reason: String) {
    guard descriptor >= 0 else { return }
    close()
    onEnd(reason)
  }

  private func append(_ datagram: UnsafeRawBufferPointer) {
    guard let tls else {
      _ = framing.append(datagram, to: &unsent)
      return
    }
    var framed: [UInt8] = []
    guard framing.append(datagram, to: &framed) else { return }
    framed.withUnsafeBytes { tls.send($0) }
    drain(tls)
  }

  // MARK: - What the socket says

  private func watchOutput() {
    guard output == nil, descriptor >= 0 else { return }
    output = DescriptorSource(descriptor, .output, on: loop) { [weak self] in self?.writable() }
  }

  private func writable() {
    output?.cancel()
    output = nil
    guard isConnected else { return connected() }
    flush()
  }

  private func connected() {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
    guard code == 0 else { return end(String(cString: strerror(code))) }
    isConnected = true
    guard tls != nil else { return becomeReady() }
    take(UnsafeRawBufferPointer(start: nil, count: 0))
  }

  private func becomeReady() {
    deadline?.cancel()
    deadline = nil
    for datagram in early { datagram.withUnsafeBytes { append($0) } }
    early = []
    flush()
  }

  private func readable() {
    guard isConnected else { return }
    withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 16) { buffer in
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 {
        take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer).prefix(count)))
      } else if count == 0 {
        end("the other side has closed it")
      } else if errno != EAGAIN, errno != EINTR {
        end(String(cString: strerror(errno)))
      }
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    guard let tls else { return read(bytes) }
    let wasOpen = tls.isOpen
    let over = tls.receive(bytes) { read($0) }
    guard descriptor >= 0 else { return }
    drain(tls)
    if !wasOpen, tls.isOpen { becomeReady() } else { flush() }
    switch over {
    case nil: break
    case .closed: end("the other side has closed it")
    case .fault(let fault): end("TLS: \(fault)")
    }
  }

  private func drain(_ tls: TLSSession) {
    let count = tls.pending
    unsent += [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      filled = tls.drain(into: UnsafeMutableRawBufferPointer(room))
    }
  }

  private func read(_ bytes: UnsafeRawBufferPointer) {
    unread.append(contentsOf: bytes)
    // A callback may close this, so the bytes are held by the call.
    let stream = unread
    var offset = 0
    let isGood = stream.withUnsafeBytes { stream in
      while descriptor >= 0 {
        switch framing.next(in: stream, from: offset) {
        case .datagram(let range, let next):
          offset = next
          if !range.isEmpty { onDatagram(UnsafeRawBufferPointer(rebasing: stream[range])) }
        case .incomplete: return true
        case .malformed: return false
        }
      }
      return true
    }
    guard descriptor >= 0 else { return }
    guard isGood else { return end("what comes is no stream of datagrams") }
    if offset > 0 { unread = Array(stream[offset...]) }
  }

  private func flush() {
    guard descriptor >= 0, !unsent.isEmpty else { return }
    let sent = unsent.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if sent > 0 { unsent.removeFirst(sent) }
    // An error shows when the socket is read.
    if !unsent.isEmpty { watchOutput() }
  }
}
