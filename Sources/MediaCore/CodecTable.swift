/// A codec by its registered media subtype (IANA "RTP payload format media types"). What has to be known of it stands in
/// its row of `CodecTable`.
public enum Codec: String, Sendable, Hashable, CaseIterable {
  /// RFC 7741.
  case vp8 = "VP8"
  /// RFC 9628.
  case vp9 = "VP9"
  /// RFC 6184.
  case h264 = "H264"
  /// AV1 RTP payload format.
  case av1 = "AV1"
  /// RFC 7798.
  case h265 = "H265"
  /// RFC 7587.
  case opus = "opus"
  /// RFC 3551 section 4.5.2: 16 kHz in 64 kbit/s, with a clock of 8 kHz by an error that has become the rule.
  case g722 = "G722"
  /// RFC 3551 section 4.5.14: G.711 by the mu-law.
  case pcmu = "PCMU"
  /// RFC 3551 section 4.5.14: G.711 by the A-law.
  case pcma = "PCMA"

  /// The kind of media that the codec carries.
  public var kind: MediaKind {
    switch self {
    case .vp8, .vp9, .h264, .av1, .h265: .video
    case .opus, .g722, .pcmu, .pcma: .audio
    }
  }
  /// RTP clock rate (RFC 7587 section 4.1: always 48000; RFC 3551 table 4: 8000; pictures: 90000).
  public var clockRate: ClockRate {
    switch self {
    case .vp8, .vp9, .h264, .av1, .h265: .video
    case .opus: .opus
    case .g722, .pcmu, .pcma: .telephone
    }
  }
  /// The name that people know it by.
  public var title: String { CodecTable.row(of: self)?.title ?? rawValue }
  /// `video/VP9` and the like (RFC 6838).
  public var mimeType: String { "\(kind.rawValue)/\(rawValue)" }
  /// The RTP payload type that is offered where nobody asks for another, 96...127 or the static one.
  public var usualPayloadType: UInt8 { CodecTable.row(of: self)?.usualPayloadType ?? 96 }
}

/// What has to be known of a codec outside its own files: one row for each. Its depacketizer is named by
/// `Codec.depacketize` or `Codec.audioDuration` (RTP), its decoder by `VideoDecoders` or `AudioDecoders` (Codecs); all are
/// `switch`es that the compiler completes.
public struct CodecTable: Sendable {
  /// One codec.
  public struct Row: Hashable, Sendable {
    /// The codec that the row is about.
    public let codec: Codec
    /// The name that people know it by.
    public let title: String
    /// Channels as `a=rtpmap:` names them; 0 for pictures (Opus is always 2: RFC 7587 section 7).
    public let channels: Int
    /// The static payload type (RFC 3551 table 4), else the usual dynamic one, taken by offers while it is free (the ones
    /// that libwebrtc and LiveKit use).
    public let usualPayloadType: UInt8
    /// What `a=fmtp:` of an offer says; nil for nothing. An answer repeats what was offered.
    public let parameters: String?
    /// CodecID of the Matroska track (Matroska codec mappings); nil: it has none of its own.
    public let matroskaCodecID: String?

    /// Sound or pictures.
    public var kind: MediaKind { codec.kind }
    /// Clock of the RTP timestamps.
    public var clockRate: ClockRate { codec.clockRate }
  }

  /// All rows, pictures first, in the order in which offers prefer them.
  public static let rows: [Row] = [
    Row(
      codec: .vp8, title: "VP8", channels: 0, usualPayloadType: 96, parameters: nil,
      matroskaCodecID: "V_VP8"),
    Row(
      codec: .vp9, title: "VP9", channels: 0, usualPayloadType: 98, parameters: "profile-id=0",
      matroskaCodecID: "V_VP9"),
    Row(
      codec: .h264, title: "H.264", channels: 0, usualPayloadType: 108,
      parameters: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
      matroskaCodecID: "V_MPEG4/ISO/AVC"),
    Row(
      codec: .av1, title: "AV1", channels: 0, usualPayloadType: 35, parameters: nil,
      matroskaCodecID: "V_AV1"),
    Row(
      codec: .h265, title: "H.265", channels: 0, usualPayloadType: 116,
      parameters: "level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST",
      matroskaCodecID: "V_MPEGH/ISO/HEVC"),
    Row(
      codec: .opus, title: "Opus", channels: 2, usualPayloadType: 111, parameters: "minptime=10;useinbandfec=1",
      matroskaCodecID: "A_OPUS"),
    Row(
      codec: .g722, title: "G.722", channels: 1, usualPayloadType: 9, parameters: nil,
      matroskaCodecID: nil),
    Row(
      codec: .pcmu, title: "G.711 mu-law", channels: 1, usualPayloadType: 0, parameters: nil,
      matroskaCodecID: nil),
    Row(
      codec: .pcma, title: "G.711 A-law", channels: 1, usualPayloadType: 8, parameters: nil,
      matroskaCodecID: nil),
  ]

  /// The codecs, in the order of the rows.
  public static let codecs = rows.map(\.codec)

  /// The row of a codec.
  public static func row(of codec: Codec) -> Row? { rows.first { $0.codec == codec } }

  /// The row of a Matroska CodecID; nil when the codec is not ours.
  public static func row(matroskaCodecID: String) -> Row? { rows.first { $0.matroskaCodecID == matroskaCodecID } }
}
