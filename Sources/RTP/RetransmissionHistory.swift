import MediaCore

/// The last packets that one stream sent, so that NACKs can be answered. Holds references: the buffers must not be
/// changed after they were stored.
public struct RetransmissionHistory: Sendable {
  private struct Entry {
    var buffer: MediaBuffer?
    var sequenceNumber: UInt16 = 0
    var sentAt = Instant.distantPast
    var resends = 0
  }

  private var entries: [Entry]
  private let mask: Int
  /// The least time between two sendings of one packet: a second request that was already under way
  /// must not be answered. Set it by `follow`.
  public private(set) var minimumResendInterval = Duration.milliseconds(20)
  private var shortestRoundTrip = Duration.forever
  /// Packets older than this are of no use to the receiver.
  public var maximumAge = Duration.seconds(2)
  /// How often one packet is sent again at most.
  public var maximumResends = 10

  /// A history of at least `capacity` packets (a power of two between 16 and 32768).
  public init(capacity: Int = 1024) {
    var size = 16
    while size < min(capacity, 32_768) { size *= 2 }
    mask = size - 1
    entries = Array(repeating: Entry(), count: size)
  }

  /// Keeps a packet that is sent at `now`, in place of the one `capacity` before it.
  public mutating func store(_ buffer: MediaBuffer, sequenceNumber: UInt16, at now: Instant) {
    entries[Int(sequenceNumber) & mask] = Entry(buffer: buffer, sequenceNumber: sequenceNumber, sentAt: now)
  }

  /// The packet to send again for a request that came at `now`; nil when it is not known any more, or was sent
  /// a moment ago, or too often.
  public mutating func retransmit(_ sequenceNumber: UInt16, at now: Instant) -> MediaBuffer? {
    let index = Int(sequenceNumber) & mask
    let entry = entries[index]
    guard let buffer = entry.buffer, entry.sequenceNumber == sequenceNumber, entry.resends < maximumResends,
      now - entry.sentAt <= maximumAge
    else { return nil }
    // The first request is a real loss, however soon it comes.
    guard entry.resends == 0 || now - entry.sentAt >= minimumResendInterval else { return nil }
    entries[index].sentAt = now
    entries[index].resends += 1
    return buffer
  }

  /// Takes what the receiver's newest report says of the way: the round trip time and the share of
  /// packets lost, 0...1. A packet is sent again only when the last one should have arrived and been missed; where much
  /// is lost without a queue, twice as often.
  public mutating func follow(roundTripTime: Duration, fractionLost: Double) {
    shortestRoundTrip = min(shortestRoundTrip, roundTripTime)
    let isHurried =
      fractionLost >= Self.hurryFraction && !Self.isQueueing(roundTripTime, shortest: shortestRoundTrip)
    // A little less than the time after which a receiver asks again, which is a round trip as it knows it.
    let interval = roundTripTime / (isHurried ? 16 : 8) * 7
    minimumResendInterval = min(max(interval, .milliseconds(10)), .milliseconds(200))
  }

  /// From this share of lost packets on packets are sent again more often.
  static let hurryFraction = 0.1

  /// Whether a round trip takes so much longer than the shortest one that packets stand in a queue on the way.
  static func isQueueing(_ roundTripTime: Duration, shortest: Duration) -> Bool {
    roundTripTime > shortest + shortest / 2 + .milliseconds(20)
  }

  /// Lets all packets go.
  public mutating func removeAll() {
    for index in entries.indices { entries[index] = Entry() }
  }
}
