import MediaCore
import TestKit
import Testing

@Suite struct PacketTests {
  /// 10.45.1.2:5000 to 198.18.1.1:7880, UDP, "hello"; checksums worked out by hand-written code of another language.
  static let datagram: [UInt8] = [
    0x45, 0, 0, 33, 0x12, 0x34, 0x40, 0, 64, 17, 0x56, 0x2e, 10, 45, 1, 2, 198, 18, 1, 1,
    0x13, 0x88, 0x1e, 0xc8, 0, 13, 0, 0, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
  ]

  static func address(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> UInt32 { a << 24 | b << 16 | c << 8 | d }
  static let near = address(10, 45, 1, 2)
  static let far = address(198, 18, 1, 1)
  static let outside = address(198, 18, 1, 2)

  static func packet(from source: UInt32, _ sourcePort: UInt16, to destination: UInt32, _ port: UInt16) throws
    -> IPv4Packet
  {
    var bytes = datagram
    bytes.replaceSubrange(
      20..<24,
      with: [
        UInt8(sourcePort >> 8), UInt8(sourcePort & 255), UInt8(port >> 8), UInt8(port & 255),
      ])
    var packet = try #require(IPv4Packet(bytes))
    (packet.source, packet.destination) = (source, destination)
    packet.updateChecksums()
    return packet
  }

  /// A sum over everything that a checksum covers, the checksum included, is all ones.
  static func isRight(_ packet: IPv4Packet) -> Bool {
    func sum(_ bytes: [UInt8]) -> UInt32 {
      var sum: UInt32 = 0
      for index in stride(from: 0, to: bytes.count, by: 2) {
        sum += UInt32(bytes[index]) << 8 | (index + 1 < bytes.count ? UInt32(bytes[index + 1]) : 0)
      }
      while sum > 0xffff { sum = sum & 0xffff + sum >> 16 }
      return sum
    }
    let bytes = packet.bytes
    let length = bytes.count - 20
    let pseudo = Array(bytes[12..<20]) + [0, bytes[9], UInt8(length >> 8), UInt8(length & 255)]
    return sum(Array(bytes[..<20])) == 0xffff && sum(pseudo + bytes[20...]) == 0xffff
  }

  @Test func readsAndCompletesADatagram() throws {
    var packet = try #require(IPv4Packet(Self.datagram + [9, 9, 9]))
    #expect(packet.bytes.count == 33, "padding behind the packet's end is left out")
    #expect(packet.kind == .udp)
    #expect((packet.source, packet.destination) == (Self.near, Self.far))
    #expect((packet.sourcePort, packet.destinationPort) == (5000, 7880))
    #expect(!Self.isRight(packet))
    packet.updateChecksums()
    #expect(Self.isRight(packet))
  }

  @Test func refusesWhatIsNoWholePacket() {
    for count in 0..<33 { #expect(IPv4Packet(Self.datagram[..<count]) == nil) }
    for (index, value) in [(0, 0x65), (0, 0x41), (0, 0x4f), (2, 1), (3, 19), (6, 0x20), (7, 1)] {
      var bytes = Self.datagram
      bytes[index] = UInt8(value)
      #expect(IPv4Packet(bytes) == nil, "byte \(index)")
    }
  }

  @Test func anyBytesAreReadWithoutATrap() {
    for seed in UInt64(0)..<2000 {
      var random = SeededRandom(seed: seed)
      var bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      if bytes.count > 20, seed % 2 == 0 {
        bytes.replaceSubrange(
          0..<10, with: [0x45, 0, 0, UInt8(bytes.count), 0, 0, 0, 0, 9, [1, 6, 17, 47][Int(seed / 2 % 4)]])
      }
      guard var packet = IPv4Packet(bytes) else { continue }
      _ = (packet.sourcePort, packet.destinationPort, packet.kind)
      packet.corrupt(random.next())
      packet.updateChecksums()
      var translation = AddressTranslation(first: Self.outside, count: 2)
      _ = translation.outgoing(&packet)
      _ = translation.incoming(&packet)
    }
  }

  @Test func aCorruptedDatagramDiffersInOneBitAndArrives() throws {
    for number in UInt64(0)..<200 {
      var packet = try Self.packet(from: Self.near, 1, to: Self.far, 2)
      let before = packet.bytes
      packet.corrupt(number)
      let bits = zip(before[28...], packet.bytes[28...]).map { ($0 ^ $1).nonzeroBitCount }.reduce(0, +)
      #expect(bits == 1)
      #expect(Self.isRight(packet))
    }
  }

  /// Whether a packet goes out.
  private static func leaves(_ translation: inout AddressTranslation, _ packet: inout IPv4Packet) -> Bool {
    translation.outgoing(&packet)
  }

  @Test func theNearSideIsSeenUnderOneAddress() throws {
    var translation = AddressTranslation(first: Self.outside, count: 250)
    var out = try Self.packet(from: Self.near, 5000, to: Self.far, 7880)
    #expect(Self.leaves(&translation, &out))
    #expect(out.source == Self.outside)
    #expect(Self.isRight(out))
    var back = try Self.packet(from: Self.far, 7880, to: Self.outside, 5000)
    #expect(translation.incoming(&back))
    #expect(back.destination == Self.near)
    #expect(Self.isRight(back))
    var unasked = try Self.packet(from: Self.far, 7880, to: Self.outside, 5001)
    #expect(!translation.incoming(&unasked))
  }

  @Test func afterARebindTheOldAddressLeadsNowhere() throws {
    var translation = AddressTranslation(first: Self.outside, count: 2)
    var out = try Self.packet(from: Self.near, 5000, to: Self.far, 7880)
    #expect(Self.leaves(&translation, &out))
    translation.rebind()
    var old = try Self.packet(from: Self.far, 7880, to: Self.outside, 5000)
    #expect(!translation.incoming(&old))
    var new = try Self.packet(from: Self.far, 7880, to: Self.outside + 1, 5000)
    #expect(!translation.incoming(&new), "nothing has left from there yet")
    #expect(Self.leaves(&translation, &out))
    #expect(out.source == Self.outside + 1)
    #expect(translation.incoming(&new))
    translation.rebind()
    #expect(translation.address == Self.outside, "the addresses go round")
  }
}
