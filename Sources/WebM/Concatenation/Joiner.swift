import CWebMParser
import MediaCore

/// Copies parts into a writer, one after the other, and fills what lies between them. Confined to one thread.
final class Joiner {
  /// Where a track stands, in the joined file.
  private struct TrackProgress {
    /// End of its latest frame.
    var end = SessionTime.zero
    /// True once a frame of the part under way is there.
    var hasBegun = false
  }

  private let concatenation: Concatenation
  private let writer: WebMWriter
  private let makeSlate: (Concatenation.Gap) throws -> [EncodedFrame]
  private let progress: (Int64) throws -> Void
  private let silence: OpusSilence

  private var video = TrackProgress()
  private var audio = TrackProgress()
  /// The part under way.
  private var head: PartHead
  /// Where the part's time zero is in the joined file.
  private var origin = SessionTime.zero
  private var frames = 0
  private var gap: Concatenation.Gap?
  private var slate: [EncodedFrame] = []
  private var slateIndex = 0

  private var bytesBefore: Int64 = 0
  private var bytesTold: Int64 = 0
  private var parts: [Concatenation.JoinedPart] = []
  private var gaps: [Concatenation.Gap] = []
  private var failure: (any Error)?

  init(
    _ concatenation: Concatenation, writer: WebMWriter,
    slate: @escaping (Concatenation.Gap) throws -> [EncodedFrame], progress: @escaping (Int64) throws -> Void
  ) {
    self.concatenation = concatenation
    self.writer = writer
    makeSlate = slate
    self.progress = progress
    silence = OpusSilence(channels: concatenation.configuration.audio?.channels ?? 2)
    head = concatenation.heads[0]
  }

  /// Copies one part.
  func copy(_ part: PartHead) throws {
    head = part
    frames = 0
    gap = nil
    slate = []
    slateIndex = 0
    video.hasBegun = false
    audio.hasBegun = false
    let overlap = try place(part)
    let events = CopyEvents(self)
    let result = try WebMReader.parse(path: part.path, events: events, wholeFrames: true)
    if let failure { throw failure }
    for chapter in events.chapters {
      let start = shifted(chapter.start)
      writer.addChapter(start: start, end: max(start, shifted(chapter.end)), title: chapter.title)
    }
    let known = concatenation.configuration.tags.map(\.name)
    for tag in events.tags where !known.contains(tag.name) { writer.setTag(tag.name, tag.value) }
    bytesBefore &+= part.size
    try progress(bytesBefore)
    parts.append(
      Concatenation.JoinedPart(
        path: part.path, start: origin, end: end, frames: frames, isWhole: result.status == 0, overlap: overlap))
  }

  /// Ends the file.
  func finish() throws -> Concatenation.Summary {
    if parts.count > 1 { writer.setTag("PARTS", "\(parts.count)") }
    let gaps = gaps
    if !gaps.isEmpty {
      writer.setTag(Concatenation.gapsTag, gaps.map { "\($0.start)-\($0.end)" }.joined(separator: " "))
    }
    return Concatenation.Summary(
      file: try writer.finish(), parts: parts, gaps: gaps, skipped: concatenation.skipped)
  }

  private static let longestGapInDays = Concatenation.longestGap.components.seconds / 86_400

  private var end: SessionTime { max(video.end, audio.end) }

  /// Finds out where a part begins in the joined file; gives how much too early its date is for that.
  private func place(_ part: PartHead) throws(WebMError) -> Duration {
    guard !parts.isEmpty else { return .zero }
    var wanted = end
    switch concatenation.spacing {
    case .fixed(let gap): wanted = end + max(.zero, gap)
    case .dates:
      if let first = concatenation.heads[0].date, let date = part.date { wanted.nanoseconds = date &- first }
    }
    guard wanted - end <= Concatenation.longestGap else {
      throw WebMError(
        code: .invalid,
        operation: "begins more than \(Self.longestGapInDays) days after the part before ends; "
          + "correct its date, or say how long the gaps are", path: part.path)
    }
    // On the beat of the pictures, so that whoever counts in whole pictures never finds two at one place; and in whole
    // milliseconds, the file's own unit, so that the distances inside the part stay what they are.
    var start = max(wanted, end)
    let beat = frameDuration.nanoseconds
    if beat > 0 {
      start.nanoseconds = (start.nanoseconds &+ beat / 2) / beat &* beat
      if start + .milliseconds(1) < end { start += frameDuration }
    }
    origin = SessionTime(nanoseconds: (start.nanoseconds &+ 500_000) / 1_000_000 * 1_000_000)
    return max(.zero, end - wanted)
  }

  private func shifted(_ time: SessionTime) -> SessionTime {
    origin + max(.zero, time).sinceBeginning
  }

  // MARK: - Frames

  /// Takes a frame of the part under way; false: no more of them.
  fileprivate func take(_ frame: cwebm_frame, scale: UInt64) -> Bool {
    do {
      let bytes = UnsafeRawBufferPointer(start: frame.bytes, count: frame.available)
      let time = ParserEvents.time(ticks: frame.ticks, scale: scale)
      if frame.track == head.video?.number {
        try takePicture(bytes, at: shifted(time))
      } else if frame.track == head.audio?.number {
        // Frames behind the first of a lace have no time of their own.
        try takeAudio(bytes, at: frame.in_lace != 0 ? nil : shifted(time))
      }
      let position = bytesBefore &+ Int64(clamping: frame.position)
      if position &- bytesTold >= 1 << 22 {
        bytesTold = position
        try progress(position)
      }
      return true
    } catch {
      failure = error
      return false
    }
  }

  private func takePicture(_ bytes: UnsafeRawBufferPointer, at time: SessionTime) throws {
    guard let first = bytes.first else { return }
    let isKeyframe =
      switch head.video?.settings.codec {
      case .vp9: VP9FrameHeader(bytes)?.isKeyframe == true
      case .av1: AV1Features.isKeyframe(bytes)
      // RFC 6386 section 9.1: the lowest bit of a keyframe is 0.
      case .vp8, nil: first & 1 == 0
      }
    guard isKeyframe || video.hasBegun else { return }
    if !video.hasBegun {
      try begin(at: time)
      try fill(videoTo: time, audioTo: nil)
      video.hasBegun = true
    }
    try writer.addVideo(at: time, bytes, isKeyframe: isKeyframe)
    video.end = max(video.end, time + frameDuration)
    frames += 1
  }

  private func takeAudio(_ bytes: UnsafeRawBufferPointer, at given: SessionTime?) throws {
    let time = given.map { $0 + delayDifference } ?? audio.end
    if !audio.hasBegun {
      try begin(at: time)
      try fill(videoTo: nil, audioTo: time)
      audio.hasBegun = true
    }
    try writer.addAudio(at: time, bytes)
    audio.end = max(audio.end, time + .nanoseconds(OpusPacket(bytes)?.duration ?? 20_000_000))
    frames += 1
  }

  private var frameDuration: Duration { concatenation.configuration.video?.frameDuration ?? .zero }

  /// Players take the first part's encoder delay off all sound; a part with another one is moved by the difference.
  private var delayDifference: Duration {
    let own = head.audio?.settings.preSkip ?? 0
    let common = concatenation.configuration.audio?.preSkip ?? 0
    return .nanoseconds(Int64(common - own) * 1_000_000_000 / 48_000)
  }

  // MARK: - Gaps

  /// What lies before the part's first frame is filled on both tracks.
  private func begin(at time: SessionTime) throws {
    guard !parts.isEmpty, !video.hasBegun, !audio.hasBegun else { return }
    let start = concatenation.configuration.video == nil ? audio.end : video.end
    let gap = Concatenation.Gap(start: start, end: max(start, time), dates: dates(start, time))
    self.gap = gap
    if time - start >= shortestGap { gaps.append(gap) }
    if time - start >= shortestSlate {
      writer.addChapter(start: gap.start, end: gap.end, title: "Recording interrupted")
      writer.addChapter(start: gap.end, title: "Recording continued")
    }
    try fill(videoTo: time, audioTo: time)
  }

  /// Shorter ones are only the way from one frame to the next.
  private var shortestGap: Duration { max(frameDuration * 2, .milliseconds(40)) }

  /// Shorter ones show the last picture, and get no chapter: that a new recorder took another's place should not flicker.
  private var shortestSlate: Duration { max(shortestGap, .milliseconds(250)) }

  /// Wall-clock time of two instants of the joined file.
  private func dates(_ start: SessionTime, _ end: SessionTime) -> Range<Int64>? {
    guard concatenation.spacing == .dates, let first = concatenation.heads[0].date else { return nil }
    let from = first &+ start.nanoseconds
    return from..<max(from, first &+ end.nanoseconds)
  }

  /// Continues the tracks with slate and silence, in order of time. Nil: not that track.
  private func fill(videoTo: SessionTime?, audioTo: SessionTime?) throws {
    guard !parts.isEmpty else { return }
    // Where a track stands is also where it is filled to when there is nothing to fill.
    let videoEnd = concatenation.configuration.video == nil ? video.end : videoTo ?? video.end
    let audioEnd = concatenation.configuration.audio == nil ? audio.end : audioTo ?? audio.end
    guard max(videoEnd - video.end, audioEnd - audio.end) <= Concatenation.longestGap else {
      throw WebMError(
        code: .invalid, operation: "has a frame more than \(Self.longestGapInDays) days after its beginning",
        path: head.path)
    }
    let showsSlate = videoEnd - video.end >= shortestSlate
    if showsSlate { try prepareSlate() }
    while true {
      // The last slate makes room for the next picture.
      let needsPicture = showsSlate && videoEnd - video.end > frameDuration / 2
      let packet = silence.packet(within: audioEnd - audio.end)
      if let packet, !needsPicture || audio.end <= video.end {
        try put(packet)
      } else if needsPicture {
        try putSlate()
      } else {
        return
      }
    }
  }

  private func prepareSlate() throws {
    guard slate.isEmpty, let gap else { return }
    slate = try makeSlate(gap)
    guard let first = slate.first, first.isKeyframe else {
      throw WebMError(code: .invalid, operation: "a slate must begin with a keyframe", path: writer.path)
    }
  }

  private func putSlate() throws {
    let frame = slate[slateIndex]
    slateIndex = (slateIndex + 1) % slate.count
    try writer.addVideo(at: video.end, frame.payload.bytes, isKeyframe: frame.isKeyframe)
    video.end += max(.milliseconds(1), frameDuration)
  }

  private func put(_ packet: OpusSilence.Packet) throws {
    let time = audio.end
    try packet.bytes.withUnsafeBytes { try writer.addAudio(at: time, $0) }
    audio.end += packet.length
  }
}

/// Gathers a part's chapters and tags and hands on its frames.
private final class CopyEvents: ParserEvents {
  private(set) var chapters: [ProbeReport.Chapter] = []
  private(set) var tags: [ProbeReport.Tag] = []
  private var scale: UInt64 = 1_000_000
  private let joiner: Joiner

  init(_ joiner: Joiner) { self.joiner = joiner }

  override func info(_ info: cwebm_info) { scale = info.timestamp_scale }
  override func frame(_ frame: cwebm_frame) -> Bool { joiner.take(frame, scale: scale) }

  override func chapter(start: UInt64, end: UInt64, title: String) {
    guard chapters.count < 10_000 else { return }
    chapters.append(
      ProbeReport.Chapter(
        start: SessionTime(nanoseconds: Int64(clamping: start)), end: SessionTime(nanoseconds: Int64(clamping: end)),
        title: title))
  }

  override func tag(name: String, value: String) {
    guard tags.count < 10_000 else { return }
    tags.append(ProbeReport.Tag(name: name, value: value))
  }
}
