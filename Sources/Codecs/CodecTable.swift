public import MediaCore

/// What has to be known of a codec outside its own files: one row per codec that can be recorded.
public struct CodecTable: Sendable {
  /// One codec.
  public struct Row: Hashable, Sendable {
    /// The codec that the row is about.
    public let codec: Codec
    /// Sound or pictures.
    public let kind: MediaKind
    /// Clock of the RTP timestamps.
    public let clockRate: ClockRate
    /// Channels as `a=rtpmap:` names them; 0 for pictures (Opus is always 2: RFC 7587 section 7).
    public let channels: Int
    /// CodecID of the Matroska track (Matroska codec mappings; the WebM subset).
    public let matroskaCodecID: String
  }

  /// All rows, pictures first.
  public static let rows: [Row] = [
    Row(codec: .vp8, kind: .video, clockRate: .video, channels: 0, matroskaCodecID: "V_VP8"),
    Row(codec: .opus, kind: .audio, clockRate: .opus, channels: 2, matroskaCodecID: "A_OPUS"),
  ]

  /// The row of a codec; nil when it cannot be recorded.
  public static func row(of codec: Codec) -> Row? { rows.first { $0.codec == codec } }

  /// The row of a Matroska CodecID; nil when the codec is not ours.
  public static func row(matroskaCodecID: String) -> Row? { rows.first { $0.matroskaCodecID == matroskaCodecID } }
}
