/// What a recording is for, which says what its picture is written in where nobody says it: codec, pictures a second and rate,
/// chosen by what `frontier-bench` measures for 1280x720.
public enum RecordingPreset: String, Sendable, Hashable, CaseIterable {
  /// Faces that are looked at as if one were there: every browser plays it, and it costs the least.
  case meeting
  /// A shared screen is what matters: few pictures a second, so that each is sharp.
  case slides
  /// What is kept for long: small, and like a meeting to look at.
  case archive

  /// What it is called in errors.
  public static let what = "preset"

  /// What the picture is written in.
  public var codec: RecordingCodec {
    switch self {
    case .meeting: .vp8
    case .slides, .archive: .av1
    }
  }
  /// Pictures a second.
  public var framesPerSecond: Int {
    switch self {
    case .meeting, .archive: 30
    case .slides: 10
    }
  }
  /// Bits a second of the picture.
  public var bitrate: Int {
    switch self {
    case .meeting: codec.usualBitrate
    case .slides: 250_000
    case .archive: 500_000
    }
  }
}
