import CWebMParser
import MediaCore

/// Examines WebM and Matroska files with libwebm's parser, never with the writer's own code.
public enum WebMProbe {
  /// Examines a file. Reads all of it except the payloads. Throws `.open`, `.read`, or `.notWebM` for a file that has
  /// no EBML head; damage of any other kind is told in the report. Blocks for the disk.
  public static func probe(_ path: String) throws(WebMError) -> ProbeReport {
    let events = ProbeEvents(path: path)
    let result = try WebMReader.parse(path: path, events: events, wholeFrames: false)
    return try events.finish(result)
  }

  /// Examines bytes in memory; `name` stands for the file's name in the report.
  public static func probe(_ bytes: UnsafeRawBufferPointer, name: String) throws(WebMError) -> ProbeReport {
    let events = ProbeEvents(path: name)
    return try events.finish(WebMReader.parse(bytes, events: events, wholeFrames: false))
  }
}

/// Gathers a report.
private final class ProbeEvents: ParserEvents {
  private static let gapLimit = 1000
  private static let itemLimit = 10_000
  private static let audioTolerance = Duration.milliseconds(40)

  private struct Progress {
    var latest: SessionTime?
    var latestEnd = SessionTime.zero
    var latestKeyframe: SessionTime?
    /// Of a VP9 track: what its first keyframe says, and what the container adds.
    var vp9: VP9FrameHeader?
    /// Of an AV1 track: what the container says.
    var av1: AV1Features?
    var colour = VP9Features.Colour()
  }

  private var report: ProbeReport
  private var progress: [Progress] = []
  private var scale: UInt64 = 1_000_000
  private var durationTicks: Double?
  private var hasHeader = false
  private var segments = 0
  private var segmentStart: UInt64 = 0
  private var segmentEnd: UInt64?
  private var clusterPositions: [UInt64] = []
  private var cuePositions: [UInt64] = []
  private var strayFrames = 0
  private var startsWithoutKeyframe = false

  init(path: String) { report = ProbeReport(path: path) }

  override func header(_ header: cwebm_header) {
    guard !hasHeader else { return }
    hasHeader = true
    report.container = Self.text(header.doc_type)
    report.containerVersion = header.doc_type_version
  }

  override func segment(dataPosition: UInt64, size: UInt64) {
    segments += 1
    guard segments == 1 else { return }
    segmentStart = dataPosition
    segmentEnd = size == UInt64.max ? nil : dataPosition &+ size
  }

  override func info(_ info: cwebm_info) {
    scale = info.timestamp_scale
    durationTicks = info.has_duration != 0 ? info.duration_ticks : nil
    report.title = Self.text(info.title)
    report.muxingApp = Self.text(info.muxing_app)
    report.writingApp = Self.text(info.writing_app)
    report.date = info.has_date != 0 ? info.date &+ 978_307_200_000_000_000 : nil
  }

  override func track(_ track: cwebm_track) {
    guard report.tracks.count < 128 else { return }
    let kind: MediaKind? = track.type == 1 ? .video : track.type == 2 ? .audio : nil
    var result = ProbeReport.Track(number: track.number, kind: kind, codec: Self.text(track.codec_id))
    result.width = Int(clamping: track.width)
    result.height = Int(clamping: track.height)
    // NaN and infinity have no Int either.
    result.sampleRate = Int(exactly: track.sampling_frequency.rounded()) ?? 0
    result.channels = Int(clamping: track.channels)
    result.defaultDuration = .nanoseconds(Int64(clamping: track.default_duration))
    result.codecDelay = .nanoseconds(Int64(clamping: track.codec_delay))
    report.tracks.append(result)
    var beginning = Progress()
    if result.codec == RecordingCodec.av1.matroskaCodecID {
      beginning.av1 = AV1Features(
        codecPrivate: UnsafeRawBufferPointer(start: track.codec_private, count: track.codec_private_size))
    }
    beginning.colour = .init(primaries: track.primaries, transfer: track.transfer, matrix: track.matrix)
    progress.append(beginning)
  }

  override func seek(id: UInt32, position: UInt64) { report.seekEntries += 1 }

  override func cluster(position: UInt64, size: UInt64, ticks: UInt64) {
    report.clusters += 1
    if clusterPositions.count < 1_000_000 { clusterPositions.append(position) }
  }

  override func cue(ticks: UInt64, track: UInt64, clusterPosition: UInt64) {
    report.cues += 1
    if cuePositions.count < 1_000_000 { cuePositions.append(clusterPosition) }
  }

  override func chapter(start: UInt64, end: UInt64, title: String) {
    guard report.chapters.count < Self.itemLimit else { return }
    report.chapters.append(
      ProbeReport.Chapter(
        start: SessionTime(nanoseconds: Int64(clamping: start)), end: SessionTime(nanoseconds: Int64(clamping: end)),
        title: title))
  }

  override func tag(name: String, value: String) {
    guard report.tags.count < Self.itemLimit else { return }
    report.tags.append(ProbeReport.Tag(name: name, value: value))
  }

  override func frame(_ frame: cwebm_frame) -> Bool {
    guard let index = report.tracks.firstIndex(where: { $0.number == frame.track }) else {
      strayFrames += 1
      return true
    }
    let kind = report.tracks[index].kind
    let nominal = report.tracks[index].defaultDuration
    var length = nominal
    if report.tracks[index].codec == "A_OPUS" {
      let head = UnsafeRawBufferPointer(start: frame.bytes, count: frame.available)
      length = OpusPacket(head).map { .nanoseconds($0.duration) } ?? nominal
    }
    // Frames behind the first of a lace follow it without a time of their own.
    let previousEnd = progress[index].latestEnd
    let time = frame.in_lace != 0 ? previousEnd : Self.time(ticks: frame.ticks, scale: scale)
    let end = max(time, time + length)

    report.tracks[index].frames += 1
    report.tracks[index].bytes &+= Int64(clamping: frame.size)
    if let latest = progress[index].latest {
      if time < latest { report.tracks[index].disordered += 1 }
      let gap = max(.zero, time - previousEnd)
      // Timestamps are rounded to the file's ticks, so a frame may seem late by one.
      let tick = Duration.nanoseconds(Int64(clamping: scale))
      let tolerance = kind == .audio ? Self.audioTolerance : max(nominal, .nanoseconds(1)) + tick
      report.tracks[index].largestGap = max(report.tracks[index].largestGap, gap)
      if gap > tolerance, nominal > .zero || kind == .audio, report.gaps.count < Self.gapLimit {
        report.gaps.append(ProbeReport.Gap(track: frame.track, start: previousEnd, end: time))
      }
    } else {
      report.tracks[index].start = time
      if kind == .video, frame.is_keyframe == 0 { startsWithoutKeyframe = true }
    }
    if frame.is_keyframe != 0 {
      report.tracks[index].keyframes += 1
      if progress[index].vp9 == nil, report.tracks[index].codec == RecordingCodec.vp9.matroskaCodecID {
        progress[index].vp9 = VP9FrameHeader(UnsafeRawBufferPointer(start: frame.bytes, count: frame.available))
      }
      noteKeyframe(index, at: time)
      progress[index].latestKeyframe = time
    }
    progress[index].latest = max(progress[index].latest ?? time, time)
    progress[index].latestEnd = max(progress[index].latest == nil ? end : previousEnd, end)
    return true
  }

  private func noteKeyframe(_ index: Int, at time: SessionTime) {
    guard let latest = progress[index].latestKeyframe else { return }
    report.tracks[index].longestKeyframeInterval = max(report.tracks[index].longestKeyframeInterval, time - latest)
  }

  /// The report, when parsing has ended.
  func finish(_ result: cwebm_result) throws(WebMError) -> ProbeReport {
    guard hasHeader, segments > 0 else {
      let reason = result.size == 0 ? "it is empty" : hasHeader ? "it has no Segment" : "it has no EBML head"
      throw WebMError(code: .notWebM, operation: reason, path: report.path)
    }
    report.size = Int64(clamping: result.size)
    for index in report.tracks.indices where report.tracks[index].frames > 0 {
      let end = progress[index].latestEnd
      report.tracks[index].end = end
      report.end = max(report.end, report.tracks[index].end)
      noteKeyframe(index, at: end)
      report.tracks[index].codecString = codecString(index)
    }
    if let durationTicks {
      let nanoseconds = durationTicks * Double(scale)
      if nanoseconds >= 0, nanoseconds < 9e18 {
        report.declaredDuration = .nanoseconds(Int64(nanoseconds.rounded()))
      }
    }
    report.hasSegmentSize = segmentEnd == result.size
    findProblems(result)
    return report
  }

  /// How players are asked whether they play a track; the level of VP9 is that of the frames, whatever the file declares.
  private func codecString(_ index: Int) -> String? {
    let track = report.tracks[index]
    switch track.codec {
    case "V_VP8": return "vp8"
    case "A_OPUS": return "opus"
    case "V_AV1": return progress[index].av1?.codecString
    default: break
    }
    guard let header = progress[index].vp9 else { return nil }
    let nominal = track.defaultDuration.nanoseconds
    let level = VP9Level(
      width: header.width, height: header.height,
      framesPerSecond: nominal > 0 ? 1e9 / Double(nominal) : track.framesPerSecond, bitrate: track.bitrate)
    return level.flatMap { VP9Features.codecString(header, $0, progress[index].colour) }
  }

  private func findProblems(_ result: cwebm_result) {
    if result.status == -3 {
      let cut = result.size > result.element ? result.size - result.element : 0
      report.problems.append(
        "ends inside an element: the last \(cut) bytes, from byte \(result.element), are incomplete")
    } else if result.status != 0 {
      let rest = result.size > result.position ? result.size - result.position : 0
      report.problems.append(
        "damaged at byte \(result.position) (libwebm status \(result.status)); \(rest) bytes after it were not examined"
      )
    }
    if let segmentEnd, segmentEnd != result.size {
      report.problems.append("the Segment ends at byte \(segmentEnd), the file at byte \(result.size)")
    }
    if segments > 1 { report.problems.append("\(segments) Segments") }
    if report.tracks.isEmpty { report.problems.append("no tracks") }
    if strayFrames > 0 { report.problems.append("\(strayFrames) frames of tracks that are not declared") }
    if startsWithoutKeyframe { report.problems.append("pictures begin without a keyframe") }
    for track in report.tracks where track.disordered > 0 {
      let frames = track.disordered == 1 ? "1 frame is" : "\(track.disordered) frames are"
      report.problems.append("track \(track.number): \(frames) not in order of time")
    }
    if clusterPositions.count < 1_000_000 {
      let known = Set(clusterPositions)
      let lost = cuePositions.count { !known.contains(segmentStart &+ $0) }
      if lost > 0 { report.problems.append("\(lost) Cues point to places where no Cluster begins") }
    }
    if let declared = report.declaredDuration, declared + .milliseconds(100) < report.end.sinceBeginning {
      report.problems.append("Duration is \(declared.inSeconds) s but frames go on until \(report.end) s")
    }
  }
}
