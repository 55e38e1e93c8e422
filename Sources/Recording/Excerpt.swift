import MediaCore
import Session

/// A part of a recording: what lies before it is planned, since that says who is there and what is shown, and hardly costs
/// anything; of pictures only those are decoded on which the part's own build. Confined to the recording's thread.
final class Excerpt<Work: OutputHandler>: OutputHandler {
  private let work: Work
  private let from: SessionTime
  /// The first slot of the part.
  private let firstSlot: Int64
  private typealias Held = (id: FrameID, frame: EncodedFrame, burst: UInt64)
  /// Frames of each track since its last keyframe but one, until the part begins.
  private var held: [TrackID: (frames: [Held], bytes: Int)] = [:]
  /// The number of this burst.
  private var burst: UInt64 = 0
  private var hasBegun: Bool
  /// More than this of a track is not held, but decoded.
  private static var heldLimit: Int { 16 << 20 }
  /// Sound is decoded this long before the part begins: decoders have a memory.
  private static var audioLead: Duration { .seconds(1) }

  /// The part of what `work` would make that begins with the first slot at or after `from`.
  init(of work: Work, from: SessionTime, settings: SessionCore.Settings) {
    self.work = work
    let (seconds, rest) = max(0, from.nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
    let framesPerSecond = Int64(settings.framesPerSecond)
    firstSlot = seconds * framesPerSecond + (rest * framesPerSecond + 999_999_999) / 1_000_000_000
    self.from = settings.slotTime(firstSlot)
    hasBegun = firstSlot == 0
  }

  var progress: RecordingProgress { work.progress }

  func prepare(_ event: inout SessionEvent) {
    // Time in the file never runs ahead of the session's.
    let isRoom = if case .room = event.payload { true } else { false }
    if isRoom || event.arrived + Self.audioLead >= from { work.prepare(&event) }
  }

  func beginBurst(_ outputs: [SessionOutput]) {
    burst &+= 1
    work.beginBurst(hasBegun ? outputs : [])
  }

  func perform(_ output: SessionOutput, isLate: Bool) throws(RecordingError) -> SessionFinding? {
    switch output {
    case .decode(let id, let frame, let track, _) where !hasBegun: return try hold(id, frame, of: track)
    case .audio(let id, let frame, let track, let time, let end):
      guard time >= from else { return nil }
      return try work.perform(
        .audio(id, frame, of: track, at: inPart(time), until: end.map(inPart)), isLate: isLate)
    case .compose(var plan):
      guard plan.slot >= firstSlot else { return nil }
      if !hasBegun { try begin() }
      plan.slot -= firstSlot
      plan.time = inPart(plan.time)
      return try work.perform(.compose(plan), isLate: isLate)
    case .composeFurther(let number, var plan):
      guard plan.slot >= firstSlot else { return nil }
      plan.slot -= firstSlot
      plan.time = inPart(plan.time)
      return try work.perform(.composeFurther(number, plan), isLate: isLate)
    case .note(var entry):
      // What came before is known to those who look at the whole.
      guard entry.time >= from else {
        work.remember(entry)
        return nil
      }
      entry.time = inPart(entry.time)
      return try work.perform(.note(entry), isLate: isLate)
    case .release(let track):
      held[track] = nil
      return try work.perform(output, isLate: isLate)
    default: return try work.perform(output, isLate: isLate)
    }
  }

  /// A moment of the whole file, in the part's.
  private func inPart(_ time: SessionTime) -> SessionTime { .zero + (time - from) }

  func remember(_ entry: TimelineEntry) { work.remember(entry) }

  func tell(_ core: borrowing SessionCore, at now: SessionTime) { work.tell(core, at: now) }

  func finish(at end: SessionTime) throws(RecordingError) { try work.finish(at: end) }

  private func hold(
    _ id: FrameID, _ frame: EncodedFrame, of track: TrackID
  ) throws(RecordingError) -> SessionFinding? {
    var entry = held.removeValue(forKey: track) ?? ([], 0)
    // A plan of this burst may still show what comes before this keyframe, but nothing before the one of an earlier burst.
    if frame.isKeyframe, let last = entry.frames.lastIndex(where: { $0.frame.isKeyframe && $0.burst != burst }) {
      entry.frames.removeFirst(last)
      entry.bytes = entry.frames.reduce(0) { $0 + $1.frame.payload.count }
    }
    entry.frames.append((id, frame, burst))
    entry.bytes += frame.payload.count
    guard entry.bytes > Self.heldLimit else {
      held[track] = entry
      return nil
    }
    return try decode(entry.frames, of: track)
  }

  private func begin() throws(RecordingError) {
    hasBegun = true
    let tracks = held.sorted { $0.key < $1.key }
    held = [:]
    for (track, entry) in tracks {
      let older = entry.frames.filter { $0.burst != burst }
      let first = older.lastIndex { $0.frame.isKeyframe } ?? 0
      _ = try decode(Array(older[first...]), of: track)
    }
    // Of these frames each picture may be named by a plan of this burst.
    work.beginBurst([])
    for (track, entry) in tracks {
      for (id, frame, _) in entry.frames.filter({ $0.burst == burst }) {
        _ = try work.perform(.decode(id, frame, of: track, at: .zero), isLate: false)
      }
    }
  }

  /// Decodes frames of bursts that are over: of each track only the newest picture is needed.
  private func decode(_ frames: [Held], of track: TrackID) throws(RecordingError) -> SessionFinding? {
    var finding: SessionFinding?
    for (id, frame, _) in frames {
      work.beginBurst([])
      finding = try work.perform(.decode(id, frame, of: track, at: .zero), isLate: false)
    }
    return finding
  }
}
