/// Opus packets that decode to digital silence: a CELT frame whose first coded bit says so (RFC 6716 section 4.3).
struct OpusSilence {
  /// Lengths of a packet, longest first, with the number of its configuration (RFC 6716 table 2:
  /// CELT, full band).
  private static let lengths: [(length: Duration, configuration: UInt8)] = [
    (.milliseconds(20), 31), (.milliseconds(10), 30), (.milliseconds(5), 29), (.microseconds(2500), 28),
  ]

  /// A packet.
  struct Packet {
    var length: Duration
    var bytes: [UInt8]
  }

  private let packets: [Packet]

  /// Silence of 1 or 2 channels.
  init(channels: Int) {
    let stereo: UInt8 = channels == 2 ? 0x04 : 0
    packets = Self.lengths.map {
      Packet(length: $0.length, bytes: [$0.configuration << 3 | stereo, 0xff, 0xfe])
    }
  }

  /// The longest packet that is not longer than a time; nil when even the shortest is.
  func packet(within time: Duration) -> Packet? {
    packets.first { $0.length <= time }
  }
}
