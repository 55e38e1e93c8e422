public import MediaCore

/// Joins recordings that are parts of one: their frames are copied, never decoded, into one new file. Each part begins
/// where the clock says, or at once after the one before when the dates overlap; what lies between two parts is shown: a
/// slate instead of pictures, silence of exactly the right length instead of sound, and a chapter.
///
/// Parts may have been cut off anywhere by a crash: what can be read of them is taken. All parts must have the same
/// tracks of the same codecs, the same picture size and the same number of channels (a job's settings never change; VP8, VP9
/// and AV1 could change their size at a keyframe, but many players do not follow). Memory does not grow with the length of the parts.
public struct Concatenation: Sendable {
  /// One part.
  public struct Part: Sendable, Hashable {
    /// Path of the file.
    public var path: String
    /// When its time zero was, in nanoseconds since 1970-01-01 UTC; nil: as the file says (DateUTC).
    public var start: Int64?

    /// Makes a part; see the properties.
    public init(path: String, start: Int64? = nil) {
      self.path = path
      self.start = start
    }
  }

  /// Where parts are put.
  public enum Spacing: Sendable, Hashable {
    /// Where their dates say.
    case dates
    /// So far after the end of the part before.
    case fixed(Duration)
  }

  /// Time between two parts in which nothing was recorded.
  public struct Gap: Sendable, Hashable {
    /// First instant without a picture (without sound, in a recording of sound), in the joined file.
    public var start: SessionTime
    /// The instant at which the next part's frames begin.
    public var end: SessionTime
    /// The same instants in nanoseconds since 1970-01-01 UTC; nil when the parts have no dates.
    public var dates: Range<Int64>?
  }

  /// What became of a part.
  public struct JoinedPart: Sendable, Hashable {
    /// Path of the file.
    public var path: String
    /// Where its time zero is in the joined file.
    public var start: SessionTime
    /// Where its last frame ends there.
    public var end: SessionTime
    /// Frames that were copied.
    public var frames: Int
    /// False when it was cut off or damaged: then the frames before that place were taken.
    public var isWhole: Bool
    /// How much earlier it began by its date than the part before ended. Zero but for clocks that disagree.
    public var overlap: Duration
  }

  /// What was made.
  public struct Summary: Sendable, Hashable {
    /// The joined file.
    public var file: WebMWriter.Summary
    /// The parts that have frames, in order.
    public var parts: [JoinedPart]
    /// The gaps between them.
    public var gaps: [Gap]
    /// Parts in which there is no frame: they ended before there was one.
    public var skipped: [String]
  }

  /// The tag that says where the gaps are: `START-END` in seconds, with spaces between them.
  static let gapsTag = "GAPS"

  /// Longest gap that is filled: what is longer is a wrong date.
  public static let longestGap = Duration.seconds(7 * 86_400)

  /// What the joined file says of itself: the first part's tracks, date and tags, the last part's title.
  public let configuration: WebMConfiguration
  /// Bytes of all parts.
  public let size: Int64

  let heads: [PartHead]
  let spacing: Spacing
  let skipped: [String]

  /// Looks at the parts' heads. Throws `.open`, `.read`, `.notWebM`, or `.invalid` when they do not fit together, when
  /// a date is missing that is needed, or when no part has a frame.
  public init(_ parts: [Part], spacing: Spacing = .dates) throws(WebMError) {
    var heads: [PartHead] = []
    var skipped: [String] = []
    for part in parts {
      var head = try PartHead(path: part.path)
      head.date = part.start ?? head.date
      if head.hasFrames { heads.append(head) } else { skipped.append(part.path) }
    }
    guard let first = heads.first else {
      throw WebMError(
        code: .invalid, operation: "there is no frame in it or any other part", path: parts.first?.path ?? "no file")
    }
    for head in heads {
      if let difference = head.difference(from: first) {
        throw WebMError(code: .invalid, operation: "does not fit to \(first.path): \(difference)", path: head.path)
      }
      if spacing == .dates, heads.count > 1, head.date == nil {
        throw WebMError(
          code: .invalid, operation: "does not say when it began; say how long the gaps are", path: head.path)
      }
    }
    self.heads = heads
    self.spacing = spacing
    self.skipped = skipped
    size = heads.reduce(0) { $0 &+ $1.size }
    var video = first.video?.settings
    // The highest level is right for all of them; where one does not say, none is.
    let levels = heads.map { $0.video?.settings.level }
    video?.level = levels.contains(nil) ? nil : levels.compactMap { $0 }.max { $0.rawValue < $1.rawValue }
    var configuration = WebMConfiguration(
      video: video, audio: first.audio?.settings,
      title: heads.last { !$0.title.isEmpty }?.title ?? "", date: first.date)
    configuration.takeTags(of: heads)
    self.configuration = configuration
    if let fault = configuration.fault { throw WebMError(code: .invalid, operation: fault, path: first.path) }
  }

  /// Writes the joined file. It appears under its name when it is complete, and never replaces anything; after an error
  /// or a crash there is nothing. Blocks for the disk: call it on a thread that may.
  ///
  /// - Parameters:
  ///   - path: must not exist.
  ///   - slate: the pictures for a gap: one group of frames of the file's codec and size that begins with a keyframe, a frame
  ///     for each frame time; it is repeated as often as needed. Called once per gap, and not for sound only.
  ///   - progress: is told how many bytes of the parts have been read; what it throws ends the work.
  /// - Throws: `WebMError`, or what `slate` or `progress` throws.
  public func write(
    to path: String, slate: @escaping (Gap) throws -> [EncodedFrame],
    progress: @escaping (Int64) throws -> Void = { _ in }
  ) throws -> Summary {
    let output = try FinishedFile(path: path)
    let writer = try WebMWriter(descriptor: output.makeDescriptor(), path: path, configuration: configuration)
    let joiner = Joiner(self, writer: writer, slate: slate, progress: progress)
    for head in heads { try joiner.copy(head) }
    let summary = try joiner.finish()
    try output.publish()
    return summary
  }
}

extension ProbeReport {
  /// How much of a joined file none of its parts has, by its tag `GAPS`; zero for other files. What is no time counts for nothing.
  public var joinedGaps: Duration {
    let gaps = tags.first { $0.name == Concatenation.gapsTag }?.value.split(separator: " ") ?? []
    return gaps.reduce(.zero) { sum, gap in
      let times = gap.split(separator: "-").compactMap { Double($0) }
      guard times.count == 2, times[0] >= 0, times[1] >= times[0], times[1] < 1e9 else { return sum }
      return sum + .milliseconds(Int64((times[1] - times[0]) * 1000))
    }
  }
}
