/// Opus packets that decode to digital silence: a CELT frame whose first coded bit says so (RFC 6716 section 4.3).
struct OpusSilence {
  /// Lengths of a packet in nanoseconds, longest first, with the number of its configuration (RFC 6716 table 2:
  /// CELT, full band).
  private static let lengths: [(nanoseconds: Int64, configuration: UInt8)] = [
    (20_000_000, 31), (10_000_000, 30), (5_000_000, 29), (2_500_000, 28),
  ]

  /// A packet.
  struct Packet {
    var nanoseconds: Int64
    var bytes: [UInt8]
  }

  private let packets: [Packet]

  /// Silence of 1 or 2 channels.
  init(channels: Int) {
    let stereo: UInt8 = channels == 2 ? 0x04 : 0
    packets = Self.lengths.map {
      Packet(nanoseconds: $0.nanoseconds, bytes: [$0.configuration << 3 | stereo, 0xff, 0xfe])
    }
  }

  /// The longest packet that is not longer than so many nanoseconds; nil when even the shortest is.
  func packet(within nanoseconds: Int64) -> Packet? {
    packets.first { $0.nanoseconds <= nanoseconds }
  }
}
