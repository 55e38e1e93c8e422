extension MediaTransport {
  /// What is decided before a transport is made.
  public struct Configuration: Sendable {
    /// STUN and TURN servers.
    public var iceServers: [ICEServer]
    /// Which candidates may be used.
    public var policy: ICETransportPolicy
    /// True for the controlling ICE agent (normally the offerer; RFC 8445 section 6.1.1).
    public var isControlling: Bool
    /// Addresses to gather on, such as `["127.0.0.1"]`. Nil: those of all interfaces that are up, see
    /// `includeLoopback`.
    public var localAddresses: [String]?
    /// With `localAddresses` nil, gathers on 127.0.0.1 too, so that a server on the same machine is reached. That
    /// candidate is told to the peer only when there is no other one.
    public var includeLoopback: Bool
    /// UDP ports to use for host candidates; nil leaves the choice to the system. A restart needs a second port for
    /// each address for a moment.
    public var portRange: ClosedRange<UInt16>?
    /// A file of certificates in PEM that relays over TLS are checked against in place of the system's; nil: the
    /// system's.
    public var tlsAuthorities: String?
    /// Where peers reach this transport over TCP (RFC 6544); nil: they don't.
    public var listener: ICEListener?
    /// Bytes of the largest datagram (UDP payload) that DTLS and SCTP may send. RTP is not cut.
    public var mtu: Int
    /// SRTP profiles to offer or accept, best first.
    public var srtpProfiles: [SRTPProfile]

    /// Makes a configuration; see the properties.
    public init(
      iceServers: [ICEServer] = [], policy: ICETransportPolicy = .all, isControlling: Bool,
      localAddresses: [String]? = nil, includeLoopback: Bool = true, portRange: ClosedRange<UInt16>? = nil,
      tlsAuthorities: String? = nil, listener: ICEListener? = nil, mtu: Int = 1200,
      srtpProfiles: [SRTPProfile] = SRTPProfile.allCases
    ) {
      self.iceServers = iceServers
      self.policy = policy
      self.isControlling = isControlling
      self.localAddresses = localAddresses
      self.includeLoopback = includeLoopback
      self.portRange = portRange
      self.tlsAuthorities = tlsAuthorities
      self.listener = listener
      self.mtu = mtu
      self.srtpProfiles = srtpProfiles
    }
  }
}
