import Logging
import MediaCore
import Session
import SessionLog
import WebM

/// Writes each track of a logged session into a file of its own, as it came, without decoding it. All files have one clock,
/// that of the live recording: a frame is at the instant at which it was heard or shown there. Confined to one thread, which
/// it keeps busy.
public final class TrackExport {
  /// A track that was written.
  public struct File: Sendable, Hashable {
    /// The file's name in the folder.
    public var name: String
    /// The track, as it was announced last before its first frame.
    public var track: Track
    /// What its frames are.
    public var codec: Codec
    /// Instant of its first frame.
    public var start: SessionTime
    /// End of its last frame.
    public var end: SessionTime
    /// Frames in the file.
    public var frames: Int
  }

  /// What came of it.
  public struct Summary: Sendable {
    /// The files, in the order in which they begin.
    public var files: [File]
    /// Length of the session.
    public var length: Duration
    /// Frames that no file has: nothing before them can be decoded, or their stream can't be described.
    public var leftOut: Int
  }

  private let source: LogSource
  private let reader: SessionLogReader
  private let folder: String
  private let logger: Logger

  /// Prepares the export of a log of which nothing has been read, into a folder that is there and empty. `without`: people
  /// who are left out.
  public init(
    _ reader: SessionLogReader, folder: String, without: Set<ParticipantIdentity> = [], logger: Logger
  ) {
    self.reader = reader
    self.folder = folder
    self.logger = logger
    // Cuts are commands, and a track has none.
    source = LogSource(
      reader, without: without, commands: CommandFilter(followsLayouts: false, followsOthers: false))
  }

  /// Writes the files, and `timeline.json`, which says what happened and what is in them; `report` is told how far it is, in
  /// bytes of the log of all bytes.
  public func run(report: (_ read: Int64, _ size: Int64) -> Void) throws(RecordingError) -> Summary {
    let settings = Composition.settings(of: reader.beginning, presentation: .complete)
    let exporter = try TrackExporter(folder: folder, startDate: settings.startDate, program: reader.beginning.program)
    _ = try withoutActuallyEscaping(report) { (report) throws(RecordingError) in
      try Drive(source: source, handler: exporter, settings: settings, logger: logger) { [reader] _ in
        report(reader.position, reader.size)
      }.run(SessionCore(settings: settings), first: [])
    }
    try exporter.finish(at: exporter.progress.time)
    return Summary(
      files: exporter.files.sorted { ($0.start, $0.name) < ($1.start, $1.name) },
      length: exporter.progress.time.sinceBeginning, leftOut: exporter.leftOut)
  }
}

/// Puts frames into the files of their tracks. Confined to the recording's thread.
private final class TrackExporter: OutputHandler {
  private struct Output {
    var stream: CopiedStream
    var writer: WebMWriter
    var file: TrackExport.File
  }

  private(set) var progress = RecordingProgress()
  /// The files that are complete.
  private(set) var files: [TrackExport.File] = []
  /// Frames that no file has.
  private(set) var leftOut = 0
  private let folder: String
  private let startDate: Int64
  private let timeline: LineFile
  private var hasEntries = false
  private var tracks: [TrackID: Track] = [:]
  private var outputs: [TrackID: Output] = [:]
  private var names: Set<String> = []

  init(folder: String, startDate: Int64, program: String) throws(RecordingError) {
    self.folder = folder
    self.startDate = startDate
    timeline = try LineFile(creating: "\(folder)/timeline.json")
    timeline.append("{\"program\":\(JSONText.quoted(program)),\"events\":[")
  }

  func prepare(_ event: inout SessionEvent) {
    if case .room(.track(let track)) = event.payload { tracks[track.id] = track }
  }

  func beginBurst(_ outputs: [SessionOutput]) {}

  func perform(_ output: SessionOutput, isLate: Bool) throws(RecordingError) -> SessionFinding? {
    switch output {
    case .decode(_, let frame, let track, let time): try write(frame, of: track, at: time)
    case .audio(_, let frame, let track, let time, _):
      // What was lost is a gap.
      if frame.payload.count > 0 { try write(frame, of: track, at: time) }
    case .compose(let plan): progress.time = plan.time
    case .note(let entry):
      timeline.append((hasEntries ? "," : "") + entry.json(startDate: startDate))
      hasEntries = true
      if case .unpublished(let track, _, _) = entry.event { try close(track) }
    case .composeFurther, .usePictures, .process, .receive, .view, .requestKeyframe, .subscribe, .release, .ended: break
    }
    return nil
  }

  func tell(_ core: borrowing SessionCore, at now: SessionTime) {}

  func finish(at end: SessionTime) throws(RecordingError) {
    for track in outputs.keys.sorted() { try close(track) }
    timeline.append("],\"tracks\":[")
    for (index, file) in files.enumerated() { timeline.append((index > 0 ? "," : "") + file.json) }
    timeline.append("]}")
    if timeline.isBroken { throw RecordingError.output("\(folder)/timeline.json: cannot be written") }
  }

  private func write(_ frame: EncodedFrame, of track: TrackID, at time: SessionTime) throws(RecordingError) {
    if let old = outputs[track], old.stream.codec != frame.codec { try close(track) }
    if outputs[track] == nil { outputs[track] = try open(track, frame, at: time) }
    guard var output = outputs.removeValue(forKey: track) else {
      leftOut += 1
      return
    }
    defer { outputs[track] = output }
    do throws(WebMError) {
      try output.stream.stored(frame.payload.bytes).withUnsafeBufferPointer { (stored) throws(WebMError) in
        let bytes = UnsafeRawBufferPointer(stored)
        if frame.codec.kind == .video {
          try output.writer.addVideo(at: time, bytes, isKeyframe: frame.isKeyframe)
        } else {
          try output.writer.addAudio(at: time, bytes)
        }
      }
    } catch {
      throw RecordingError.output(error.description)
    }
    output.file.frames += 1
    output.file.end = .zero + output.writer.duration
  }

  /// A new file for what begins with this frame; nil when nothing can begin with it.
  private func open(
    _ track: TrackID, _ frame: EncodedFrame, at time: SessionTime
  ) throws(RecordingError) -> Output? {
    guard let announced = tracks[track], frame.isKeyframe,
      let stream = CopiedStream(frame.codec, firstFrame: frame.payload.bytes),
      frame.codec.kind == .audio || frame.width > 0 && frame.height > 0
    else { return nil }
    let name = name(of: announced, stream)
    do throws(WebMError) {
      let writer = try WebMWriter(
        path: "\(folder)/\(name)",
        configuration: WebMConfiguration(
          video: frame.codec.kind == .video ? .init(stream, width: frame.width, height: frame.height) : nil,
          audio: frame.codec.kind == .audio ? .init(stream) : nil, title: "\(announced.participant)",
          date: startDate), syncs: false)
      let file = TrackExport.File(
        name: name, track: announced, codec: frame.codec, start: time, end: time, frames: 0)
      return Output(stream: stream, writer: writer, file: file)
    } catch {
      throw RecordingError.output(error.description)
    }
  }

  private func close(_ track: TrackID) throws(RecordingError) {
    guard let output = outputs.removeValue(forKey: track) else { return }
    do throws(WebMError) {
      _ = try output.writer.finish()
    } catch {
      throw RecordingError.output(error.description)
    }
    files.append(output.file)
  }

  /// `ann-camera.webm`; with a number when there is such a file. Within the 255 bytes of a name, whatever the letters.
  private func name(of track: Track, _ stream: CopiedStream) -> String {
    let safe = track.participant.rawValue.unicodeScalars.prefix(48).map { scalar -> Character in
      let isPlain =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "._-@".contains(Character(scalar))
      return isPlain ? Character(scalar) : "_"
    }
    // A name that begins with a dot is hidden.
    let person = String(safe).trimmingPrefix { $0 == "." }
    let stem = "\(person.isEmpty ? "_" : String(person))-\(track.source.fileName)"
    var name = "\(stem).\(stream.fileEnding)"
    var number = 1
    while !names.insert(name.lowercased()).inserted {
      number += 1
      name = "\(stem)-\(number).\(stream.fileEnding)"
    }
    return name
  }
}

extension TrackSource {
  /// As it stands in the names of files.
  fileprivate var fileName: String {
    switch self {
    case .unknown: "track"
    case .camera: "camera"
    case .microphone: "microphone"
    case .screenShare: "screen"
    case .screenShareAudio: "screen-sound"
    }
  }
}

extension TrackExport.File {
  /// As a JSON object on one line.
  public var json: String {
    "{\"file\":\(JSONText.quoted(name)),\"participant\":\(JSONText.quoted(track.participant.rawValue)),"
      + "\"track\":\(JSONText.quoted(track.id.rawValue)),\"source\":\"\(track.source.rawValue)\","
      + "\"codec\":\"\(codec.rawValue)\",\"start_ms\":\(start.milliseconds),\"end_ms\":\(end.milliseconds),"
      + "\"frames\":\(frames)}"
  }
}
