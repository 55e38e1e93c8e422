import MediaCore
import Platform
import SDP
import Transport

extension RTCPeerConnection {
  /// Which feedback about the available bandwidth is given to the sender of the media that we receive, when the
  /// negotiation allows it.
  public struct BandwidthFeedback: OptionSet, Hashable, Sendable {
    /// One bit for each member.
    public let rawValue: UInt8
    /// From the bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    public static let transportWide = BandwidthFeedback(rawValue: 1)
    /// Receiver estimated maximum bitrate (draft-alvestrand-rmcat-remb-03).
    public static let maximumBitrate = BandwidthFeedback(rawValue: 2)
  }

  /// How a connection behaves. Nothing can be changed after it was made.
  public struct Configuration: Sendable {
    /// STUN and TURN servers.
    public var iceServers: [ICEServer] = []
    /// Which candidates are used; `setRelayOnly` changes it later.
    public var transportPolicy: ICETransportPolicy = .all
    /// Local addresses to gather on, such as `127.0.0.1`; nil for all.
    public var localAddresses: [String]?
    /// Local UDP ports; nil for any.
    public var portRange: ClosedRange<UInt16>?
    /// A file of certificates in PEM that relays over TLS are checked against in place of the system's; nil: the
    /// system's.
    public var tlsAuthorities: String?
    /// Where peers reach this side over TCP (RFC 6544); nil: they don't.
    public var listener: ICEListener?
    /// Codecs that are accepted and offered, in order of preference. The order of a remote offer goes before it.
    public var codecs: [Codec] = CodecTable.codecs
    /// Whether retransmission streams (RFC 4588) are accepted and offered.
    public var usesRetransmission = true
    /// The DTLS role when a remote offer leaves the choice (`actpass`): `.client` answers `active`, `.server`
    /// answers `passive`; `.auto` is `.client`.
    public var answererRole: DTLSRole = .client
    /// Bandwidth feedback that is negotiated and sent for received video. A recorder sends none, because then a
    /// LiveKit server never degrades what it sends.
    public var bandwidthFeedback: BandwidthFeedback = []
    /// Upper end of the receive bitrate that REMB asks for, in bits per second.
    public var maximumReceiveBitrate: UInt64 = 20_000_000
    /// Whether new senders take over sections of removed ones (RFC 8829 section 5.2.2 keeps sections for ever).
    public var reusesSections = true
    /// How long the jitter buffer waits for a missing packet before it gives it up.
    public var jitterBufferDelay = Duration.milliseconds(400)
    /// Largest data channel message that is accepted, in bytes; announced as `a=max-message-size`.
    public var maximumMessageSize: UInt64 = 262_144
    /// Name in the RTCP source description, the same for all senders of one participant (RFC 8834 section 4.9);
    /// nil for a random one.
    public var cname: String?
    /// Wall-clock time for sender reports, as NTP, at `MonotonicClock.now` time; nil for the system's clock.
    public var wallClock: (@Sendable (_ now: Instant) -> NTPTime)?

    /// The defaults: a subscriber of everything that can be decoded, on all interfaces.
    public init() {}
  }
}

extension NegotiationPolicy {
  init(_ configuration: RTCPeerConnection.Configuration) {
    codecs = configuration.codecs
    usesRetransmission = configuration.usesRetransmission
    usesTransportFeedback = configuration.bandwidthFeedback.contains(.transportWide)
    usesMaximumBitrate = configuration.bandwidthFeedback.contains(.maximumBitrate)
    answererSetup = configuration.answererRole == .server ? .passive : .active
    reusesSections = configuration.reusesSections
    maximumMessageSize = configuration.maximumMessageSize
  }
}
