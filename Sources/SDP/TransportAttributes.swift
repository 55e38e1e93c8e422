/// `a=setup` (RFC 4145 section 4, RFC 8842 section 5): who begins the DTLS handshake.
public enum SetupRole: String, Hashable, Sendable {
  /// The sender of this description is the DTLS client.
  case active
  /// The sender of this description is the DTLS server.
  case passive
  /// The sender leaves the choice to the answerer; only valid in offers.
  case actpass
  /// No connection for now; treated like a missing attribute.
  case holdconn
}

/// `a=fingerprint` (RFC 8122 section 5): the hash of the certificate that DTLS will show.
public struct CertificateFingerprint: Hashable, Sendable {
  /// Hash function in lower case, such as `sha-256`.
  public var algorithm: String
  /// Upper-case hexadecimal pairs joined by colons.
  public var value: String
  /// Makes a fingerprint; the case of both parts is normalised (RFC 8122: both compare without case).
  public init(algorithm: String, value: String) {
    self.algorithm = algorithm.lowercased()
    self.value = value.uppercased()
  }
}

/// The attributes of one ICE and DTLS transport, which may stand at session or at media level
/// (RFC 8839, RFC 8842, RFC 8122).
public struct TransportAttributes: Hashable, Sendable {
  /// `a=ice-ufrag`.
  public var iceUfrag: String?
  /// `a=ice-pwd`.
  public var icePassword: String?
  /// The tokens of `a=ice-options`, such as `trickle`; unknown ones are kept and have no effect.
  public var iceOptions: [String] = []
  /// Every `a=fingerprint`, in order.
  public var fingerprints: [CertificateFingerprint] = []
  /// `a=setup`; nil when there is none.
  public var setup: SetupRole?
  /// No attribute set.
  public init() {}

  /// These attributes, with those of the session level where this level says nothing (RFC 8839 section 4.4).
  public func falling(backTo session: TransportAttributes) -> TransportAttributes {
    var result = self
    if result.iceUfrag == nil || result.icePassword == nil {
      result.iceUfrag = session.iceUfrag
      result.icePassword = session.icePassword
    }
    if result.iceOptions.isEmpty { result.iceOptions = session.iceOptions }
    if result.fingerprints.isEmpty { result.fingerprints = session.fingerprints }
    if result.setup == nil { result.setup = session.setup }
    return result
  }
}

/// One ICE candidate (RFC 8839 section 5.1), as it stands in `a=candidate` and in trickled JSON.
public struct CandidateAttribute: Hashable, Sendable, CustomStringConvertible {
  /// What the candidate is.
  public enum Kind: String, Hashable, Sendable {
    /// An address of the machine itself.
    case host
    /// The address that a STUN server saw.
    case serverReflexive = "srflx"
    /// The address that a peer saw.
    case peerReflexive = "prflx"
    /// An address on a TURN server.
    case relayed = "relay"
  }
  /// Equal for candidates of the same kind, base and server (RFC 8445 section 5.1.1.3).
  public var foundation: String
  /// 1 for RTP (and for everything with rtcp-mux), 2 for RTCP.
  public var component: Int
  /// `udp` or `tcp`, in lower case.
  public var transport: String
  /// Priority (RFC 8445 section 5.1.2).
  public var priority: UInt32
  /// IP address, or a host name (mDNS).
  public var address: String
  /// Port.
  public var port: UInt16
  /// Kind.
  public var kind: Kind
  /// What follows the type, such as `raddr 10.0.0.1 rport 9 tcptype passive`; kept as text.
  public var rest: String

  /// Makes a candidate; see the properties.
  public init(
    foundation: String, component: Int, transport: String, priority: UInt32, address: String, port: UInt16,
    kind: Kind, rest: String = ""
  ) {
    self.foundation = foundation
    self.component = component
    self.transport = transport
    self.priority = priority
    self.address = address
    self.port = port
    self.kind = kind
    self.rest = rest
  }

  /// Reads `candidate:…`, also with `a=` before it; nil when the text is not a candidate.
  public init?(_ text: some StringProtocol) {
    var line = Substring(text)
    if line.hasPrefix("a=") { line = line.dropFirst(2) }
    guard line.hasPrefix("candidate:") else { return nil }
    self.init(value: line.dropFirst(10))
  }

  /// Reads what follows `candidate:`.
  init?(value: Substring) {
    let fields = SDPText.fields(value)
    guard fields.count >= 8, fields[6] == "typ", let component = Int(fields[1]), (1...256).contains(component),
      let priority = UInt32(fields[3]), let port = UInt16(fields[5]), let kind = Kind(rawValue: String(fields[7]))
    else { return nil }
    self.init(
      foundation: String(fields[0]), component: component, transport: fields[2].lowercased(), priority: priority,
      address: String(fields[4]), port: port, kind: kind, rest: fields[8...].joined(separator: " "))
  }

  /// `candidate:…`, without `a=`.
  public var description: String { "candidate:" + value }

  var value: String {
    let head = "\(foundation) \(component) \(transport) \(priority) \(address) \(port) typ \(kind.rawValue)"
    return rest.isEmpty ? head : head + " " + rest
  }
}
