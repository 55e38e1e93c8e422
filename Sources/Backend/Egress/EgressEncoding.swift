import JobsAPI
import MediaCore
import Signaling

/// Size and rate that a request asks for. The codecs are WebM's: a preset's H.264 only stands for its size.
struct EgressEncoding: Hashable, Sendable {
  var preset: Livekit_EncodingOptionsPreset?
  var advanced: Livekit_EncodingOptions?

  /// The picture; nil when nothing is asked for.
  func picture() throws(TwirpProblem) -> JobPicture? {
    if let preset { return try Self.picture(preset) }
    guard let advanced else { return nil }
    let codec: RecordingCodec?
    switch advanced.videoCodec {
    case .defaultVc: codec = nil
    case .vp8: codec = .vp8
    default:
      throw .invalid(
        "advanced.video_codec: WebM is written with VP8, VP9 or AV1; give VP8, or DEFAULT_VC for the codec of the workers' settings"
      )
    }
    switch advanced.audioCodec {
    case .defaultAc, .opus: break
    default: throw .invalid("advanced.audio_codec: WebM is written with Opus; give DEFAULT_AC or OPUS")
    }
    func given(_ value: Int32) -> Int? { value == 0 ? nil : Int(value) }
    return JobPicture(
      width: given(advanced.width), height: given(advanced.height), framesPerSecond: given(advanced.framerate),
      bitrate: given(advanced.videoBitrate).map { $0 * 1000 }, codec: codec)
  }

  private static func picture(_ preset: Livekit_EncodingOptionsPreset) throws(TwirpProblem) -> JobPicture {
    switch preset {
    case .h264720P30: JobPicture(width: 1280, height: 720, framesPerSecond: 30, bitrate: 3_000_000)
    case .h264720P60: JobPicture(width: 1280, height: 720, framesPerSecond: 60, bitrate: 4_500_000)
    case .h2641080P30: JobPicture(width: 1920, height: 1080, framesPerSecond: 30, bitrate: 4_500_000)
    case .h2641080P60: JobPicture(width: 1920, height: 1080, framesPerSecond: 60, bitrate: 6_000_000)
    case .portraitH264720P30: JobPicture(width: 720, height: 1280, framesPerSecond: 30, bitrate: 3_000_000)
    case .portraitH264720P60: JobPicture(width: 720, height: 1280, framesPerSecond: 60, bitrate: 4_500_000)
    case .portraitH2641080P30: JobPicture(width: 1080, height: 1920, framesPerSecond: 30, bitrate: 4_500_000)
    case .portraitH2641080P60: JobPicture(width: 1080, height: 1920, framesPerSecond: 60, bitrate: 6_000_000)
    case .passthrough: throw .unimplemented("PASSTHROUGH is not implemented: files are composed and encoded")
    case .UNRECOGNIZED(let number): throw .invalid("preset: \(number) is not known")
    }
  }
}
