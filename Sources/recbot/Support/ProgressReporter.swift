import Logging
import MediaCore
import Recording
import RecbotKit
import Session

/// How progress is told.
enum ProgressMode: String, CaseIterable {
  /// `live` on a terminal, `plain` otherwise.
  case auto
  /// A line now and then on standard error.
  case plain
  /// A JSON line each second on standard output.
  case json
  /// Nothing.
  case none
}

/// Tells how a recording is getting on. Confined to one task.
struct ProgressReporter {
  private enum Style { case live, plain, json, silent }

  private let style: Style
  private let room: String
  private let isChatOnly: Bool
  private var lastPlain: (phase: RecordingProgress.Phase, time: SessionTime)?
  private var lastJSON: (phase: RecordingProgress.Phase, time: SessionTime)?
  private var status = RoomStatus()
  private var lastBandwidth: BandwidthAlert?
  private var lastDegradation = DegradationStep.none
  private var lastTold: (state: ReconnectPolicy.State, error: RoomError.Kind?) = (.idle, nil)

  init(mode: ProgressMode, room: String, isChatOnly: Bool = false) {
    self.room = room
    self.isChatOnly = isChatOnly
    style =
      switch mode {
      case .auto: Console.errorIsTerminal ? .live : .plain
      case .plain: .plain
      case .json: .json
      case .none: .silent
      }
  }

  /// How often `report` should be called.
  var interval: Duration {
    switch style {
    case .live: .milliseconds(250)
    case .plain, .json: .milliseconds(500)
    case .silent: .seconds(2)
    }
  }

  /// Tells the present state, if it is time to, and everything that the connection said since the last time.
  mutating func report(_ progress: RecordingProgress, _ board: StatusBoard) {
    for status in board.drain() { tell(status, progress) }
    tellBandwidth(progress)
    tellDegradation(progress)
    switch style {
    case .silent: return
    case .live: Console.status(Self.fit(line(progress), columns: Console.columns - 1))
    case .plain:
      // Every change of phase, and a sign of life every ten seconds.
      if progress.phase == .recording, progress.frames == 0, !isChatOnly { return }
      if let last = lastPlain, last.phase == progress.phase, progress.time - last.time < .seconds(10) { return }
      lastPlain = (progress.phase, progress.time)
      Console.error(line(progress))
    case .json:
      if let last = lastJSON, last.phase == progress.phase, progress.time - last.time < .seconds(1) { return }
      lastJSON = (progress.phase, progress.time)
      Console.print(json(progress))
    }
  }

  /// Tells, in JSON, one event of the timeline.
  func tell(event: String) {
    if style == .json { Console.print("{\"room\":\(JSONText.quoted(room))," + event.dropFirst()) }
  }

  /// Tells that nobody has been in the room for a while, and in which rooms there are people.
  func tellEmpty(_ progress: RecordingProgress, _ others: [String], _ logger: Logger) {
    let names = others.map { RoomText.oneLine($0, limit: 80) }.joined(separator: ", ")
    let hint = others.isEmpty ? "" : "; there are people in: \(names)"
    let line = "Nobody is in the room '\(RoomText.oneLine(room, limit: 80))'\(hint)."
    switch style {
    case .live: Console.errorOverStatus(line)
    case .plain: Console.error(line)
    case .json:
      let list = others.map { JSONText.quoted($0) }.joined(separator: ",")
      tell(
        event: "{\"event\":\"empty_room\",\"time_ms\":\(progress.time.milliseconds),\"occupied_rooms\":[\(list)]}")
    case .silent: logger.warning("nobody is in the room", metadata: ["room": "\(RoomText.oneLine(room, limit: 80))"])
    }
  }

  private mutating func tell(_ status: RoomStatus, _ progress: RecordingProgress) {
    self.status = status
    defer { lastTold = (status.state, status.error?.kind) }
    switch style {
    case .silent, .live: return
    case .json:
      lastJSON = (progress.phase, progress.time)
      Console.print(json(progress))
    case .plain:
      // Each attempt of a long outage fails alike: one line is enough. The last error is told at the end.
      guard let error = status.error, status.state != .ended, lastTold != (status.state, error.kind) else { return }
      Console.error("\(RoomText.oneLine(error.summary, limit: 200)): \(status.words).")
    }
  }

  /// The last word; clears the live line.
  mutating func finish(_ summary: RecordingSummary, _ board: StatusBoard) {
    let progress = summary.progress
    for status in board.drain() { tell(status, progress) }
    switch style {
    case .silent: return
    case .json: Console.print(json(progress))
    case .live, .plain:
      if isChatOnly {
        let messages = "\(progress.messages) \(progress.messages == 1 ? "message" : "messages")"
        Console.errorOverStatus("Wrote \(messages) of \(Self.clock(progress.time)): \(Self.reason(summary.end)).")
        return
      }
      let drops =
        (progress.sparedFrames > 0 ? ", \(progress.sparedFrames) spared" : "")
        + (progress.droppedFrames > 0 ? ", \(progress.droppedFrames) dropped" : "")
      let late = progress.lateAudio.milliseconds
      let lost = late > 0 ? ", \(late) ms of sound came too late" : ""
      Console.errorOverStatus(
        "Recorded \(Self.clock(progress.time)) (\(progress.frames) frames\(drops)\(lost), "
          + "\(Self.size(progress.bytes))): \(Self.reason(summary.end)).")
      for line in Self.lines(progress.further) { Console.error(line) }
      if let segments = progress.segments { Console.error(segments.line) }
      for fault in progress.sinks.compactMap(Self.fault) { Console.error("Sink \(fault).") }
    }
  }

  /// The last word on further files, a line each.
  static func lines(_ files: [FurtherProgress]) -> [String] {
    files.map { file in
      let frames = file.frames > 0 ? "\(file.frames) frames, " : ""
      let drops = file.droppedFrames > 0 ? "\(file.droppedFrames) dropped, " : ""
      let end = file.failure == nil ? "" : ": it is not whole"
      return "Also \(file.path) (\(frames)\(drops)\(size(file.bytes)))\(end)."
    }
  }

  private static func json(_ file: FurtherProgress) -> String {
    "{\"file\":\(JSONText.quoted(file.path)),\"frames\":\(file.frames),\"dropped_frames\":\(file.droppedFrames),"
      + "\"bytes\":\(file.bytes),\"failure\":\(file.failure.map { JSONText.quoted($0.description) } ?? "null")}"
  }

  /// The last word on a sink that did not get everything; nil: it did.
  static func fault(_ sink: SinkProgress) -> String? {
    let lost = sink.hasPictures ? "\(sink.lostBlocks) pictures" : "\(sink.lostBlocks * 20) ms of sound"
    var faults = sink.lostBlocks > 0 ? ["\(lost) were not read in time"] : []
    if let failure = sink.failure { faults.append(failure) }
    return faults.isEmpty ? nil : "\(RoomText.oneLine(sink.sink, limit: 120)): \(faults.joined(separator: "; "))"
  }

  private static func json(_ sink: SinkProgress) -> String {
    "{\"sink\":\(JSONText.quoted(sink.sink)),\"readers\":\(sink.readers),\"lost_blocks\":\(sink.lostBlocks),"
      + "\"failure\":\(sink.failure.map { JSONText.quoted($0) } ?? "null")}"
  }

  private func line(_ progress: RecordingProgress) -> String {
    let people = "\(progress.participants) \(progress.participants == 1 ? "person" : "people")"
    switch progress.phase {
    case .waiting: return "○ \(status.words) \(RoomText.oneLine(room, limit: 80))…"
    case .finished: return "finishing…"
    case .recording, .reconnecting:
      var parts = ["\(progress.phase == .recording ? "●" : "◌ reconnecting") \(Self.clock(progress.time))", people]
      if let talker = progress.talker { parts.append("talking: \(RoomText.oneLine(talker, limit: 24))") }
      if progress.messages > 0 || isChatOnly { parts.append("\(progress.messages) messages") }
      if let alert = progress.bandwidth, alert.isLimited { parts.append("low bandwidth: \(alert.words)") }
      if isChatOnly { return parts.joined(separator: "  ") }
      parts.append(progress.layout)
      if let pause = progress.pause { parts.append("paused (\(pause.rawValue))") }
      parts.append("\(progress.frames) frames")
      if progress.degradation > .none { parts.append("saving (\(progress.degradation.name))") }
      if progress.droppedFrames > 0 { parts.append("\(progress.droppedFrames) dropped") }
      parts.append(Self.size(progress.bytes))
      return parts.joined(separator: "  ")
    }
  }

  private func json(_ progress: RecordingProgress) -> String {
    let further = progress.further.map { Self.json($0) }.joined(separator: ",")
    let also =
      (further.isEmpty ? "" : "\"also\":[\(further)],") + (progress.segments.map { "\"segments\":\($0.json)," } ?? "")
      + (progress.sinks.isEmpty ? "" : "\"sinks\":[\(progress.sinks.map(Self.json).joined(separator: ","))],")
    let talker = progress.talker.map { JSONText.quoted($0) } ?? "null"
    let pause = progress.pause.map { "\"\($0.rawValue)\"" } ?? "null"
    return "{\"room\":\(JSONText.quoted(room)),\"phase\":\"\(progress.phase.rawValue)\","
      + "\"time_ms\":\(progress.time.milliseconds),\"participants\":\(progress.participants),"
      + "\"talker\":\(talker),\"layout\":\(JSONText.quoted(progress.layout)),"
      + "\"scene\":\(JSONText.quoted(progress.scene)),\"paused\":\(pause),"
      + "\"title\":\(JSONText.quoted(progress.title)),\"frames\":\(progress.frames),"
      + "\"dropped_frames\":\(progress.droppedFrames),\"late_sound_ms\":\(progress.lateAudio.milliseconds),"
      + "\"spared_frames\":\(progress.sparedFrames),\"degradation\":\"\(progress.degradation.name)\","
      + "\"decode_errors\":\(progress.decodeErrors),"
      + "\"bytes\":\(progress.bytes),\"messages\":\(progress.messages),\"log\":\(progress.log?.json ?? "null"),"
      + "\"bandwidth_alert\":\(progress.bandwidth?.json ?? "null"),"
      + "\"path\":\(progress.path.map { JSONText.quoted("\($0)") } ?? "null"),\(also)\(status.json)}"
  }

  /// A line when something else is done without to save processor time.
  private mutating func tellDegradation(_ progress: RecordingProgress) {
    guard progress.degradation != lastDegradation else { return }
    lastDegradation = progress.degradation
    guard style == .plain else { return }
    Console.error(
      progress.degradation == .none
        ? "There is processor time enough: \(progress.degradation.words)."
        : "Saving processor time: \(progress.degradation.words).")
  }

  /// A line when the number of videos that can be received has changed.
  private mutating func tellBandwidth(_ progress: RecordingProgress) {
    guard progress.bandwidth != lastBandwidth else { return }
    lastBandwidth = progress.bandwidth
    guard style == .plain, let alert = progress.bandwidth else { return }
    Console.error(alert.isLimited ? "Low bandwidth: \(alert.words)." : "The bandwidth suffices for all videos again.")
  }

  /// Why a recording ended, for people.
  static func reason(_ end: SessionEnd) -> String {
    switch end {
    case .stopped: "stopped"
    case .roomEnded: "the room ended"
    case .evicted: "another client joined with the bot's identity"
    case .removed: "the bot was removed from the room"
    case .maxDuration: "the maximum duration is reached"
    case .empty: "nobody was in the room any more"
    case .connectionLost(let why): "the connection was lost (\(why))"
    }
  }

  /// A moment of the recording: `1:02:03`, or `02:03` below an hour.
  static func clock(_ time: SessionTime) -> String { clock(time.sinceBeginning) }

  /// A length, likewise.
  static func clock(_ span: Duration) -> String {
    let seconds = span.milliseconds / 1000
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let (hours, rest) = seconds.quotientAndRemainder(dividingBy: 3600)
    return (hours > 0 ? "\(hours):" : "") + "\(two(rest / 60)):\(two(rest % 60))"
  }

  /// `3.2 MB`.
  static func size(_ bytes: UInt64) -> String {
    if bytes < 1_000_000 { return "\(bytes / 1000) kB" }
    let tenths = bytes / 100_000
    return "\(tenths / 10).\(tenths % 10) MB"
  }

  private static func fit(_ text: String, columns: Int) -> String {
    guard Console.columns(of: text) > columns else { return text }
    var shown = text
    while Console.columns(of: shown) >= columns, !shown.isEmpty { shown.removeLast() }
    return shown + "…"
  }
}

extension LogProgress {
  /// As a JSON object.
  fileprivate var json: String {
    "{\"bytes\":\(bytes),\"missing_frames\":\(missingFrames),"
      + "\"failure\":\(failure.map { JSONText.quoted($0) } ?? "null")}"
  }
}

extension SegmentProgress {
  /// The last word on them.
  fileprivate var line: String {
    "Also \(folder) (\(closed) \(closed == 1 ? "segment" : "segments"), \(ProgressReporter.size(bytes)))"
      + (failure == nil ? "." : ": not all were written.")
  }

  /// As a JSON object.
  fileprivate var json: String {
    "{\"index\":\(JSONText.quoted(index)),\"closed\":\(closed),\"bytes\":\(bytes),"
      + "\"failure\":\(failure.map { JSONText.quoted($0) } ?? "null")}"
  }
}

extension BandwidthAlert {
  /// `2 videos`, for people.
  fileprivate var words: String {
    switch numberOfVideos {
    case 0: "sound only"
    case 1: "1 video"
    default: "\(numberOfVideos) videos"
    }
  }
}
