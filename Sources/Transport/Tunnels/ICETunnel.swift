import Glibc
import MediaCore

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
    /// See `MediaTransport.Configuration.tlsAuthorities`.
    var tlsAuthorities: String?
    /// How many sockets of the agent may use it, each by a connection of its own.
    var maximumLinks: Int
  }

  /// Where libnice finds the tunnel.
  let address: String
  let port: UInt16
  let upstream: Upstream

  private let loop: MediaLoop
  private let isOurs: (UInt16) -> Bool
  private let onEnd: (ICETunnel, String) -> Void
  private let descriptor: Int32
  private var source: DescriptorSource?
  private var links: [(local: SocketAddress, link: StreamLink)] = []
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var isClosed = false
  private var hasFailed = false

  // Datagrams read at a time, so that nobody else on the loop waits.
  private static let burst = 32

  /// Opens the socket at an address of this machine; nil when the system has none. `isOurs` says whether a port is one of the agent's,
  /// so that no other program uses the connection. `onEnd` says why the first connection that ended is over.
  init?(
    to upstream: Upstream, at address: String, on loop: MediaLoop, isOurs: @escaping (UInt16) -> Bool,
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
    for entry in links { entry.link.close() }
    links = []
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
      guard let sender, let link = link(of: sender) else { continue }
      buffer.withUnsafeBytes { link.send(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
    }
  }

  /// The connection of one of the agent's sockets; made for its first datagram.
  private func link(of local: SocketAddress) -> StreamLink? {
    if let known = links.first(where: { $0.local == local }) { return known.link }
    guard !hasFailed, links.count < upstream.maximumLinks, isOurs(local.port) else { return nil }
    do {
      let tls = try upstream.tlsName.map { name throws(TransportError) in
        try TLSClient(host: name, authorities: upstream.tlsAuthorities)
      }
      let made = StreamLink(
        to: upstream.address, framing: upstream.framing, tls: tls, on: loop,
        onDatagram: { [weak self] datagram in self?.deliver(datagram, to: local) },
        onEnd: { [weak self] reason in self?.fail(reason) })
      guard let made else {
        fail(String(cString: strerror(errno)))
        return nil
      }
      links.append((local, made))
      return made
    } catch {
      fail("\(error)")
      return nil
    }
  }

  private func deliver(_ datagram: UnsafeRawBufferPointer, to local: SocketAddress) {
    guard !isClosed else { return }
    _ = local.with { sendto(descriptor, datagram.baseAddress, datagram.count, 0, $0, $1) }
  }

  /// No further connections are made: ICE finds that the way is dead, and another agent will try anew.
  private func fail(_ reason: String) {
    guard !isClosed, !hasFailed else { return }
    hasFailed = true
    onEnd(self, reason)
  }
}
