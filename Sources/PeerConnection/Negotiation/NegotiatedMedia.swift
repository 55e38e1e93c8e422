import MediaCore
import RTP
import SDP

/// What a payload type stands for.
enum PayloadFormat: Hashable, Sendable {
  /// Media.
  case codec(Codec)
  /// Retransmissions of another type (RFC 4588).
  case retransmission(of: PayloadType)
  /// Redundant audio (RFC 2198) of another type.
  case redundancy(of: PayloadType)
}

/// The payload types of one section in one direction, as the receiving side described them.
struct PayloadTable: Hashable, Sendable {
  /// In order of preference.
  private(set) var entries: [(type: PayloadType, format: PayloadFormat)] = []

  init() {}

  /// Reads the types of our codecs and of what repairs them from a section.
  init(_ section: MediaDescription, policy: NegotiationPolicy) {
    let types = section.payloadTypes
    var codecs: [PayloadType: Codec] = [:]
    for type in types {
      if let map = section.rtpMap(of: type), let codec = Codec(map), policy.codecs.contains(codec),
        NegotiationPolicy.accepts(codec, section.parameters(of: type))
      {
        codecs[type] = codec
      }
    }
    for type in types {
      if let codec = codecs[type] {
        entries.append((type, .codec(codec)))
      } else if let map = section.rtpMap(of: type), let text = section.parameters(of: type) {
        let name = map.name.lowercased()
        if name == "rtx", policy.usesRetransmission, let apt = text.value(of: "apt").flatMap({ UInt8($0) }),
          apt < 128, codecs[PayloadType(apt)] != nil
        {
          entries.append((type, .retransmission(of: PayloadType(apt))))
        } else if name == "red",
          let primary = text.text.utf8.split(separator: UInt8(ascii: "/")).first.flatMap({ UInt8(Substring($0)) }),
          primary < 128, codecs[PayloadType(primary)]?.kind == .audio
        {
          entries.append((type, .redundancy(of: PayloadType(primary))))
        }
      }
    }
  }

  /// What a type stands for.
  func format(of type: PayloadType) -> PayloadFormat? { entries.first { $0.type == type }?.format }
  /// The first type of a codec.
  func type(of codec: Codec) -> PayloadType? { entries.first { $0.format == .codec(codec) }?.type }
  /// The type that repeats lost packets of `type`.
  func retransmission(of type: PayloadType) -> PayloadType? {
    entries.first { $0.format == .retransmission(of: type) }?.type
  }
  /// The type of packets that carry older sound of `type` again (RFC 2198).
  func redundancy(of type: PayloadType) -> PayloadType? {
    entries.first { $0.format == .redundancy(of: type) }?.type
  }
  /// True when there is media in it.
  var hasMedia: Bool {
    entries.contains { if case .codec = $0.format { true } else { false } }
  }

  static func == (a: PayloadTable, b: PayloadTable) -> Bool {
    a.entries.elementsEqual(b.entries) { $0.type == $1.type && $0.format == $1.format }
  }
  func hash(into hasher: inout Hasher) {
    for entry in entries {
      hasher.combine(entry.type)
      hasher.combine(entry.format)
    }
  }
}

/// Feedback that one direction of a section has (RFC 4585).
struct NegotiatedFeedback: OptionSet, Hashable, Sendable {
  let rawValue: UInt8
  static let nack = NegotiatedFeedback(rawValue: 1)
  static let pli = NegotiatedFeedback(rawValue: 2)
  static let fir = NegotiatedFeedback(rawValue: 4)
  static let transportWide = NegotiatedFeedback(rawValue: 8)
  static let maximumBitrate = NegotiatedFeedback(rawValue: 16)

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(_ section: MediaDescription, type: PayloadType?) {
    self = []
    guard let type else { return }
    for value in section.feedback(of: type) {
      switch value.lowercased() {
      case "nack": insert(.nack)
      case "nack pli": insert(.pli)
      case "ccm fir": insert(.fir)
      case "transport-cc": insert(.transportWide)
      case "goog-remb": insert(.maximumBitrate)
      default: break
      }
    }
  }
}

/// What was agreed for one section of sound or pictures.
struct NegotiatedMedia: Hashable, Sendable {
  /// Position of the section.
  var index: Int
  /// `a=mid`.
  var mid: MID
  /// Kind.
  var kind: MediaKind
  /// Whether the peer may send to us.
  var receives: Bool
  /// Whether we may send to the peer.
  var sends: Bool
  /// Payload types of what arrives, by our description.
  var receivePayloads: PayloadTable
  /// Parameter sets of H.264 that the peer described instead of sending them (`sprop-parameter-sets`), as byte streams.
  var parameterSets: [PayloadType: [UInt8]]
  /// Payload types of what we send, by the peer's description.
  var sendPayloads: PayloadTable
  /// Extensions of what arrives and of what we send; both sides list the same identifiers.
  var extensions: HeaderExtensionMap
  /// Whether elements of one- and two-byte form may be mixed.
  var allowsMixedExtensions: Bool
  /// Feedback that we may send about what arrives.
  var receiveFeedback: NegotiatedFeedback
  /// Feedback that the peer may send about what we send.
  var sendFeedback: NegotiatedFeedback
  /// The peer's track.
  var stream: MediaStreamTrack?
  /// The peer's media sources in order, without those of retransmissions; empty when not announced.
  var ssrcs: [SSRC]
  /// The source that each announced retransmission source repairs.
  var retransmissions: [SSRC: SSRC]
  /// Layers that we receive, in the peer's order.
  var rids: [RID]
  /// The local track that is sent here.
  var track: LocalTrack.ID?
}

/// How the one transport is to be run, by the peer's description.
struct NegotiatedTransport: Hashable, Sendable {
  /// The peer's ICE user name fragment.
  var ufrag: String
  /// The peer's ICE password.
  var password: String
  /// Whether the peer only answers checks (RFC 8445 section 2.5).
  var isLite: Bool
  /// True when we begin the DTLS handshake.
  var isDTLSClient: Bool
  /// What the peer's certificate must hash to.
  var fingerprint: CertificateFingerprint
}

/// One outgoing track as the negotiation sees it.
struct LocalTrack: Hashable, Sendable {
  /// Names a track inside of one machine; never used again.
  typealias ID = Int
  /// One stream of the track: the only one, or a simulcast layer.
  struct Encoding: Hashable, Sendable {
    /// Layer; nil for the only stream.
    var rid: RID?
    /// Media source.
    var ssrc: SSRC
    /// Source of retransmissions.
    var retransmissionSSRC: SSRC
  }
  /// Its name.
  var id: ID
  /// Codec.
  var codec: Codec
  /// `a=msid`.
  var stream: MediaStreamTrack
  /// Streams.
  var encodings: [Encoding]
  /// Whether its section also receives.
  var alsoReceives: Bool
}
