/// A codec in which the pictures of recordings are written: what WebM holds, browsers play, and is encoded in real time.
public enum RecordingCodec: String, Sendable, Hashable, CaseIterable {
  /// RFC 6386.
  case vp8
  /// VP9 bitstream specification, profile 0.
  case vp9
  /// AV1 bitstream specification, main profile.
  case av1

  /// What it is called in errors.
  public static let what = "codec for recordings"

  /// The same among all codecs.
  public var codec: Codec {
    switch self {
    case .vp8: .vp8
    case .vp9: .vp9
    case .av1: .av1
    }
  }
  /// The name that people know it by.
  public var title: String { codec.title }
  /// CodecID of the track (Matroska codec mappings).
  public var matroskaCodecID: String { CodecTable.row(of: codec)?.matroskaCodecID ?? "" }
  /// Bits a second that the picture gets where nobody says how many. VP9 gets 40 % fewer, AV1 60 %: smaller files, not better ones.
  public var usualBitrate: Int {
    switch self {
    case .vp8: 2_500_000
    case .vp9: 1_500_000
    case .av1: 1_000_000
    }
  }
}
