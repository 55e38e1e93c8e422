import CWebMParser
import MediaCore

/// What must be known of a part before its frames are copied.
struct PartHead: Sendable {
  struct Video: Sendable {
    var number: UInt64
    var settings: WebMConfiguration.Video
  }
  struct Audio: Sendable {
    var number: UInt64
    var settings: WebMConfiguration.Audio
  }

  var path: String
  var size: Int64
  /// Nanoseconds since 1970-01-01 UTC.
  var date: Int64?
  var title: String
  /// What it is from its beginning: the tags before its first frame that are such.
  var tags: [WebMConfiguration.Tag]
  var video: Video?
  var audio: Audio?
  var hasFrames: Bool

  /// Reads a file up to its first frame. A file that ended before its head was complete has no frames.
  init(path: String) throws(WebMError) {
    let events = HeadEvents()
    let result = try WebMReader.parse(path: path, events: events, wholeFrames: false)
    guard events.hasHeader || result.size == 0 else {
      throw WebMError(code: .notWebM, operation: "it has no EBML head", path: path)
    }
    self.path = path
    size = Int64(clamping: result.size)
    date = events.date
    title = events.title
    tags = events.tags
    hasFrames = events.hasFrames
    for track in events.tracks {
      let codec = RecordingCodec.allCases.first { $0.matroskaCodecID == track.codec }
      switch (track.codec, video, audio) {
      case (_, nil, _) where codec != nil:
        var settings = WebMConfiguration.Video(width: track.width, height: track.height, framesPerSecond: 30)
        settings.codec = codec ?? .vp8
        // Other codecs have other things in their CodecPrivate.
        if codec == .vp9 { settings.level = track.level }
        if codec == .av1 {
          guard let header = AV1Features.sequenceHeader(codecPrivate: track.codecPrivate) else {
            throw WebMError(
              code: .invalid,
              operation: "track \(track.number) (V_AV1) cannot be joined: its CodecPrivate has no sequence header",
              path: path)
          }
          settings.sequenceHeader = header
        }
        if (.milliseconds(1)...(.seconds(10))).contains(track.defaultDuration) {
          settings.frameDuration = track.defaultDuration
        }
        video = Video(number: track.number, settings: settings)
      case ("A_OPUS", _, nil):
        audio = Audio(
          number: track.number,
          settings: .init(channels: track.channels, preSkip: PartHead.samples(track.codecDelay)))
      default:
        throw WebMError(
          code: .invalid,
          operation:
            "track \(track.number) (\(track.codec)) cannot be joined: one of VP8, VP9 or AV1 and one of Opus can",
          path: path)
      }
    }
  }

  /// In what it is unlike another part, if that keeps them from being one file; nil when they fit.
  func difference(from other: PartHead) -> String? {
    switch (video?.settings, other.video?.settings) {
    case (nil, nil): break
    case (let a?, let b?):
      if a.codec != b.codec { return "its pictures are \(a.codec.title), not \(b.codec.title)" }
      if a.width != b.width || a.height != b.height {
        return "its pictures are \(a.width)x\(a.height), not \(b.width)x\(b.height)"
      }
    case (nil, _?): return "it has no pictures"
    case (_?, nil): return "it has pictures"
    }
    switch (audio?.settings, other.audio?.settings) {
    case (nil, nil): break
    case (let a?, let b?):
      if a.channels != b.channels { return "its sound has \(a.channels) channels, not \(b.channels)" }
    case (nil, _?): return "it has no sound"
    case (_?, nil): return "it has sound"
    }
    return nil
  }

  /// A time as samples at 48 kHz.
  private static func samples(_ time: Duration) -> Int {
    guard (.zero...(.seconds(1))).contains(time) else { return 0 }
    return Int((time.nanoseconds * 48_000 + 500_000_000) / 1_000_000_000)
  }
}

private final class HeadEvents: ParserEvents {
  struct Track {
    var number: UInt64
    var codec: String
    var codecPrivate: [UInt8]
    var level: VP9Level?
    var width: Int
    var height: Int
    var channels: Int
    var defaultDuration: Duration
    var codecDelay: Duration
  }

  private(set) var hasHeader = false
  private(set) var date: Int64?
  private(set) var title = ""
  private(set) var tags: [WebMConfiguration.Tag] = []
  private(set) var tracks: [Track] = []
  private(set) var hasFrames = false

  override func header(_ header: cwebm_header) { hasHeader = true }

  override func info(_ info: cwebm_info) {
    date = info.has_date != 0 ? info.date &+ 978_307_200_000_000_000 : nil
    title = Self.text(info.title)
  }

  override func track(_ track: cwebm_track) {
    guard tracks.count < 128 else { return }
    tracks.append(
      Track(
        number: track.number, codec: Self.text(track.codec_id),
        codecPrivate: Array(Self.codecPrivate(track).prefix(4096)),
        level: VP9Features.level(codecPrivate: Self.codecPrivate(track)),
        width: Int(clamping: track.width),
        height: Int(clamping: track.height), channels: Int(clamping: track.channels),
        defaultDuration: .nanoseconds(Int64(clamping: track.default_duration)),
        codecDelay: .nanoseconds(Int64(clamping: track.codec_delay))))
  }

  override func tag(name: String, value: String) {
    guard WebMConfiguration.Tag.describing.contains(name), !tags.contains(where: { $0.name == name }) else { return }
    tags.append(WebMConfiguration.Tag(name: name, value: value))
  }

  private static func codecPrivate(_ track: cwebm_track) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: track.codec_private, count: track.codec_private_size)
  }

  override func frame(_ frame: cwebm_frame) -> Bool {
    hasFrames = true
    return false
  }
}
