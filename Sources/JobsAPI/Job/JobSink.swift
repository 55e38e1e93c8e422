import MediaCore

/// Who is given sound or pictures of a job's recording while it is made: a WebSocket that the worker dials.
public struct JobSink: Codable, Hashable, Sendable {
  /// What a message is.
  public enum Framing: String, Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "framing"
    /// A block or a picture.
    case raw
    /// The same behind a head that says where it belongs.
    case timed
  }

  /// The word for all that is recorded.
  public static let mixed = "mixed"
  /// More are refused.
  public static let most = 8

  /// Whose sound: `mixed` or an identity. Either this or `video`.
  public var audio: String?
  /// Whose picture: `mixed` or an identity.
  public var video: String?
  /// Where to: `wss://…`, or `ws://…` where the worker may dial private addresses.
  public var url: String
  /// Samples a second; nil: 48000.
  public var rate: Int?
  /// Channels; nil: 2.
  public var channels: Int?
  /// Columns of the pictures, with `height`; nil: as in the recording.
  public var width: Int?
  /// Rows of the pictures.
  public var height: Int?
  /// Pictures a second, of which the recording has a multiple; nil: as many as the recording.
  public var framesPerSecond: Int?
  /// What a message is; nil: `raw`.
  public var framing: Framing?

  /// Makes one; see the properties.
  public init(
    audio: String? = nil, video: String? = nil, url: String, rate: Int? = nil, channels: Int? = nil, width: Int? = nil,
    height: Int? = nil, framesPerSecond: Int? = nil, framing: Framing? = nil
  ) {
    self.audio = audio
    self.video = video
    self.url = url
    self.rate = rate
    self.channels = channels
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
    self.framing = framing
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case audio, video, url, rate, channels, width, height, framing
    case framesPerSecond = "fps"
  }

  /// Whose and where to, for people: `audio:mixed wss://example.com/listen`. What stands behind the question mark may be a secret.
  public var name: String {
    "\(audio.map { "audio:\($0)" } ?? "video:\(video ?? "")") \(Self.shown(url))"
  }

  /// An address without what stands behind the question mark.
  public static func shown(_ url: String) -> String {
    url.prefix { $0 != "?" } + (url.contains("?") ? "?…" : "")
  }

  /// What is wrong with it, one line each. `place` is how it is called there.
  public func problems(_ place: String) -> [String] {
    guard let source = audio ?? video, audio == nil || video == nil else {
      return ["\(place): give either audio or video: \(Self.mixed), or somebody's identity"]
    }
    var problems: [String] = []
    if !(1...256).contains(source.utf8.count) || source.hasControlCharacters {
      problems.append("\(place): an identity has 1 to 256 bytes, no control characters")
    }
    if !["ws://", "wss://"].contains(where: url.hasPrefix) || url.utf8.count > 2048 || url.hasControlCharacters {
      problems.append("\(place).url: ws:// or wss://, at most 2048 bytes")
    }
    if audio != nil {
      let given = [("width", width != nil), ("height", height != nil), ("fps", framesPerSecond != nil)]
      for (name, isGiven) in given where isGiven { problems.append("\(place): sound has no \(name)") }
      if let rate, ![8_000, 16_000, 24_000, 48_000].contains(rate) {
        problems.append("\(place).rate: 8000, 16000, 24000 or 48000")
      }
      if let channels, !(1...2).contains(channels) { problems.append("\(place).channels: 1 or 2") }
    } else {
      for (name, isGiven) in [("rate", rate != nil), ("channels", channels != nil)] where isGiven {
        problems.append("\(place): pictures have no \(name)")
      }
      let picture = JobPicture(width: width, height: height, framesPerSecond: framesPerSecond)
      problems += picture.problems.map { "\(place)\($0.dropFirst("picture".count))" }
    }
    return problems
  }
}
