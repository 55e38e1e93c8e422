import MediaCore

/// How one incoming RTP stream's numbers become those of the subscriber's stream, from the packet with which the
/// subscriber was switched to it. Remembers the last packets, so that late ones get the numbers kept free for them.
struct StreamMapping {
  /// Synchronization source of the incoming stream.
  private(set) var ssrc: UInt32 = 0
  /// The simulcast layer that the incoming stream carries.
  private(set) var layer = 0
  /// False before the first use.
  private(set) var isStarted = false
  /// Highest extended incoming sequence number so far.
  private(set) var highest: Int64 = 0
  /// Added to incoming RTP times.
  private(set) var timestampOffset: UInt32 = 0
  /// The highest temporal layer that the subscriber can decode just now.
  private(set) var temporalLayer: UInt8 = .max

  private var first: Int64 = 0
  private var sequenceOffset: Int64 = 0
  private var pictureOffset: UInt16 = 0
  private var tl0Offset: UInt8 = 0
  private var keyOffset: UInt8 = 0
  private var lastPictureLeftOut: UInt16?
  private var history = [Slot](repeating: Slot(), count: StreamMapping.historyLength)

  /// Packets for which late arrival is provided: about two seconds of video at 2.5 Mbit/s.
  static let historyLength = 512

  private struct Slot {
    enum State: UInt8 { case missing, passed, leftOut }
    var extended: Int64 = -1
    var sequenceOffset: Int64 = 0
    var pictureOffset: UInt16 = 0
    var state = State.missing
  }

  /// Where the subscriber's stream stands: the numbers of its youngest packet.
  struct Position {
    /// Extended sequence number.
    var sequence: Int64
    /// RTP time.
    var timestamp: UInt32
    /// VP8's numbers.
    var picture: PictureNumbers
    /// When that packet came in.
    var arrival: Instant
  }

  /// A mapping that is not in use yet.
  init() {}

  /// Starts with a packet, which gets the numbers after `position` and the given RTP time. Without a position the
  /// packet keeps its own numbers.
  mutating func start(with packet: ForwardedPacket, after position: Position?, timestamp: UInt32) {
    ssrc = packet.ssrc
    layer = packet.layer
    isStarted = true
    // One turn above zero, so that packets from before the start don't become negative.
    first = Int64(packet.sequenceNumber) &+ 0x10000
    highest = first &- 1
    timestampOffset = timestamp &- packet.timestamp
    sequenceOffset = position.map { $0.sequence &+ 1 &- first } ?? 0
    let last = position?.picture
    pictureOffset = Self.offset(last?.pictureID, packet.picture.pictureID)
    tl0Offset = Self.offset(last?.tl0PictureIndex, packet.picture.tl0PictureIndex)
    keyOffset = Self.offset(last?.keyIndex, packet.picture.keyIndex)
    temporalLayer = .max
    lastPictureLeftOut = nil
    for index in history.indices { history[index].extended = -1 }
  }

  private static func offset<T: FixedWidthInteger>(_ last: T?, _ next: T?) -> T {
    guard let last, let next else { return 0 }
    return last &+ 1 &- next
  }

  /// The incoming sequence number without wrapping, nearest to the highest one.
  func extend(_ sequenceNumber: UInt16) -> Int64 {
    let step = Int16(bitPattern: sequenceNumber &- UInt16(truncatingIfNeeded: highest))
    return highest &+ Int64(step)
  }

  /// Decides about a packet that is younger than all before. Nil when it is left out.
  mutating func forward(
    _ packet: ForwardedPacket, extended: Int64, maximumTemporalLayer: UInt8
  ) -> OutgoingNumbers? {
    noteMissing(upTo: extended)
    highest = extended
    temporalLayer = min(temporalLayer, maximumTemporalLayer)
    if packet.startsKeyframe {
      temporalLayer = maximumTemporalLayer
    } else if packet.startsFrame, packet.temporalLayer > temporalLayer, packet.allowsTemporalSwitch {
      temporalLayer = min(packet.temporalLayer, maximumTemporalLayer)
    }
    let isUnwanted = !packet.isPadding && packet.temporalLayer > temporalLayer
    guard !packet.isPadding, !isUnwanted else {
      record(extended, .leftOut)
      sequenceOffset &-= 1
      if isUnwanted, let pictureID = packet.picture.pictureID, pictureID != lastPictureLeftOut {
        pictureOffset &-= 1
        lastPictureLeftOut = pictureID
      }
      return nil
    }
    record(extended, .passed)
    return numbers(packet, extended: extended, sequenceOffset: sequenceOffset, pictureOffset: pictureOffset)
  }

  /// Decides about a packet that comes after younger ones: it takes the number that was kept free for it, if any.
  mutating func forwardLate(_ packet: ForwardedPacket, extended: Int64) -> OutgoingNumbers? {
    guard extended >= first, extended < highest else { return nil }
    let index = Int(extended % Int64(Self.historyLength))
    guard history.indices.contains(index), history[index].extended == extended, history[index].state == .missing
    else { return nil }
    history[index].state = .passed
    let slot = history[index]
    var result = numbers(
      packet, extended: extended, sequenceOffset: slot.sequenceOffset, pictureOffset: slot.pictureOffset)
    // Its number is waited for, its content isn't wanted.
    result.isFiller = packet.isPadding || packet.temporalLayer > temporalLayer
    return result
  }

  /// Where the subscriber's stream stands after a packet that `forward` let pass.
  func position(after numbers: OutgoingNumbers, now: Instant) -> Position {
    Position(
      sequence: highest &+ sequenceOffset, timestamp: numbers.timestamp, picture: numbers.picture, arrival: now)
  }

  private func numbers(
    _ packet: ForwardedPacket, extended: Int64, sequenceOffset: Int64, pictureOffset: UInt16
  ) -> OutgoingNumbers {
    OutgoingNumbers(
      sequenceNumber: UInt16(truncatingIfNeeded: extended &+ sequenceOffset),
      timestamp: packet.timestamp &+ timestampOffset,
      picture: PictureNumbers(
        pictureID: packet.picture.pictureID.map { ($0 &+ pictureOffset) & 0x7fff },
        tl0PictureIndex: packet.picture.tl0PictureIndex.map { $0 &+ tl0Offset },
        keyIndex: packet.picture.keyIndex.map { ($0 &+ keyOffset) & 0x1f }))
  }

  private mutating func noteMissing(upTo extended: Int64) {
    var missing = max(highest &+ 1, extended &- Int64(Self.historyLength))
    while missing < extended {
      record(missing, .missing)
      missing &+= 1
    }
  }

  private mutating func record(_ extended: Int64, _ state: Slot.State) {
    let index = Int(extended % Int64(Self.historyLength))
    guard history.indices.contains(index) else { return }
    history[index] = Slot(
      extended: extended, sequenceOffset: sequenceOffset, pictureOffset: pictureOffset, state: state)
  }
}
