import CNice
import Glibc
import Synchronization

/// A TCP port at which peers reach this machine's ICE agents (RFC 6544): who connects says in the first check which
/// agent is meant. Each connection goes on to that agent's own socket, as datagrams. `Sendable`: what several threads
/// use is in `agents`, the rest is confined to the loop.
public final class ICEListener: @unchecked Sendable {
  /// The port that peers connect to.
  public let port: UInt16
  private let loop: MediaLoop
  private let descriptor: Int32
  private var source: DescriptorSource?
  private var sweep: LoopTimer?
  private var connections: [ObjectIdentifier: Connection] = [:]
  private var accepted = 0
  private let agents = Mutex<[String: SocketAddress]>([:])

  // Connections in all, those for one agent (a peer makes one for each of its addresses), and those that have not said whom
  // they want.
  private static let maximumConnections = 1024
  private static let maximumForAgent = 8
  private static let maximumUnknown = 64
  // Time for the first check.
  private static let introductionLimit = Duration.seconds(5)
  // A peer from which nothing comes for that long, at most twice, has gone without a word: checks of consent come each
  // few seconds (RFC 7675 section 5.1).
  private static let silenceLimit = Duration.seconds(30)

  /// Listens on a numeric address; port 0 leaves the choice to the system. Nil when the system refuses.
  public init?(loop: MediaLoop, address: String, port: UInt16) {
    guard let wanted = SocketAddress(address, port: port), let descriptor = wanted.makeSocket(isStream: true) else {
      return nil
    }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard wanted.with({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, 128) == 0,
      let bound = SocketAddress(of: descriptor)
    else {
      Glibc.close(descriptor)
      return nil
    }
    self.port = bound.port
    self.loop = loop
    self.descriptor = descriptor
    loop.post { [self] in
      source = DescriptorSource(descriptor, .input, on: loop) { [weak self] in self?.accept() }
      sweep = loop.timer(after: Self.silenceLimit, repeats: true) { [weak self] in self?.dropSilent() }
    }
  }

  deinit { Glibc.close(descriptor) }

  /// Ends all connections and takes no more; when it returns, it is done. Any thread but the loop's after its end.
  public func close() {
    loop.sync { [self] in
      source?.cancel()
      sweep?.cancel()
      (source, sweep) = (nil, nil)
      shutdown(descriptor, Int32(SHUT_RDWR))
      for connection in connections.values { connection.close() }
      connections = [:]
    }
  }

  /// Leads connections for an agent to one of its sockets.
  func add(ufrag: String, address: String, port: UInt16) {
    guard let socket = SocketAddress(address, port: port) else { return }
    agents.withLock { $0[ufrag] = socket }
  }

  /// Takes no further connections for an agent.
  func remove(ufrag: String) {
    agents.withLock { _ = $0.removeValue(forKey: ufrag) }
  }

  private func accept() {
    while let taken = take() {
      let unknown = connections.values.filter { !$0.isKnown }
      if connections.count >= Self.maximumConnections || unknown.count >= Self.maximumUnknown {
        // The oldest stranger makes room; without strangers there is none.
        guard let oldest = unknown.min(by: { $0.number < $1.number }) else {
          Glibc.close(taken)
          continue
        }
        drop(oldest)
      }
      accepted += 1
      let made = Connection(
        taken, number: accepted, on: loop, find: { [weak self] ufrag in self?.place(for: ufrag) },
        onEnd: { [weak self] in self?.drop($0) })
      connections[ObjectIdentifier(made)] = made
      loop.timer(after: Self.introductionLimit) { [weak self, weak made] in
        if let made, !made.isKnown { self?.drop(made) }
      }
    }
  }

  /// The socket of an agent, as long as it has room for another connection.
  private func place(for ufrag: String) -> SocketAddress? {
    guard connections.values.count(where: { $0.ufrag == ufrag }) < Self.maximumForAgent else { return nil }
    return agents.withLock { $0[ufrag] }
  }

  private func take() -> Int32? {
    let taken = cnice_accept(descriptor)
    return taken < 0 ? nil : taken
  }

  private func dropSilent() {
    for connection in connections.values where !connection.takeHeard() { drop(connection) }
  }

  private func drop(_ connection: Connection) {
    connection.close()
    connections[ObjectIdentifier(connection)] = nil
  }

  /// One peer's connection, and the socket by which it reaches the agent.
  private final class Connection {
    /// The how manieth it is.
    let number: Int
    /// Whom the peer wants; nil until it has said so.
    private(set) var ufrag: String?
    var isKnown: Bool { ufrag != nil }
    /// True when something has come from the peer since the last look.
    private var isHeard = true
    private let onEnd: (Connection) -> Void
    private var link: StreamLink?
    private var socket: Int32 = -1
    private var source: DescriptorSource?
    private var buffer: [UInt8] = []
    private let loop: MediaLoop

    init(
      _ descriptor: Int32, number: Int, on loop: MediaLoop, find: @escaping (String) -> SocketAddress?,
      onEnd: @escaping (Connection) -> Void
    ) {
      self.number = number
      self.loop = loop
      self.onEnd = onEnd
      link = StreamLink(
        descriptor, isConnected: true, framing: .length, on: loop,
        onDatagram: { [weak self] datagram in
          guard let self else { return }
          isHeard = true
          if !isKnown, !introduce(datagram, find) { return onEnd(self) }
          _ = send(socket, datagram.baseAddress, datagram.count, 0)
        },
        onEnd: { [weak self] _ in
          if let self { onEnd(self) }
        })
    }

    deinit { close() }

    func close() {
      link?.close()
      source?.cancel()
      (link, source) = (nil, nil)
      if socket >= 0 { Glibc.close(socket) }
      socket = -1
    }

    /// Whether something has come from the peer since it was last asked.
    func takeHeard() -> Bool {
      defer { isHeard = false }
      return isHeard
    }

    /// Reads whom the peer wants; false when that can't be known, or is nobody.
    private func introduce(_ datagram: UnsafeRawBufferPointer, _ find: (String) -> SocketAddress?) -> Bool {
      guard let ufrag = BindingRequest.localUfrag(datagram), let agent = find(ufrag),
        let made = agent.makeSocket(isStream: false)
      else { return false }
      socket = made
      guard agent.with({ connect(made, $0, $1) }) == 0 else { return false }
      self.ufrag = ufrag
      buffer = [UInt8](repeating: 0, count: 65_536)
      source = DescriptorSource(made, .input, on: loop) { [weak self] in self?.readable() }
      return true
    }

    private func readable() {
      for _ in 0..<32 {
        let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
        if count < 0, errno == ECONNREFUSED {
          // The agent is gone.
          onEnd(self)
          return
        }
        guard count >= 0, let link else { return }
        buffer.withUnsafeBytes { link.send(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
      }
    }
  }
}
