/// The way that media take between this machine and the peer, as ICE has chosen it.
public struct NetworkPath: Hashable, Sendable, CustomStringConvertible {
  /// What carries the packets.
  public enum Carrier: String, Sendable, Hashable, CaseIterable {
    /// Datagrams to the peer.
    case udp = "UDP"
    /// A connection to the peer (RFC 6544).
    case tcp = "TCP"
    /// A relay that is reached by datagrams (RFC 8656).
    case relayUDP = "TURN over UDP"
    /// A relay that is reached by a connection.
    case relayTCP = "TURN over TCP"
    /// A relay that is reached by an encrypted connection.
    case relayTLS = "TURN over TLS"
  }

  /// What carries the packets.
  public var carrier: Carrier
  /// Host and port of the peer, or of the relay: `203.0.113.7:7881`, `[2001:db8::1]:3478`, `turn.example.org:443`.
  public var address: String

  /// Makes a path; see the properties.
  public init(_ carrier: Carrier, _ address: String) {
    self.carrier = carrier
    self.address = address
  }

  /// Makes a path to a host, which may be an IPv6 address, and a port.
  public init(_ carrier: Carrier, host: String, port: UInt16) {
    self.init(carrier, host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
  }

  /// `TURN over TLS, turn.example.org:443`.
  public var description: String { "\(carrier.rawValue), \(address)" }
}
