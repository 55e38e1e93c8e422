import MediaCore

/// One STUN or TURN entry of a room's configuration (W3C `RTCIceServer`).
public struct ICEServer: Sendable, Hashable {
  /// URLs of RFC 7064 and RFC 7065: `stun:host[:port]`, `turn:host[:port][?transport=udp|tcp]`,
  /// `turns:host[:port][?transport=tcp]`. Those that cannot be used (`stuns:`, unknown schemes) are skipped.
  public var urls: [String]
  /// Long-term credential for TURN (RFC 8489 section 9.2); empty for STUN.
  public var username: String
  /// The password that belongs to `username`; empty for STUN.
  @Redacted public var credential: String
  /// Makes an entry; see the properties.
  public init(urls: [String], username: String = "", credential: String = "") {
    self.urls = urls
    self.username = username
    self.credential = credential
  }
}

/// Which candidates may be used (W3C `RTCIceTransportPolicy`).
public enum ICETransportPolicy: Sendable, Hashable {
  /// Any candidate.
  case all
  /// Relayed candidates only: peers never see this machine's addresses.
  case relay
}

/// Who begins the DTLS handshake, from `a=setup` (RFC 8842).
public enum DTLSRole: Sendable, Hashable {
  /// Not decided: the controlled ICE agent becomes the client, the controlling one the server (which is what
  /// "the answerer is active" comes to when the offerer controls).
  case auto
  /// `a=setup:active`.
  case client
  /// `a=setup:passive`.
  case server
}

/// State of a transport: ICE and DTLS taken together (W3C `RTCPeerConnectionState`).
public enum TransportState: Sendable, Hashable {
  /// Nothing is under way.
  case new
  /// ICE checks or the DTLS handshake are under way.
  case connecting
  /// Media can flow both ways.
  case connected
  /// Nothing has come from the peer for some seconds; it may come back by itself.
  case disconnected
  /// Over, unless ICE is restarted; after a failed handshake, over for good.
  case failed
  /// `close()` has been called.
  case closed
}

/// A certificate's hash, as in `a=fingerprint` (RFC 8122).
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
  /// Hash function, lower case: `sha-256`.
  public var algorithm: String
  /// Upper-case hexadecimal bytes with colons between them: `AA:BB:…`.
  public var value: String
  /// Makes a fingerprint; letters may be of either case.
  public init(algorithm: String, value: String) {
    self.algorithm = algorithm.lowercased()
    self.value = value.uppercased()
  }
  /// As it stands after `a=fingerprint:`.
  public var description: String { "\(algorithm) \(value)" }
}

/// What can go wrong while a transport is made. Everything later is a `TransportState`.
public enum TransportError: Error, Sendable, Hashable, CustomStringConvertible {
  /// OpenSSL refused; its own words.
  case tls(String)
  /// libnice could not make an agent.
  case ice(String)
  /// libsrtp2 refused; its status code (`srtp_err_status_t`).
  case srtp(Int32)
  /// usrsctp refused; `errno`.
  case sctp(Int32)

  /// One line for a log.
  public var description: String {
    switch self {
    case .tls(let text): "TLS library: \(text)"
    case .ice(let text): "ICE library: \(text)"
    case .srtp(let status): "SRTP library: status \(status)"
    case .sctp(let code): "SCTP library: errno \(code)"
    }
  }
}

/// What a transport has counted since it was made. Bytes are those of the datagrams, without IP and UDP headers.
public struct TransportCounters: Sendable, Hashable {
  /// Datagrams that came in, without ICE's own STUN.
  public var packetsReceived: UInt64 = 0
  /// Bytes of `packetsReceived`.
  public var bytesReceived: UInt64 = 0
  /// Datagrams handed to the network, without ICE's own STUN.
  public var packetsSent: UInt64 = 0
  /// Bytes of `packetsSent`.
  public var bytesSent: UInt64 = 0
  /// Datagrams that the network did not take (no pair yet, full socket).
  public var sendFailures: UInt64 = 0
  /// SRTP and SRTCP packets dropped because their authentication tag is wrong.
  public var srtpAuthenticationFailures: UInt64 = 0
  /// SRTP and SRTCP packets dropped as replayed or older than the replay window.
  public var srtpReplays: UInt64 = 0
  /// DTLS records dropped because they can't be genuine, or could not be decrypted.
  public var dtlsRecordsDropped: UInt64 = 0
  /// Datagrams dropped because they are no known protocol, malformed, too large, or came too early to be kept.
  public var malformedDropped: UInt64 = 0
  /// Data channel messages dropped: too large, malformed, or on a channel that nobody opened.
  public var dataMessagesDropped: UInt64 = 0
  /// Nothing counted yet.
  public init() {}
}
