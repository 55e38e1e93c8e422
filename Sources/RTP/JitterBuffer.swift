import MediaCore

/// Puts the packets of one video stream in order, joins them to frames, waits for retransmissions, and after a loss
/// goes on where decoding is possible again. Give it every packet, then poll until it answers `.wait`.
///
/// A frame is handed out as soon as all its packets and all frames before it are there. A missing packet is waited
/// for at most `maximumWait` after its absence was noticed. Padding-only packets consume sequence numbers and nothing
/// else; when picture identifiers show that nothing but padding was lost, there is no wait. Delta frames that can't
/// be decoded are left out, and `needsKeyframe` is true until a keyframe comes.
///
/// Large: order, completeness and repair of frames are decided over one window of packets.
public struct JitterBuffer {
  /// How long it waits, and how much it holds.
  public struct Configuration: Sendable {
    /// How long to wait for a missing packet.
    public var maximumWait = Duration.milliseconds(400)
    /// Packets kept, rounded up to a power of two, at most 32768; a stream further ahead starts again.
    public var capacity = 1024
    /// Leave out keyframes of at most 8x8 pixels: a forwarder sends them when a track ends, they are not pictures.
    public var dropsBlankFrames = true
    /// The default limits.
    public init() {}
  }

  /// What `poll` answers.
  public enum Output: Sendable {
    /// The next frame; poll again. It was made of packets with these extended sequence numbers, the latest of which
    /// arrived at `completed`. `followsLoss`: frames before it are missing that it, or pictures near it, would have
    /// needed. Only keyframes are handed out then, so decoding can always go on; the picture before has stood still.
    case frame(EncodedFrame, sequences: ClosedRange<Int64>, completed: Instant)
    /// Nothing now. Poll after the next packet, and at `until` when that is given.
    case wait(until: Instant?)
  }

  /// Counters since the beginning.
  public struct Statistics: Sendable, Hashable {
    /// Frames handed out.
    public var frames = 0
    /// Keyframes among them.
    public var keyframes = 0
    /// Frames that came, wholly or in part, and were left out.
    public var droppedFrames = 0
    /// Keyframes left out because they were blank.
    public var blankFrames = 0
    /// Packets that never came in time.
    public var lostPackets = 0
    /// Packets that were there already.
    public var duplicates = 0
    /// Packets that came after they had been given up (or handed out).
    public var late = 0
    /// Packets whose payload made no sense.
    public var malformed = 0
    /// Padding-only packets.
    public var padding = 0
    /// Times that the stream was too far ahead.
    public var overflows = 0
  }

  private struct Slot {
    var sequence = Int64.min
    /// Arrival, or when the absence was noticed.
    var time = Instant.distantPast
    /// Nil: the packet is missing.
    var packet: RTPPacket?
    /// Nil: padding or malformed.
    var payload: VideoPayload?
    /// Degrees; nil when the packet does not say it.
    var rotation: Int?
  }

  private enum Scan {
    case complete(end: Int64)
    case missing(Int64)
    case open
  }

  /// How long the first packets of a stream may be out of order.
  private static let beginWait = Duration.milliseconds(30)

  private let configuration: Configuration
  private let codec: Codec
  private let mask: Int64
  private var slots: [Slot]
  /// Everything below was handed out, left out or given up.
  private var next: Int64?
  private var highest: Int64 = .min
  private var hasOutput = false
  /// Something was taken out: the stream's begin is settled.
  private var hasAdvanced = false
  private var hasGap = false
  private var awaitsKeyframe = true
  private var lostSinceOutput = false
  private var skippedInRow = 0
  private var continuity = VideoContinuity()
  private var rotation = PictureRotation()
  /// How far the frame at `next` has been looked through without finding its end; zero when not at all.
  private var scanned: (start: Int64, number: Int64, last: Int64) = (.min, 0, 0)
  private var timestamps = TimestampUnwrapper()
  private var pool = FrameBufferPool()
  private var joiner: FrameJoiner
  /// The timestamp of the last packet of media before `next`; nil when it isn't known, or packets are missing between.
  private var timestampBefore: UInt32?
  /// Parameter sets that the sender described (RFC 6184 section 8.1, `sprop-parameter-sets`), as a byte stream: they stand
  /// before keyframes that have none of their own.
  public var parameterSets: [UInt8] = []
  /// Counters since the beginning.
  public private(set) var statistics = Statistics()
  /// Ask for a keyframe (throttled), again and again while this is true: decoding can't go on before one, or a missing
  /// packet is overdue, and by the time it is given up the keyframe will be here.
  public var needsKeyframe: Bool { isBroken || isOverdue }
  /// For how long a packet is missing before a keyframe is asked for: several round trips are right.
  /// By default only when the packet is given up.
  public var overdueAfter = Duration.forever
  private var isBroken = false
  /// A packet is overdue, but may still come. Until something is handed out.
  private var isOverdue = false

  /// A buffer for one stream of `codec` (video).
  public init(codec: Codec = .vp8, configuration: Configuration = Configuration()) {
    self.codec = codec
    self.configuration = configuration
    var size = 64
    while size < min(configuration.capacity, 32_768) { size *= 2 }
    mask = Int64(size - 1)
    slots = Array(repeating: Slot(), count: size)
    joiner = FrameJoiner(codec: codec)
  }

  private func index(_ sequence: Int64) -> Int { Int(sequence & mask) }

  /// The lowest extended sequence number that is still of use: packets below need not be asked for again.
  public var lowestUseful: Int64? { next }

  /// Takes a packet with its extended sequence number, which arrived at `now`. Its buffer is kept until its
  /// frame is handed out. `rotation`: what its orientation element says (degrees); nil when it has none.
  public mutating func insert(_ packet: RTPPacket, sequence: Int64, rotation: Int? = nil, at now: Instant) {
    if let next {
      if sequence < next, hasAdvanced || highest &- sequence > mask {
        statistics.late += 1
        return
      }
      if sequence < next {
        // The stream's first packets overtook each other.
        for number in sequence..<next { slots[index(number)] = Slot(sequence: number, time: now) }
        self.next = sequence
      } else if sequence &- next > mask {
        restart(at: sequence)
      }
    } else {
      next = sequence
      highest = sequence &- 1
    }
    let slot = index(sequence)
    if slots[slot].sequence == sequence, slots[slot].packet != nil {
      statistics.duplicates += 1
      return
    }
    if sequence > highest {
      var number = highest + 1
      while number < sequence {
        slots[index(number)] = Slot(sequence: number, time: now)
        number += 1
      }
      highest = sequence
    }
    var payload: VideoPayload?
    if packet.isPaddingOnly {
      statistics.padding += 1
    } else {
      payload = codec.depacketize(packet.payload)
      if payload == nil { statistics.malformed += 1 }
    }
    slots[slot] = Slot(sequence: sequence, time: now, packet: packet, payload: payload, rotation: rotation)
  }

  /// The stream is so far ahead that nothing kept is of use.
  private mutating func restart(at sequence: Int64) {
    for slot in slots.indices { slots[slot] = Slot() }
    statistics.overflows += 1
    next = sequence
    highest = sequence &- 1
    hasGap = true
    lostSinceOutput = true
    awaitsKeyframe = true
    isBroken = true
    timestampBefore = nil
  }

  /// The next frame, or how long to wait, at `now`.
  public mutating func poll(at now: Instant) -> Output {
    while let sequence = next, sequence <= highest {
      let slot = slots[index(sequence)]
      guard slot.packet != nil else {
        if let start = resumption(after: sequence) {
          leave(upTo: start)
          continue
        }
        if let until = wait(since: slot.time, at: now) { return .wait(until: until) }
        giveUp(upTo: sequence + 1)
        continue
      }
      guard let payload = slot.payload else {
        if slot.packet?.isPaddingOnly == false { noteLoss() }
        consume(sequence)
        continue
      }
      guard startsFrame(sequence) else {
        // Its begin is lost, or the stream began in the middle of a frame, or the first two packets changed places.
        if !hasAdvanced, now - slot.time < JitterBuffer.beginWait {
          return .wait(until: slot.time + JitterBuffer.beginWait)
        }
        noteLoss()
        consume(sequence)
        continue
      }
      switch scanNext(from: sequence) {
      case .open:
        return .wait(until: nil)
      case .missing(let number):
        let since = slots[index(number)].time
        if awaitsKeyframe, !merged(payload, from: sequence, to: number - 1).isKeyframe {
          leaveOut(payload, upTo: number)
          continue
        }
        if let until = wait(since: since, at: now) { return .wait(until: until) }
        if payload.isNonReference, !hasGap || continuity.follows(payload) { continuity.leftOut(payload) }
        statistics.droppedFrames += 1
        giveUp(upTo: number + 1)
      case .complete(let end):
        let payload = merged(payload, from: sequence, to: end)
        if let frame = take(payload, from: sequence, to: end) { return frame }
      }
    }
    return .wait(until: nil)
  }

  /// Until when to wait for a packet that is missing since then; nil when its time is over.
  private mutating func wait(since: Instant, at now: Instant) -> Instant? {
    let end = since + configuration.maximumWait
    guard now < end else { return nil }
    guard overdueAfter < configuration.maximumWait, hasOutput else { return end }
    let overdue = since + overdueAfter
    guard now >= overdue else { return overdue }
    isOverdue = true
    return end
  }

  /// Where a frame begins behind a gap that can be handed out at once: either nothing but padding is missing, or
  /// only a keyframe helps anyway and here is one. It must be complete.
  private func resumption(after gap: Int64) -> Int64? {
    var number = gap + 1
    while number <= highest {
      let slot = slots[index(number)]
      if let payload = slot.payload, startsFrame(number) {
        let mayBeUseful = awaitsKeyframe || hasOutput && continuity.follows(payload)
        if mayBeUseful, case .complete(let end) = scan(from: number),
          !awaitsKeyframe || merged(payload, from: number, to: end).isKeyframe
        {
          return number
        }
        // While a picture is shown only the frame directly behind the gap matters.
        if !awaitsKeyframe { return nil }
      }
      number += 1
    }
    return nil
  }

  /// Whether the packet is the first of its frame, as far as can be known.
  private func startsFrame(_ sequence: Int64) -> Bool {
    guard let packet = slots[index(sequence)].packet, let payload = slots[index(sequence)].payload else { return false }
    switch payload.start {
    case .never: return false
    case .always: return true
    case .afterAnother: return timestamp(before: sequence).map { $0 != packet.timestamp } ?? false
    case .unlessContinued: return timestamp(before: sequence) != packet.timestamp
    }
  }

  /// The timestamp of the packet of media before this one; nil when it isn't there.
  private func timestamp(before sequence: Int64) -> UInt32? {
    guard let next else { return nil }
    var number = sequence - 1
    while number >= next {
      guard let packet = slots[index(number)].packet else { return nil }
      if slots[index(number)].payload != nil { return packet.timestamp }
      guard packet.isPaddingOnly else { return nil }
      number -= 1
    }
    return timestampBefore
  }

  /// What all packets of a frame say together.
  private func merged(_ first: VideoPayload, from start: Int64, to end: Int64) -> VideoPayload {
    var result = first
    guard codec != .vp8, start < end else { return result }
    for number in (start + 1)...end {
      guard let payload = slots[index(number)].payload else { continue }
      result.isKeyframe = result.isKeyframe || payload.isKeyframe
      if payload.width > 0 { (result.width, result.height) = (payload.width, payload.height) }
    }
    return result
  }

  /// As `scan`, for the frame at `next`: goes on where the last look ended.
  private mutating func scanNext(from start: Int64) -> Scan {
    if scanned.start != start { scanned = (start, start, start) }
    return scan(from: start, resume: &scanned)
  }

  private func scan(from start: Int64) -> Scan {
    var progress = (start: start, number: start, last: start)
    return scan(from: start, resume: &progress)
  }

  /// Looks for the end of the frame that begins at `start`.
  private func scan(from start: Int64, resume: inout (start: Int64, number: Int64, last: Int64)) -> Scan {
    let timestamp = slots[index(start)].packet?.timestamp
    var last = resume.last
    var number = resume.number
    defer { resume = (start, number, last) }
    while number <= highest {
      let slot = slots[index(number)]
      guard let packet = slot.packet else { return .missing(number) }
      if let payload = slot.payload {
        if number > start, packet.timestamp != timestamp || payload.start == .always { return .complete(end: last) }
        last = number
        if packet.marker { return .complete(end: last) }
      }
      number += 1
    }
    return .open
  }

  /// Hands out a complete frame, or leaves it out when it can't be decoded.
  private mutating func take(_ payload: VideoPayload, from first: Int64, to last: Int64) -> Output? {
    if payload.isKeyframe {
      if configuration.dropsBlankFrames, payload.width > 0 || codec == .vp8, payload.width <= 8, payload.height <= 8 {
        statistics.blankFrames += 1
        leave(upTo: last + 1)
        // What follows would be coded on top of it.
        awaitsKeyframe = true
        return nil
      }
    } else if awaitsKeyframe {
      leaveOut(payload, upTo: last + 1)
      return nil
    } else {
      switch continuity.judge(payload, hasGap: hasGap) {
      case .decodable:
        break
      case .skippable:
        statistics.droppedFrames += 1
        // The gap is judged: what follows is measured from here.
        continuity.leftOut(payload)
        hasGap = false
        skippedInRow += 1
        if skippedInRow > 30 { isBroken = true }
        leave(upTo: last + 1)
        return nil
      case .broken:
        awaitsKeyframe = true
        leaveOut(payload, upTo: last + 1)
        return nil
      }
    }
    guard let frame = assemble(payload, from: first, to: last) else {
      statistics.malformed += 1
      awaitsKeyframe = true
      leaveOut(payload, upTo: last + 1)
      return nil
    }
    continuity.handedOut(payload)
    leave(upTo: last + 1)
    statistics.frames += 1
    lostSinceOutput = false
    if payload.isKeyframe {
      statistics.keyframes += 1
      awaitsKeyframe = false
      isBroken = false
      skippedInRow = 0
    } else if (payload.temporalLayer ?? 0) > 0 {
      skippedInRow = 0
    }
    hasOutput = true
    hasGap = false
    isOverdue = false
    return frame
  }

  private mutating func assemble(_ payload: VideoPayload, from first: Int64, to last: Int64) -> Output? {
    var completed = Instant.distantPast
    var degrees: Int?
    joiner.begin(with: codec == .h264 && payload.isKeyframe && payload.width == 0 ? parameterSets : [])
    for number in first...last {
      let slot = slots[index(number)]
      guard let packet = slot.packet else { continue }
      completed = max(completed, slot.time)
      degrees = slot.rotation ?? degrees
      if let part = slot.payload, !joiner.add(packet.payload, part) { return nil }
    }
    guard joiner.finish() else { return nil }
    let buffer = pool.take(minimum: joiner.bytes.count)
    joiner.bytes.withUnsafeBytes { _ = buffer.append($0) }
    guard let firstPacket = slots[index(first)].packet else { return nil }
    rotation.handedOut(degrees, isKeyframe: payload.isKeyframe)
    let frame = EncodedFrame(
      codec: codec, payload: buffer, rtpTime: timestamps.unwrap(firstPacket.timestamp), isKeyframe: payload.isKeyframe,
      width: payload.width, height: payload.height, layerCount: joiner.layerCount, rotation: rotation.degrees,
      followsLoss: payload.isKeyframe && lostSinceOutput)
    return .frame(frame, sequences: first...last, completed: completed)
  }

  /// Lets go of everything below `end` without calling it lost.
  private mutating func leave(upTo end: Int64) {
    guard var sequence = next else { return }
    hasAdvanced = true
    while sequence < end {
      let slot = slots[index(sequence)]
      if let degrees = slot.rotation { rotation.leftOut(degrees) }
      if slot.packet?.isPaddingOnly != true { timestampBefore = slot.payload == nil ? nil : slot.packet?.timestamp }
      slots[index(sequence)] = Slot()
      sequence += 1
    }
    next = max(next ?? end, end)
  }

  private mutating func consume(_ sequence: Int64) { leave(upTo: sequence + 1) }

  /// Leaves out a frame that can't be decoded before the next keyframe.
  private mutating func leaveOut(_ payload: VideoPayload, upTo end: Int64) {
    statistics.droppedFrames += 1
    noteLoss()
    isBroken = true
    leave(upTo: end)
  }

  /// Gives up the packets below `end` that are missing.
  private mutating func giveUp(upTo end: Int64) {
    guard let start = next else { return }
    for number in start..<max(start, end) where slots[index(number)].packet == nil { statistics.lostPackets += 1 }
    noteLoss()
    leave(upTo: end)
  }

  private mutating func noteLoss() {
    hasGap = true
    if hasOutput { lostSinceOutput = true }
    // Without picture identifiers nobody knows what was lost: only a keyframe helps.
    if [.h264, .h265, .av1].contains(codec) { awaitsKeyframe = true }
    if awaitsKeyframe { isBroken = true }
  }
}
