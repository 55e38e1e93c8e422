public import MediaCore

/// The part of a room that is recorded. Nothing given: all of it.
public struct JobSelection: Codable, Hashable, Sendable {
  /// Sound or pictures.
  public enum Media: String, Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "kind of media"
    /// Sound only; people are cards.
    case audio
    /// Pictures only; the file is silent.
    case video
  }
  /// Only the person of this identity; nil: everybody.
  public var participant: String?
  /// Of people the shared screen and its sound (true), or camera and microphone (false); nil: all that they publish.
  public var screenShare: Bool?
  /// Only the tracks of these ids, and the people who publish them; nil: all.
  public var tracks: [String]?
  /// Only sound or only pictures; nil: both.
  public var media: Media?

  /// Makes a selection; see the properties.
  public init(participant: String? = nil, screenShare: Bool? = nil, tracks: [String]? = nil, media: Media? = nil) {
    self.participant = participant
    self.screenShare = screenShare
    self.tracks = tracks
    self.media = media
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case participant, tracks, media
    case screenShare = "screen_share"
  }

  /// What is wrong with it, one line each.
  public var problems: [String] {
    var problems: [String] = []
    if let participant, participant.isEmpty || participant.utf8.count > 256 {
      problems.append("selection.participant: 1 to 256 bytes")
    }
    if let tracks,
      tracks.isEmpty || tracks.count > 16 || tracks.contains(where: { $0.isEmpty || $0.utf8.count > 128 })
    {
      problems.append("selection.tracks: 1 to 16 ids of at most 128 bytes")
    }
    return problems
  }
}

extension RecordingCodec: Word {}
extension ChapterDetail: Word {}

/// The picture of a recording; what is not given has the worker's default.
public struct JobPicture: Codable, Hashable, Sendable {
  /// Columns; even.
  public var width: Int?
  /// Rows; even.
  public var height: Int?
  /// Pictures a second.
  public var framesPerSecond: Int?
  /// Bits a second.
  public var bitrate: Int?
  /// What it is written in.
  public var codec: RecordingCodec?

  /// Makes a picture; see the properties.
  public init(
    width: Int? = nil, height: Int? = nil, framesPerSecond: Int? = nil, bitrate: Int? = nil,
    codec: RecordingCodec? = nil
  ) {
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
    self.bitrate = bitrate
    self.codec = codec
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case width, height, bitrate, codec
    case framesPerSecond = "fps"
  }

  /// What is wrong with it, one line each.
  public var problems: [String] {
    var problems: [String] = []
    if (width == nil) != (height == nil) { problems.append("picture: width and height go together") }
    for (name, side) in [("width", width), ("height", height)] {
      if let side, !(64...4096).contains(side) || side % 2 != 0 {
        problems.append("picture.\(name): 64 to 4096, even")
      }
    }
    if let width, let height, width.multipliedReportingOverflow(by: height).partialValue > 3840 * 2160 {
      problems.append("picture: at most 3840x2160 in all")
    }
    if let framesPerSecond, !(1...60).contains(framesPerSecond) { problems.append("picture.fps: 1 to 60") }
    if let bitrate, !(10_000...100_000_000).contains(bitrate) {
      problems.append("picture.bitrate: 10000 to 100000000 bits a second")
    }
    return problems
  }
}

/// What LiveKit's Egress API asked for, kept so that it can be answered in its own terms.
public struct JobEgress: Codable, Hashable, Sendable {
  /// The request's name: `room_composite`, `participant`, `track_composite`, `track` or `egress`.
  public var kind: String
  /// The request as proto3 JSON, without its secrets.
  public var request: String
  /// Further receivers that it names.
  public var webhooks: [WebhookTarget]
  /// Makes one.
  public init(kind: String, request: String, webhooks: [WebhookTarget]) {
    self.kind = kind
    self.request = request
    self.webhooks = webhooks
  }
}
