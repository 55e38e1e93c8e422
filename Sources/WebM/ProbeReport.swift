import MediaCore

/// What a WebM or Matroska file contains, as an independent parser (libwebm's) sees it. Times count from the
/// beginning of the recording.
public struct ProbeReport: Sendable, Hashable {
  /// One track.
  public struct Track: Sendable, Hashable {
    /// Number by which blocks name the track.
    public var number: UInt64
    /// Video or audio; nil for any other type.
    public var kind: MediaKind?
    /// Codec ID, such as "V_VP8" or "A_OPUS".
    public var codec: String
    /// The codec as the `codecs` parameter of a MIME type names it (RFC 6381), such as "vp8", "vp09.00.31.08.01.01.01.06.00" or
    /// "opus"; nil for other codecs, and when there are no frames.
    public var codecString: String?
    /// Picture width in pixels; 0 for sound.
    public var width = 0
    /// Picture height in pixels; 0 for sound.
    public var height = 0
    /// Samples a second; 0 for pictures.
    public var sampleRate = 0
    /// Channels; 0 for pictures.
    public var channels = 0
    /// Nominal length of a frame; zero when the file does not say.
    public var defaultDuration = Duration.zero
    /// Time that players take off the sound's timestamps (CodecDelay).
    public var codecDelay = Duration.zero
    /// Frames.
    public var frames = 0
    /// Bytes of all frames.
    public var bytes: Int64 = 0
    /// Time of the first frame.
    public var start = SessionTime.zero
    /// End of the last frame.
    public var end = SessionTime.zero
    /// Frames from which decoding can start.
    public var keyframes = 0
    /// Longest time from one keyframe to the next, or to the end.
    public var longestKeyframeInterval = Duration.zero
    /// Longest time that no frame covers.
    public var largestGap = Duration.zero
    /// Frames whose time is before that of their predecessor.
    public var disordered = 0

    /// Frames a second over the track's length; 0 when it has less than two frames.
    public var framesPerSecond: Double {
      let span = (end - start).nanoseconds
      return frames > 1 && span > 0 ? Double(frames) * 1e9 / Double(span) : 0
    }

    /// Bits a second over the track's length.
    public var bitrate: Double {
      let span = (end - start).nanoseconds
      return span > 0 ? Double(bytes) * 8e9 / Double(span) : 0
    }
  }

  /// A stretch of time that no frame of a track covers: for pictures more than one frame missing, for sound more than
  /// 40 ms.
  public struct Gap: Sendable, Hashable {
    /// The track's number.
    public var track: UInt64
    /// Where the frames stop.
    public var start: SessionTime
    /// Where they go on.
    public var end: SessionTime
  }

  /// A chapter.
  public struct Chapter: Sendable, Hashable {
    /// First instant.
    public var start: SessionTime
    /// End.
    public var end: SessionTime
    /// Title.
    public var title: String
  }

  /// A tag of the file.
  public struct Tag: Sendable, Hashable {
    /// Name, such as "TITLE".
    public var name: String
    /// Value.
    public var value: String
  }

  /// Path of the file as it was given.
  public var path: String
  /// Bytes of the file.
  public var size: Int64 = 0
  /// EBML DocType: "webm" or "matroska".
  public var container = ""
  /// EBML DocTypeVersion.
  public var containerVersion: UInt64 = 0
  /// The library that wrote it.
  public var muxingApp = ""
  /// The program that wrote it.
  public var writingApp = ""
  /// Title.
  public var title = ""
  /// When the recording began, in nanoseconds since 1970-01-01 UTC.
  public var date: Int64?
  /// Duration as the file declares it; nil for a file that was not ended.
  public var declaredDuration: Duration?
  /// End of the last frame of any track.
  public var end = SessionTime.zero
  /// True when the Segment says its size, which is that of the file.
  public var hasSegmentSize = false
  /// Entries of the SeekHead.
  public var seekEntries = 0
  /// Cues.
  public var cues = 0
  /// Clusters.
  public var clusters = 0
  /// Tracks in file order.
  public var tracks: [Track] = []
  /// Chapters in file order.
  public var chapters: [Chapter] = []
  /// Tags in file order.
  public var tags: [Tag] = []
  /// Gaps in file order; the first thousand.
  public var gaps: [Gap] = []
  /// What is wrong with the file, one line each.
  public var problems: [String] = []

  /// True when the recording was ended: its size, Duration, SeekHead and (when there are frames) Cues are there.
  public var endedCleanly: Bool {
    hasSegmentSize && declaredDuration != nil && seekEntries > 0 && (cues > 0 || tracks.allSatisfy { $0.frames == 0 })
  }

  /// Duration as declared, else as measured.
  public var duration: Duration { declaredDuration ?? end.sinceBeginning }

  /// An empty report.
  init(path: String) { self.path = path }
}
