import CNice
import Glibc
import MediaCore
import TLS

/// A way over TCP or TLS that ICE uses like any datagram's: libnice sends to a socket of ours on this machine, and what
/// comes there goes on over a connection. So libnice has to do with UDP alone (its own TCP keeps one buffer for all streams,
/// and it has no TLS). Confined to its loop.
final class ICETunnel {
  /// Where a tunnel leads.
  struct Upstream {
    var path: NetworkPath
    var address: SocketAddress
    var framing: StreamFraming
    /// The name that the certificate must be for; nil without TLS.
    var tlsName: String?
    /// A file of authorities (PEM) instead of the system's; nil: the system's.
    var tlsAuthorities: String?
  }

  /// What the peer is to think of the way: libnice takes it for UDP's, and the peer would prefer it to a way that is.
  struct Rank {
    /// The peer's.
    var password: String
    /// Stands in the checks as PRIORITY.
    var priority: UInt32
  }

  /// Where libnice finds the tunnel.
  let address: String
  let port: UInt16
  let upstream: Upstream

  private let loop: MediaLoop
  private let isOurs: (UInt16) -> Bool
  private let rank: Rank?
  private let onEnd: (ICETunnel, String) -> Void
  private let descriptor: Int32
  private var source: DescriptorSource?
  // The one of the agent's sockets that was first to use it, and its connection; the others would lead to the same place, and
  // a relay would be asked for as many allocations.
  private var local: SocketAddress?
  private var link: StreamLink?
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var isClosed = false

  // Datagrams read at a time, so that nobody else on the loop waits.
  private static let burst = 32

  /// Opens the socket at an address of this machine; nil when the system has none. `rank` is nil on the way to a relay.
  /// `isOurs` says whether a port is one of the agent's, so that no other program uses the connection. `onEnd` says why the
  /// connection is over, once.
  init?(
    to upstream: Upstream, rank: Rank?, at address: String, on loop: MediaLoop, isOurs: @escaping (UInt16) -> Bool,
    onEnd: @escaping (ICETunnel, String) -> Void
  ) {
    guard let wanted = SocketAddress(address, port: 0), let descriptor = wanted.makeSocket(isStream: false) else {
      return nil
    }
    guard wanted.with({ bind(descriptor, $0, $1) }) == 0, let bound = SocketAddress(of: descriptor) else {
      Glibc.close(descriptor)
      return nil
    }
    self.address = address
    port = bound.port
    self.upstream = upstream
    self.rank = rank
    self.loop = loop
    self.isOurs = isOurs
    self.onEnd = onEnd
    self.descriptor = descriptor
    source = DescriptorSource(descriptor, .input, on: loop) { [weak self] in self?.readable() }
  }

  deinit { close() }

  /// Ends all connections.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    source?.cancel()
    link?.close()
    link = nil
    Glibc.close(descriptor)
  }

  private func readable() {
    for _ in 0..<Self.burst {
      var count = -1
      let sender = SocketAddress { address, length in
        count = buffer.withUnsafeMutableBytes { recvfrom(descriptor, $0.baseAddress, $0.count, 0, address, length) }
        return count >= 0
      }
      guard count >= 0, !isClosed else { return }
      guard let sender, sender == local || open(to: sender), let link else { continue }
      buffer.withUnsafeBytes { bytes in
        let datagram = UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
        if !sendRanked(datagram, over: link) { link.send(datagram) }
      }
    }
  }

  /// Sends a check with the priority that the way has; false when it is none.
  private func sendRanked(_ datagram: UnsafeRawBufferPointer, over link: StreamLink) -> Bool {
    guard let rank, datagram.count >= 20, datagram.first == 0 else { return false }
    return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 4) { room in
      let length = cnice_ranked(
        datagram.baseAddress, datagram.count, rank.password, rank.priority, room.baseAddress, room.count)
      guard length > 0 else { return false }
      link.send(UnsafeRawBufferPointer(rebasing: room.prefix(length)))
      return true
    }
  }

  /// Connects for the agent's first datagram; false for anybody else's.
  private func open(to sender: SocketAddress) -> Bool {
    guard local == nil, isOurs(sender.port) else { return false }
    local = sender
    do {
      let tls = try upstream.tlsName.map { name in
        try TLSSession(
          TLSContext(authorities: upstream.tlsAuthorities), host: name, isNumeric: NameResolver.isNumeric(name))
      }
      link = StreamLink(
        to: upstream.address, framing: upstream.framing, tls: tls, on: loop,
        onDatagram: { [weak self] datagram in self?.deliver(datagram) },
        onEnd: { [weak self] reason in self?.fail(reason) })
      if link == nil { fail(String(cString: strerror(errno))) }
    } catch {
      fail("\(error)")
    }
    return link != nil
  }

  private func deliver(_ datagram: UnsafeRawBufferPointer) {
    guard let local, !isClosed else { return }
    _ = local.with { sendto(descriptor, datagram.baseAddress, datagram.count, 0, $0, $1) }
  }

  /// It is not opened again: ICE finds that the way is dead, and another agent will try anew.
  private func fail(_ reason: String) {
    guard !isClosed else { return }
    link = nil
    onEnd(self, reason)
  }
}
