import MediaCore

/// Transport-wide congestion control feedback: which packets of a transport arrived, and when
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1).
public struct TransportFeedback: Sendable, Hashable {
  /// A packet that arrived.
  public struct Arrival: Sendable, Hashable {
    /// Its transport-wide sequence number.
    public var sequenceNumber: UInt16
    /// Time since the arrival of the packet before it in this message, in units of 250 µs; for the first one since
    /// the message's reference time. Negative when packets overtook each other.
    public var delta: Int16
    /// Makes an arrival; see the properties.
    public init(sequenceNumber: UInt16, delta: Int16) {
      self.sequenceNumber = sequenceNumber
      self.delta = delta
    }
  }

  /// One unit of `Arrival.delta`.
  public static let deltaUnit = Duration.microseconds(250)
  /// One unit of `referenceTime`.
  public static let referenceUnit = Duration.milliseconds(64)

  /// The one that reports.
  public var sender: SSRC
  /// Any stream of the transport.
  public var media: SSRC
  /// The first packet that the message is about.
  public var baseSequenceNumber: UInt16
  /// Number of packets that the message is about; those not in `arrivals` did not arrive (yet).
  public var statusCount: UInt16
  /// Where the deltas begin, in units of 64 ms: 24 bits signed, of an arbitrary clock of the receiver.
  public var referenceTime: Int32
  /// Number of the message, wrapping: a gap says that messages were lost.
  public var feedbackCount: UInt8
  /// The packets that arrived, in order of their sequence numbers from `baseSequenceNumber`.
  public var arrivals: [Arrival]

  /// Makes a message; see the properties. Arrivals must ascend and lie inside the span.
  public init(
    sender: SSRC, media: SSRC, baseSequenceNumber: UInt16, statusCount: UInt16, referenceTime: Int32,
    feedbackCount: UInt8, arrivals: [Arrival]
  ) {
    self.sender = sender
    self.media = media
    self.baseSequenceNumber = baseSequenceNumber
    self.statusCount = statusCount
    self.referenceTime = referenceTime
    self.feedbackCount = feedbackCount
    self.arrivals = arrivals
  }

  /// Share of the packets that the message reports as not arrived, in 1/256.
  public var fractionLost: UInt8 {
    guard statusCount > 0 else { return 0 }
    let lost = max(0, Int(statusCount) - arrivals.count)
    return UInt8(clamping: lost * 256 / Int(statusCount))
  }

  /// Parses the part behind the RTCP header. Nil when statuses or deltas are missing.
  init?(_ body: UnsafeRawBufferPointer) {
    guard let sender = body.uint32(0), let media = body.uint32(4), let base = body.uint16(8),
      let count = body.uint16(10), let reference = body.uint24(12), let number = body.byte(15)
    else { return nil }
    self.init(
      sender: SSRC(sender), media: SSRC(media), baseSequenceNumber: base, statusCount: count,
      referenceTime: Int32(bitPattern: reference << 8) >> 8, feedbackCount: number, arrivals: [])
    // First the statuses: only after them is it known where the deltas begin.
    var offset = 16
    var position = 0
    var largeDeltas: [Bool] = []
    func add(_ symbol: UInt16, _ repeats: Int) {
      let end = min(position + repeats, Int(count))
      // Symbol 3 is reserved; like 0 it has no delta.
      if symbol == 1 || symbol == 2 {
        for at in position..<end {
          arrivals.append(Arrival(sequenceNumber: base &+ UInt16(truncatingIfNeeded: at), delta: 0))
          largeDeltas.append(symbol == 2)
        }
      }
      position = end
    }
    while position < Int(count) {
      guard let chunk = body.uint16(offset) else { return nil }
      offset += 2
      if chunk & 0x8000 == 0 {
        let run = Int(chunk & 0x1fff)
        // Every received packet has at least one byte of delta: a longer run can't be true, so don't unfold it.
        guard run > 0, chunk >> 13 == 0 || min(run, Int(count) - position) <= body.count else { return nil }
        add(chunk >> 13 & 3, run)
      } else if chunk & 0x4000 == 0 {
        for bit in 0..<14 where position < Int(count) { add(chunk >> UInt16(13 - bit) & 1, 1) }
      } else {
        for pair in 0..<7 where position < Int(count) { add(chunk >> UInt16(12 - 2 * pair) & 3, 1) }
      }
    }
    for index in arrivals.indices {
      if largeDeltas[index] {
        guard let delta = body.uint16(offset) else { return nil }
        arrivals[index].delta = Int16(bitPattern: delta)
        offset += 2
      } else {
        guard let delta = body.byte(offset) else { return nil }
        arrivals[index].delta = Int16(delta)
        offset += 1
      }
    }
  }

  /// Appends the part behind the RTCP header.
  func write(to bytes: inout [UInt8]) {
    bytes.put32(sender.rawValue)
    bytes.put32(media.rawValue)
    bytes.put16(baseSequenceNumber)
    bytes.put16(statusCount)
    bytes.put24(UInt32(bitPattern: referenceTime) & 0xff_ffff)
    bytes.append(feedbackCount)
    var chunks = ChunkWriter()
    var position = 0
    for arrival in arrivals {
      let at = Int(arrival.sequenceNumber &- baseSequenceNumber)
      guard at >= position, at < Int(statusCount) else { continue }
      chunks.add(0, at - position, &bytes)
      chunks.add((0...255).contains(arrival.delta) ? 1 : 2, 1, &bytes)
      position = at + 1
    }
    chunks.add(0, Int(statusCount) - position, &bytes)
    chunks.finish(&bytes)
    position = 0
    for arrival in arrivals {
      let at = Int(arrival.sequenceNumber &- baseSequenceNumber)
      guard at >= position, at < Int(statusCount) else { continue }
      if let small = UInt8(exactly: arrival.delta) {
        bytes.append(small)
      } else {
        bytes.put16(UInt16(bitPattern: arrival.delta))
      }
      position = at + 1
    }
  }

  /// Packs status symbols: runs of eight or more into run length chunks, others into vectors of seven two-bit
  /// symbols.
  private struct ChunkWriter {
    private var pending: UInt16 = 0
    private var pendingCount = 0

    mutating func add(_ symbol: UInt16, _ count: Int, _ bytes: inout [UInt8]) {
      var left = count
      while left > 0 {
        // A vector that has begun is filled first; a run is only worth its chunk when it is longer than a vector.
        if pendingCount == 0, runSymbol == symbol || runCount == 0 {
          let some = min(left, 0x1fff - runCount)
          runSymbol = symbol
          runCount += some
          left -= some
          if runCount == 0x1fff { flushRun(&bytes) }
          continue
        }
        if pendingCount == 0, runCount >= 7 {
          flushRun(&bytes)
          continue
        }
        // The run is too short: it becomes the begin of a vector.
        while runCount > 0 {
          push(runSymbol, &bytes)
          runCount -= 1
        }
        push(symbol, &bytes)
        left -= 1
      }
    }

    private var runSymbol: UInt16 = 0
    private var runCount = 0

    private mutating func flushRun(_ bytes: inout [UInt8]) {
      guard runCount > 0 else { return }
      bytes.put16(runSymbol << 13 | UInt16(truncatingIfNeeded: runCount))
      runCount = 0
    }

    private mutating func push(_ symbol: UInt16, _ bytes: inout [UInt8]) {
      pending |= symbol << UInt16(12 - 2 * pendingCount)
      pendingCount += 1
      if pendingCount == 7 {
        bytes.put16(0xc000 | pending)
        pending = 0
        pendingCount = 0
      }
    }

    mutating func finish(_ bytes: inout [UInt8]) {
      flushRun(&bytes)
      if pendingCount > 0 { bytes.put16(0xc000 | pending) }
      pendingCount = 0
      pending = 0
    }
  }
}
