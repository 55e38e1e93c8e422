import MediaCore

/// The latest reliable data packets of a room, for participants that come back after a loss. Pure.
struct DataBacklog: Sendable {
  /// Whom a packet is for.
  struct Audience: Sendable {
    /// Identities; with `sids` empty too, it is for all.
    var identities: [String]
    /// Sids of those whom it is for, beside `identities`.
    var sids: [String]

    /// True when a participant is meant.
    func includes(_ member: Member) -> Bool {
      identities.isEmpty && sids.isEmpty || identities.contains(member.identity) || sids.contains(member.sid)
    }
  }

  private struct Entry: Sendable {
    var bytes: [UInt8]
    var sender: String
    var sequence: UInt32
    var audience: Audience
    var at: Instant
  }

  private var entries: [Entry] = []
  private var size = 0

  /// How long packets are kept.
  static let memory = Duration.seconds(20)
  /// How many bytes are kept.
  static let sizeLimit = 1 << 20

  /// Nothing kept yet.
  init() {}

  /// Keeps a packet; the oldest ones go when it gets too much.
  mutating func add(_ bytes: [UInt8], sender: String, sequence: UInt32, audience: Audience, now: Instant) {
    entries.append(Entry(bytes: bytes, sender: sender, sequence: sequence, audience: audience, at: now))
    size += bytes.count
    var gone = 0
    while gone < entries.count, size > Self.sizeLimit || now - entries[gone].at > Self.memory {
      size -= entries[gone].bytes.count
      gone += 1
    }
    entries.removeFirst(gone)
  }

  /// The packets of a sender after a number, in order, that are for a participant and came since it joined.
  func packets(of sender: String, after sequence: UInt32, for member: Member) -> [[UInt8]] {
    entries.filter { entry in
      entry.sender == sender && entry.sequence > sequence && entry.at >= member.joinedAt.steady
        && entry.audience.includes(member)
    }.map(\.bytes)
  }
}
