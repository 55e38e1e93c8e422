import Glibc
import MediaCore
import Session
import WebM

/// A frame as it is in the recording's file.
struct CodedFrame: Sendable {
  var kind: MediaKind
  /// Its time in the file.
  var time: SessionTime
  var isKeyframe: Bool
  var payload: MediaBuffer
}

/// Cuts the frames of a recording, in the order of its file, into segments: files that begin with a keyframe at 0, have all that
/// a finished file has, and play by themselves. Each frame is in one of them. The index gets a line for each that is closed.
/// Confined to one thread; blocks for the disk.
final class SegmentWriter {
  /// How they stand.
  private(set) var progress: SegmentProgress
  private let settings: SegmentSettings
  /// That of the recording; each segment has a date of its own.
  private var configuration: WebMConfiguration
  /// The program's name and version.
  private let program: String
  private var room: String?
  private let index: LineFile
  private var writer: WebMWriter?
  private var number = 0
  /// The first instant of the segment that is being written.
  private var start = SessionTime.zero
  /// From here on the next one may begin.
  private var boundary: SessionTime
  /// Sound from `boundary` on: whether it belongs to the next segment is known when that begins.
  private var held: [CodedFrame] = []
  /// A minute of sound. More of it waits for no picture.
  private static let mostHeld = 3000

  /// Makes the folder, which must be empty if it is there, and the index in it.
  init(
    _ settings: SegmentSettings, _ configuration: WebMConfiguration, program: String
  ) throws(RecordingError) {
    self.settings = settings
    self.configuration = configuration
    self.program = program
    progress = SegmentProgress(folder: settings.folder)
    boundary = settings.boundary(after: .zero)
    guard mkdir(settings.folder, 0o700) == 0 || errno == EEXIST else {
      throw RecordingError.output("cannot make \(settings.folder): \(String(cString: strerror(errno)))")
    }
    index = try LineFile(creating: progress.index)
  }

  /// Takes the next frame. Nothing can be written after an error.
  func take(_ frame: CodedFrame) throws(RecordingError) {
    guard frame.time >= boundary else { return try write(frame) }
    if frame.kind == (configuration.video == nil ? .audio : .video) {
      if frame.isKeyframe { try cut(at: frame.time) }
      try release()
      try write(frame)
    } else {
      held.append(frame)
      if held.count > Self.mostHeld { try release() }
    }
  }

  /// Changes the title of the segment that is being written, and of those that follow.
  func setTitle(_ title: String) {
    configuration.title = title
    writer?.setTitle(title)
  }

  /// Says where it was recorded.
  func setRoom(_ room: String) {
    self.room = room
    writer?.setTag(WebMConfiguration.Tag.room, room)
  }

  /// Closes the last segment and the index.
  func finish() throws(RecordingError) {
    try release()
    let end = try close(at: nil) ?? start
    try tell("{\"ended\":true,\"segments\":\(progress.closed),\"end_ms\":\(end.milliseconds)}")
  }

  private func cut(at time: SessionTime) throws(RecordingError) {
    // What began before the keyframe stays in the old one.
    let later = held.firstIndex { $0.time >= time } ?? held.endIndex
    for frame in held[..<later] { try write(frame) }
    held.removeSubrange(..<later)
    _ = try close(at: time)
    boundary = settings.boundary(after: time)
    try open(at: time)
  }

  private func release() throws(RecordingError) {
    for frame in held { try write(frame) }
    held.removeAll(keepingCapacity: true)
  }

  private func write(_ frame: CodedFrame) throws(RecordingError) {
    if writer == nil { try open(at: frame.time) }
    guard let writer else { return }
    let time = SessionTime.zero + (frame.time - start)
    switch frame.kind {
    case .audio: try Self.output { () throws(WebMError) in try writer.addAudio(at: time, frame.payload.bytes) }
    case .video:
      try Self.output { () throws(WebMError) in
        try writer.addVideo(at: time, frame.payload.bytes, isKeyframe: frame.isKeyframe)
      }
    }
  }

  private func open(at time: SessionTime) throws(RecordingError) {
    number += 1
    start = time
    var configuration = configuration
    configuration.date = configuration.date.map { $0 &+ time.nanoseconds }
    configuration.describe(program: program)
    // Closing it makes it durable; until then the recording's own file is.
    let writer = try Self.output { () throws(WebMError) in
      try WebMWriter(path: "\(settings.folder)/\(name)", configuration: configuration, syncs: false)
    }
    if let room { writer.setTag(WebMConfiguration.Tag.room, room) }
    self.writer = writer
  }

  /// Closes the segment, at the instant at which the next one begins; gives where it ends, nil when there is none.
  private func close(at next: SessionTime?) throws(RecordingError) -> SessionTime? {
    guard let writer else { return nil }
    self.writer = nil
    let summary = try Self.output { () throws(WebMError) in try writer.finish() }
    let end = next ?? start + summary.duration
    progress.closed += 1
    progress.bytes += UInt64(clamping: summary.size)
    let at = configuration.date.map { ",\"at\":\"\(UTCDate.text($0 &+ start.nanoseconds))\"" } ?? ""
    try tell(
      "{\"file\":\"\(name)\",\"start_ms\":\(start.milliseconds),\"end_ms\":\(end.milliseconds)\(at),\"bytes\":\(summary.size)}"
    )
    return end
  }

  private func tell(_ line: String) throws(RecordingError) {
    index.append(line)
    if index.isBroken { throw RecordingError.output("\(progress.index): cannot be written") }
  }

  private static func output<Result>(_ body: () throws(WebMError) -> Result) throws(RecordingError) -> Result {
    do throws(WebMError) { return try body() } catch { throw RecordingError.output(error.description) }
  }

  private var name: String { String(1_000_000 + number).dropFirst() + ".webm" }
}
