import Layouts
import MediaCore
import Session

/// Everything that shapes one recording.
///
/// Large: a property for each thing that can be asked for.
public struct RecordingSettings: Sendable {
  /// What is shown where, and when it ends.
  public var session: SessionCore.Settings
  /// The file to write. It must not exist.
  public var output: String
  /// What the picture is written in.
  public var codec: RecordingCodec
  /// Bits a second of the picture.
  public var videoBitrate: Int
  /// Bits a second of the sound.
  public var audioBitrate: Int
  /// The longest distance between keyframes: how exactly a player can seek.
  public var keyframeInterval: Duration
  /// Where images come from.
  public var images = ImageSettings()
  /// The file that tells what happened when, a JSON object a line; nil: none. It must not exist.
  public var timeline: String?
  /// The file for chat and captions: .jsonl, .srt or .vtt; nil: none. It must not exist.
  public var transcript: String?
  /// The file that tells, at the end, what the recording is (JSON); nil: none. It must not exist.
  public var manifest: String?
  /// The file of who talks when (WebVTT); nil: none. It must not exist.
  public var talkers: String?
  /// True when `output` is a part whose name is nobody's affair: the manifest doesn't tell it.
  public var isPart = false
  /// The program's name and version, for the files' tags and the manifest.
  public var program = ""
  /// True to write the transcript only: no media is wanted, and `output` is not made.
  public var isChatOnly = false
  /// True to bring each speaker to the same loudness before mixing (-16 LUFS, EBU R 128).
  public var normalizesLoudness = false
  /// What begins a chapter.
  public var chapters = ChapterDetail.marks
  /// True to write the mixed sound only: no picture is composed.
  public var isAudioOnly = false
  /// The session log; nil: none.
  public var log: LogSettings?
  /// What of a core the process may take while this is recorded; nil: whatever there is. What would take more is done without,
  /// step by step (`DegradationStep`).
  public var cpuBudget: Double?
  /// The same recording once more, in segments that are closed while it goes on; nil: none.
  public var segments: SegmentSettings?
  /// Further files of the same session, made at the same time.
  public var further: [FurtherFile] = []
  /// Who is given sound or pictures while the recording is made.
  public var sinks: [MediaSink] = []
  /// Whether listeners are told when the size of somebody's pictures changes; the timeline always is.
  public var notesResolution = true

  /// Makes settings; the defaults are those of the command line, and no `videoBitrate` is the codec's usual one.
  public init(
    session: SessionCore.Settings, output: String, codec: RecordingCodec = .vp8, videoBitrate: Int? = nil,
    audioBitrate: Int = 96_000,
    keyframeInterval: Duration = .seconds(5), timeline: String? = nil, transcript: String? = nil
  ) {
    self.session = session
    self.output = output
    self.codec = codec
    self.videoBitrate = videoBitrate ?? codec.usualBitrate
    self.audioBitrate = audioBitrate
    self.keyframeInterval = keyframeInterval
    self.timeline = timeline
    self.transcript = transcript
  }

  /// What is planned: the picture, those of the further files, in their order, and those of the sinks.
  var planned: SessionCore.Settings {
    var planned = session
    planned.further = further.compactMap { file in
      file.picture.map { SessionCore.Settings.FurtherPicture(canvas: $0.canvas, layout: $0.layout) }
    }
    planned.further += sinks.compactMap { $0.composed(beside: session.canvas) }
    return planned
  }

  /// True when nothing is done with pictures.
  var isWithoutPictures: Bool { isAudioOnly && further.allSatisfy { $0.picture == nil } }

  /// The settings with which the encoders and the file of a further file are made. A picture that leaves slots out has
  /// fewer a second.
  func settings(of file: FurtherFile) -> RecordingSettings {
    let framesPerSecond = max(1, session.framesPerSecond / (file.picture?.interval ?? 1))
    var settings = RecordingSettings(
      session: SessionCore.Settings(
        canvas: file.picture?.canvas ?? session.canvas, layout: file.picture?.layout ?? session.layout,
        framesPerSecond: framesPerSecond, title: session.title, startDate: session.startDate,
        utcOffset: session.utcOffset),
      output: file.path, codec: file.picture?.codec ?? codec, videoBitrate: file.picture?.bitrate,
      audioBitrate: file.audioBitrate, keyframeInterval: keyframeInterval)
    settings.isAudioOnly = file.picture == nil
    settings.program = program
    return settings
  }

  /// The file that the recording is about.
  var result: String { isChatOnly ? transcript ?? "" : output }
}

/// Where and for how long the session is logged.
public struct LogSettings: Sendable, Hashable {
  /// The log's folder, which is made; one that is there must be empty.
  public var folder: String
  /// After so long `recbot log prune` may delete it; nil: never.
  public var keep: Duration?
  /// The program's name and version.
  public var program: String

  /// Makes settings; see the properties.
  public init(folder: String, keep: Duration? = nil, program: String) {
    self.folder = folder
    self.keep = keep
    self.program = program
  }
}

/// Where a recording stands; a snapshot.
///
/// Large: a property for each thing that is told.
public struct RecordingProgress: Sendable, Hashable {
  /// What the recording is doing.
  public enum Phase: String, Sendable, Hashable {
    /// Not in the room yet; nothing is written.
    case waiting
    /// Recording.
    case recording
    /// The connection is lost; recording placeholders until it is back.
    case reconnecting
    /// The file is whole.
    case finished
  }

  /// What the recording is doing.
  public var phase = Phase.waiting
  /// Length of the recording so far.
  public var time = SessionTime.zero
  /// People in the room.
  public var participants = 0
  /// Display name of the active talker.
  public var talker: String?
  /// Name of the layout.
  public var layout = ""
  /// Name of its scene.
  public var scene = ""
  /// How the recording is paused; nil: it isn't.
  public var pause: PausePolicy?
  /// The recording's title.
  public var title = ""
  /// Who is in the room, in the order in which they came.
  public var people: [Participant] = []
  /// What the operator pinned.
  public var pins: [TileSelector] = []
  /// What the operator wants in the large place.
  public var spotlight: TileSelector?
  /// What is done to the pictures and the sound of people in the room, where anything is.
  public var processors: [ParticipantIdentity: TrackProcessors] = [:]
  /// How many rules say so.
  public var processorRules = 0
  /// The newest word on how many videos the connection carries; nil before the first.
  public var bandwidth: BandwidthAlert?
  /// The way that media take; nil while that is not known.
  public var path: NetworkPath?
  /// The list of active talkers; empty when there is no limit to it.
  public var talkers: [ParticipantIdentity] = []
  /// Chat, captions and data messages so far.
  public var messages: UInt64 = 0
  /// Pictures written.
  public var frames: UInt64 = 0
  /// Pictures not written because the machine was too slow.
  public var droppedFrames: UInt64 = 0
  /// Pictures not written to save processor time.
  public var sparedFrames: UInt64 = 0
  /// What is done without to save processor time.
  public var degradation = DegradationStep.none
  /// Sound that came and was not written, as it came too late for its place.
  public var lateAudio = Duration.zero
  /// Frames that could not be decoded.
  public var decodeErrors: UInt64 = 0
  /// Bytes written.
  public var bytes: UInt64 = 0
  /// How the further files stand, in their order.
  public var further: [FurtherProgress] = []
  /// How the sinks stand, in their order.
  public var sinks: [SinkProgress] = []
  /// How the session log stands; nil: there is none.
  public var log: LogProgress?
  /// How the segments stand; nil: there are none.
  public var segments: SegmentProgress?

  /// Nothing yet.
  public init() {}
}
