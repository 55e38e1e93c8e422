public import MediaCore

/// What a recording's file says about itself before its first frame.
public struct WebMConfiguration: Sendable, Hashable {
  /// The pictures (WebM container guidelines, codec IDs V_VP8, V_VP9 and V_AV1).
  public struct Video: Sendable, Hashable {
    /// What the frames are.
    public var codec: RecordingCodec
    /// What decoders of VP9 must be able to do; nil: the file does not say (VP8 has no levels).
    public var level: VP9Level?
    /// The unit with the sequence header of AV1 (AV1 specification section 5.5); nil: other codecs.
    public var sequenceHeader: [UInt8]?
    /// Width of the coded pictures in pixels, 1...16383.
    public var width: Int
    /// Height of the coded pictures in pixels, 1...16383.
    public var height: Int
    /// Nominal length of a frame (DefaultDuration, RFC 9559 section 5.1.4.1.13): a nanosecond or more.
    public var frameDuration: Duration
    /// The stream, when it is put into the file as it came; `codec` and `level` say nothing then, and frames may come at any
    /// time. Nil: it was encoded for this file.
    public var copied: CopiedStream?

    /// Pictures at a whole number of frames a second (at least 1). `bitrate`, in bits a second, is what `level` counts with;
    /// `sequenceHeader` is what the encoder of AV1 says.
    public init(
      codec: RecordingCodec = .vp8, width: Int, height: Int, framesPerSecond: Int, bitrate: Int = 0,
      sequenceHeader: [UInt8]? = nil
    ) {
      self.codec = codec
      self.sequenceHeader = codec == .av1 ? sequenceHeader : nil
      self.width = width
      self.height = height
      if codec == .vp9 {
        level = VP9Level(
          width: width, height: height, framesPerSecond: Double(framesPerSecond), bitrate: Double(bitrate))
      }
      frameDuration = .nanoseconds(1_000_000_000 / Int64(max(1, framesPerSecond)))
    }

    /// Pictures that are put into the file as they came, of which the first has this size.
    public init(_ stream: CopiedStream, width: Int, height: Int) {
      self.init(width: width, height: height, framesPerSecond: 30)
      copied = stream
    }

    /// What decoders need before the first frame, or what players are told of it; nil: nothing.
    var codecPrivate: [UInt8]? {
      if let copied { return copied.codecPrivate }
      switch codec {
      case .vp8: return nil
      case .vp9: return level.map(VP9Features.codecPrivate)
      case .av1: return sequenceHeader?.withUnsafeBytes { CodecConfiguration.av1($0) }
      }
    }
  }

  /// The sound: Opus at 48 kHz (RFC 9559 section 5.1.4.1; codec ID A_OPUS).
  public struct Audio: Sendable, Hashable {
    /// Channels: 1 or 2 (channel mapping family 0, RFC 7845 section 5.1.1.1).
    public var channels: Int
    /// Samples at 48 kHz by which the encoder delays the sound: OPUS_GET_LOOKAHEAD. Players discard them.
    public var preSkip: Int
    /// The stream, when it is put into the file as it came; nil: it was encoded for this file.
    public var copied: CopiedStream?

    /// Sound; 312 samples are libopus's delay for `OPUS_APPLICATION_AUDIO` and `_VOIP` at 48 kHz.
    public init(channels: Int = 2, preSkip: Int = 312) {
      self.channels = channels
      self.preSkip = preSkip
    }

    /// Sound that is put into the file as it came: Opus in stereo, as all decoders give it, the others mono. By how much its
    /// encoder delayed it is not known.
    public init(_ stream: CopiedStream) {
      self.init(channels: stream.codec == .opus ? 2 : 1, preSkip: 0)
      copied = stream
    }
  }

  /// A tag of the whole file (RFC 9559 section 5.1.8).
  public struct Tag: Sendable, Hashable {
    /// In upper case by convention.
    public var name: String
    /// A text.
    public var value: String

    /// The names of what a recording is from its beginning, in their order: Matroska's official ones, and `ROOM`, for which
    /// there is none.
    static let describing = [title, date, encoder, room]
    static let title = "TITLE", date = "DATE_RECORDED", encoder = "ENCODER"
    /// The name of the tag that says where it was recorded.
    public static let room = "ROOM"
  }

  /// The pictures; nil for a recording of sound only.
  public var video: Video?
  /// The sound; nil for a recording of pictures only.
  public var audio: Audio?
  /// Title of the recording; at most 512 bytes of UTF-8 are kept.
  public var title: String
  /// When the recording began: nanoseconds since 1970-01-01 UTC; nil leaves it out.
  public var date: Int64?
  /// Name of the writing program (MuxingApp and WritingApp); at most 64 bytes are kept.
  public var application: String
  /// Tags that are in the file from its beginning, so that one that is never ended has them too.
  public var tags: [Tag] = []

  /// Makes a configuration; see the properties.
  public init(
    video: Video?, audio: Audio?, title: String = "", date: Int64? = nil, application: String = "recbot"
  ) {
    self.video = video
    self.audio = audio
    self.title = title
    self.date = date
    self.application = application
  }

  /// Says what the file is by tags, too: title, date and the program that encodes.
  public mutating func describe(program: String) {
    tags = [
      Tag(name: Tag.title, value: tagTitle), Tag(name: Tag.date, value: date.map(Self.tagText) ?? ""),
      Tag(name: Tag.encoder, value: program),
    ]
  }

  /// Takes the tags that say what a recording is from the first of its parts that has them; title and date are those of this
  /// configuration.
  mutating func takeTags(of parts: [PartHead]) {
    tags = Tag.describing.compactMap { name in
      guard var tag = parts.lazy.compactMap({ $0.tags.first { $0.name == name } }).first else { return nil }
      if name == Tag.title { tag.value = tagTitle }
      if name == Tag.date, let date { tag.value = Self.tagText(date) }
      return tag
    }
  }

  /// The title as it is in the file: not longer.
  var tagTitle: String { WebMHead.prefix(of: title, bytes: WebMHead.longestTitle) }

  /// A date in UTC as Matroska's tags write dates, such as `2026-11-21 09:30:00.125`: no place for a zone.
  static func tagText(_ date: Int64) -> String {
    let (quotient, remainder) = date.quotientAndRemainder(dividingBy: 1_000_000)
    let milliseconds = ((remainder < 0 ? quotient - 1 : quotient) % 1000 + 1000) % 1000
    let seconds = ProbeReport.utc(date).dropLast().replacing("T", with: " ")
    return "\(seconds).\(String(1000 + milliseconds).dropFirst())"
  }

  /// True when WebM has a place for all of it.
  var isWebM: Bool { video?.copied?.isWebM ?? true && audio?.copied?.isWebM ?? true }

  /// Why this cannot be written, or nil.
  var fault: String? {
    if video == nil, audio == nil { return "a recording needs pictures or sound" }
    if let video {
      guard (1...16_383).contains(video.width), (1...16_383).contains(video.height) else {
        return "picture size \(video.width)x\(video.height) is outside 1...16383"
      }
      guard video.frameDuration.nanoseconds > 0 else { return "the frame duration must be greater than zero" }
      if video.copied == nil, video.codec == .av1, video.codecPrivate == nil { return "AV1 without a sequence header" }
    }
    if let audio {
      guard (1...2).contains(audio.channels) else { return "\(audio.channels) channels: only 1 or 2 can be written" }
      guard (0...65_535).contains(audio.preSkip) else { return "pre-skip \(audio.preSkip) is outside 0...65535" }
    }
    return nil
  }
}
