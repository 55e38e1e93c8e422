import MediaCore

/// Puts the packets of one stream of sound in order, waits shortly for missing ones, fills gaps from RED blocks
/// (RFC 2198), and says how much sound was lost. Give it every packet, then poll until it answers `.wait`.
///
/// Silence that the sender did not send (DTX, mute) makes timestamps jump without missing sequence numbers: it is
/// reported as silence, not as loss.
public struct AudioReorderBuffer {
  /// One packet of sound, in order.
  public struct Packet: Sendable {
    /// The packet's payload, or the block of it. From the buffer's pool; may be kept.
    public var payload: MediaBuffer
    /// RTP timestamp, extended beyond 32 bits, in ticks of the codec's clock.
    public var rtpTime: Int64
    /// Playing time in ticks.
    public var duration: Int
    /// Ticks lost directly before this packet; to be concealed by the decoder.
    public var lostBefore: Int64
    /// Ticks that the sender left out before this packet, because it had nothing to say.
    public var silenceBefore: Int64
    /// Extended sequence number.
    public var sequence: Int64
    /// Arrival.
    public var arrived: Instant
    /// It was taken from a RED block of a later packet.
    public var isRecovered: Bool
    /// The RTP packet that it came in, for its header extensions; nil when recovered.
    public var packet: RTPPacket?
    /// 20 ms in ticks.
    public var unit: Int64
    /// Units of 20 ms in `lostBefore`, rounded up.
    public var lostUnits: Int { Int((lostBefore + unit - 1) / unit) }
  }

  /// What `poll` answers.
  public enum Output: Sendable {
    /// The next packet; poll again.
    case packet(Packet)
    /// Nothing now. Poll after the next packet, and at `until` when that is given.
    case wait(until: Instant?)
  }

  /// Counters since the beginning.
  public struct Statistics: Sendable, Hashable {
    /// Packets handed out.
    public var packets = 0
    /// Packets taken from RED blocks.
    public var recovered = 0
    /// Packets that never came in time.
    public var lost = 0
    /// Packets that were there already.
    public var duplicates = 0
    /// Packets that came too late.
    public var late = 0
    /// Payloads that made no sense.
    public var malformed = 0
  }

  private struct Slot {
    var sequence = Int64.min
    var time = Instant.distantPast
    var buffer: MediaBuffer?
    var offset = 0
    var count = 0
    var timestamp: UInt32 = 0
    var packet: RTPPacket?
    /// Came, but holds no sound: padding or malformed.
    var isEmpty = false
    var isMissing: Bool { buffer == nil && !isEmpty }
  }

  private static let capacity: Int64 = 128
  /// How long to wait for a missing packet after its absence was noticed.
  public var maximumWait: Duration
  private var slots: [Slot]
  private var next: Int64?
  private var highest: Int64 = .min
  private var hasOutput = false
  private var lostInRow: Int64 = 0
  private var expected: Int64?
  private let codec: Codec
  /// 20 ms in ticks.
  private let unit: Int64
  private var lastDuration: Int64
  private var timestamps = TimestampUnwrapper()
  private var pool: MediaBufferPool
  /// Counters since the beginning.
  public private(set) var statistics = Statistics()

  /// A buffer for packets of a codec that waits so long for a missing one.
  public init(codec: Codec = .opus, maximumWait: Duration = .milliseconds(80)) {
    self.codec = codec
    self.maximumWait = maximumWait
    unit = Int64(codec.clockRate.hertz) / 50
    lastDuration = unit
    slots = Array(repeating: Slot(), count: Int(AudioReorderBuffer.capacity))
    pool = MediaBufferPool(capacity: 1500, limit: 128)
  }

  private func index(_ sequence: Int64) -> Int { Int(sequence & (AudioReorderBuffer.capacity - 1)) }

  /// The lowest extended sequence number that is still of use: packets below need not be asked for again.
  public var lowestUseful: Int64? { next }

  /// Takes a packet of the plain codec with its extended sequence number, which arrived at `now`.
  public mutating func insert(_ packet: RTPPacket, sequence: Int64, at now: Instant) {
    guard open(sequence, at: now) else { return }
    store(packet, sequence, packet.payloadOffset, packet.payloadCount, now)
  }

  /// Notes a packet that holds nothing for the decoder, such as the keys of a telephone (RFC 4733) or comfort noise
  /// (RFC 3389): it is neither sound nor missing.
  public mutating func passOver(_ packet: RTPPacket, sequence: Int64, at now: Instant) {
    if open(sequence, at: now) { store(packet, sequence, 0, 0, now) }
  }

  /// Takes a packet whose payload is RED; its redundant blocks of type `primary` fill gaps. Gives the extended sequence
  /// numbers of the gaps that it filled.
  @discardableResult
  public mutating func insertRED(
    _ packet: RTPPacket, sequence: Int64, primary: PayloadType, at now: Instant
  ) -> [Int64] {
    let payload = packet.payload
    guard let red = REDDepacketizer(payload) else {
      let isNew = open(sequence, at: now)
      if isNew { store(packet, sequence, packet.payloadOffset, 0, now) }
      if !packet.isPaddingOnly { statistics.malformed += 1 }
      return []
    }
    var filled: [Int64] = []
    if open(sequence, at: now) {
      let count = red.primary.payloadType == primary ? red.primary.count : 0
      store(packet, sequence, packet.payloadOffset + red.primary.offset, count, now)
    }
    // The newest redundant block is the packet directly before this one, and so on.
    for back in 1...max(1, red.redundantCount) {
      guard let block = red.redundant(red.redundantCount - back), block.count > 0, block.payloadType == primary,
        block.timestampOffset > 0
      else { continue }
      let older = sequence &- Int64(back)
      if fill(
        packet, older, packet.payloadOffset + block.offset, block.count, packet.timestamp &- block.timestampOffset, now)
      {
        filled.append(older)
      }
    }
    return filled
  }

  /// Makes room for a packet; false when it is not wanted.
  private mutating func open(_ sequence: Int64, at now: Instant) -> Bool {
    guard let next else {
      self.next = sequence
      highest = sequence
      slots[index(sequence)] = Slot(sequence: sequence, time: now)
      return true
    }
    if sequence < next {
      guard !hasOutput, highest &- sequence < AudioReorderBuffer.capacity / 2 else {
        statistics.late += 1
        return false
      }
      for number in sequence..<next { slots[index(number)] = Slot(sequence: number, time: now) }
      self.next = sequence
      return true
    }
    if sequence &- next >= AudioReorderBuffer.capacity {
      for slot in slots.indices { slots[slot] = Slot() }
      lostInRow = lostInRow &+ (sequence &- next)
      statistics.lost &+= Int(clamping: sequence &- next)
      self.next = sequence
      highest = sequence &- 1
    }
    if sequence > highest {
      for number in (highest + 1)...sequence { slots[index(number)] = Slot(sequence: number, time: now) }
      highest = sequence
      return true
    }
    guard slots[index(sequence)].isMissing else {
      statistics.duplicates += 1
      return false
    }
    return true
  }

  private mutating func store(_ packet: RTPPacket, _ sequence: Int64, _ offset: Int, _ count: Int, _ now: Instant) {
    let slot = index(sequence)
    slots[slot].sequence = sequence
    slots[slot].time = now
    guard count > 0 else {
      slots[slot].isEmpty = true
      return
    }
    slots[slot].buffer = packet.buffer
    slots[slot].offset = offset
    slots[slot].count = count
    slots[slot].timestamp = packet.timestamp
    slots[slot].packet = packet
  }

  /// Fills a gap from a redundant block, if the packet is missing and the block's time lies between its neighbours; false
  /// otherwise.
  private mutating func fill(
    _ packet: RTPPacket, _ sequence: Int64, _ offset: Int, _ count: Int, _ timestamp: UInt32, _ now: Instant
  ) -> Bool {
    // Before the first packet there is nothing to fill, and what was handed out is past.
    guard let next, sequence >= next else { return false }
    let slot = index(sequence)
    guard sequence <= highest, slots[slot].sequence == sequence, slots[slot].isMissing else { return false }
    if let expected, TimestampUnwrapper.extend(timestamp, near: expected) < expected { return false }
    if sequence > next, let before = slots[index(sequence - 1)].packet,
      Int32(bitPattern: timestamp &- before.timestamp) <= 0
    {
      return false
    }
    slots[slot].buffer = packet.buffer
    slots[slot].offset = offset
    slots[slot].count = count
    slots[slot].timestamp = timestamp
    slots[slot].time = now
    slots[slot].packet = nil
    return true
  }

  /// The next packet, or how long to wait, at `now`.
  public mutating func poll(at now: Instant) -> Output {
    while let sequence = next, sequence <= highest {
      let slot = slots[index(sequence)]
      if slot.isMissing {
        let end = slot.time + maximumWait
        guard now >= end else { return .wait(until: end) }
        statistics.lost += 1
        lostInRow += 1
        advance(sequence)
        continue
      }
      advance(sequence)
      if let packet = makePacket(slot) { return .packet(packet) }
    }
    return .wait(until: nil)
  }

  private mutating func advance(_ sequence: Int64) {
    slots[index(sequence)] = Slot()
    next = sequence + 1
  }

  private mutating func makePacket(_ slot: Slot) -> Packet? {
    guard let source = slot.buffer, let bytes = source.bytes.part(slot.offset, slot.count) else { return nil }
    guard let duration = codec.audioDuration(bytes) else {
      statistics.malformed += 1
      return nil
    }
    let time = timestamps.unwrap(slot.timestamp)
    let gap = max(0, time &- (expected ?? time))
    // Lost packets were about as long as the last one; what remains of the gap was never sent.
    let (mostLost, overflow) = lostInRow.multipliedReportingOverflow(by: lastDuration)
    var lost = lostInRow == 0 ? 0 : min(gap, overflow ? gap : mostLost)
    // A remainder below one packet is a change of packet length, not silence.
    if lostInRow > 0, gap - lost < lastDuration { lost = gap }
    expected = time &+ Int64(duration)
    lastDuration = Int64(duration)
    lostInRow = 0
    hasOutput = true
    statistics.packets += 1
    let isRecovered = slot.packet == nil
    if isRecovered { statistics.recovered += 1 }
    let payload = pool.take(minimum: slot.count)
    payload.append(bytes)
    return Packet(
      payload: payload, rtpTime: time, duration: duration, lostBefore: lost, silenceBefore: gap - lost,
      sequence: slot.sequence, arrived: slot.time, isRecovered: isRecovered, packet: slot.packet, unit: unit)
  }
}
