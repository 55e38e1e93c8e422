import MediaCore

/// One media section: an `m=` line and what belongs to it (RFC 8866 section 5.14).
///
/// Large: a property for each attribute of an m-section.
public struct MediaDescription: Hashable, Sendable {
  /// What a section is for.
  public enum Kind: Hashable, Sendable {
    /// Sound or pictures over RTP.
    case media(MediaKind)
    /// Data channels (RFC 8841) when the protocol says so.
    case application
    /// Anything else, by its name.
    case other(String)
    /// The token in the `m=` line.
    public var token: String {
      switch self {
      case .media(let kind): kind.rawValue
      case .application: "application"
      case .other(let name): name
      }
    }
    /// From the token.
    public init(token: String) {
      self = MediaKind(rawValue: token).map(Kind.media) ?? (token == "application" ? .application : .other(token))
    }
  }

  /// Kind.
  public var kind: Kind
  /// Port; 0 rejects the section, unless `isBundleOnly` (RFC 8843 section 6).
  public var port: UInt16
  /// Transport protocol, such as `UDP/TLS/RTP/SAVPF` or `UDP/DTLS/SCTP`.
  public var proto: String
  /// Payload types in order of preference, or `webrtc-datachannel`.
  public var formats: [String]
  /// The `c=` line without `c=`; nil when absent.
  public var connection: String?
  /// The `b=` lines without `b=`.
  public var bandwidths: [String] = []

  /// `a=mid` (RFC 5888).
  public var mid: MID?
  /// Direction; a missing attribute was resolved to the session's one or `sendrecv`.
  public var direction: Direction = .sendrecv
  /// ICE and DTLS attributes at this level.
  public var transport = TransportAttributes()
  /// `a=candidate` lines.
  public var candidates: [CandidateAttribute] = []
  /// `a=end-of-candidates`.
  public var hasEndOfCandidates = false
  /// `a=bundle-only`.
  public var isBundleOnly = false
  /// `a=rtcp-mux` (RFC 5761).
  public var hasRTCPMux = false
  /// `a=rtcp-rsize` (RFC 5506).
  public var hasReducedSizeRTCP = false

  /// `a=rtpmap` lines.
  public var rtpMaps: [RTPMap] = []
  /// `a=fmtp` lines.
  public var formatParameters: [FormatParameters] = []
  /// `a=rtcp-fb` lines.
  public var feedback: [RTCPFeedback] = []
  /// `a=extmap` lines.
  public var extensions: [ExtensionMapping] = []
  /// `a=extmap-allow-mixed` at this level (RFC 8285 section 6).
  public var allowsMixedExtensions = false
  /// `a=msid` lines.
  public var streams: [MediaStreamTrack] = []
  /// `a=ssrc` lines.
  public var ssrcs: [SSRCAttribute] = []
  /// `a=ssrc-group` lines.
  public var ssrcGroups: [SSRCGroup] = []
  /// `a=rid` lines.
  public var rids: [RIDDescription] = []
  /// `a=simulcast`.
  public var simulcast: SimulcastDescription?
  /// `a=sctp-port` (RFC 8841 section 5).
  public var sctpPort: UInt16?
  /// `a=max-message-size` in bytes (RFC 8841 section 6); 0 means without limit.
  public var maximumMessageSize: UInt64?
  /// Other attributes, in order.
  public var attributes: [SDPAttribute] = []

  /// A section without attributes.
  public init(kind: Kind, port: UInt16, proto: String, formats: [String]) {
    self.kind = kind
    self.port = port
    self.proto = proto
    self.formats = formats
  }

  /// True when the section is refused or stopped: port 0 without `a=bundle-only`.
  public var isRejected: Bool { port == 0 && !isBundleOnly }

  /// Payload types of the `m=` line, in order of preference; each once.
  public var payloadTypes: [PayloadType] {
    var seen: Set<UInt8> = []
    return formats.compactMap { text in
      guard let type = UInt8(text), type < 128, seen.insert(type).inserted else { return nil }
      return PayloadType(type)
    }
  }

  /// The mapping of a payload type: by its line, else by what `RTPMap.fixed` says.
  public func rtpMap(of type: PayloadType) -> RTPMap? {
    rtpMaps.first { $0.payloadType == type } ?? RTPMap.fixed.first { $0.payloadType == type }
  }

  /// The format parameters of a payload type.
  public func parameters(of type: PayloadType) -> FormatParameters? {
    formatParameters.first { $0.payloadType == type }
  }

  /// The feedback that holds for a payload type, with that for `*`.
  public func feedback(of type: PayloadType) -> [String] {
    feedback.filter { $0.payloadType == nil || $0.payloadType == type }.map(\.value)
  }

  /// The retransmission type of a payload type (RFC 4588 section 8.1: `rtx` with `apt`).
  public func retransmissionType(of type: PayloadType) -> PayloadType? {
    payloadTypes.first { candidate in
      guard let map = rtpMap(of: candidate), map.name.lowercased() == "rtx" else { return false }
      return parameters(of: candidate)?.value(of: "apt") == type.description
    }
  }

  /// Every source that has a line or stands in a group, in order of first appearance.
  public var announcedSSRCs: [SSRC] {
    var seen: Set<SSRC> = []
    return (ssrcs.map(\.ssrc) + ssrcGroups.flatMap(\.ssrcs)).filter { seen.insert($0).inserted }
  }

  /// For every source of retransmissions the source whose lost packets it repeats, by the FID groups (RFC 5576
  /// section 4.2).
  public var retransmittedSSRCs: [SSRC: SSRC] {
    var result: [SSRC: SSRC] = [:]
    for group in ssrcGroups where group.semantics == "FID" {
      guard let media = group.ssrcs.first else { continue }
      for ssrc in group.ssrcs.dropFirst() where result[ssrc] == nil { result[ssrc] = media }
    }
    return result
  }
}
