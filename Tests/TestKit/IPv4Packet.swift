/// An IPv4 packet (RFC 791) that a relay takes from one network to another.
public struct IPv4Packet: Hashable, Sendable {
  /// The whole packet, header first.
  public private(set) var bytes: [UInt8]

  private enum Carried {
    static let icmp: UInt8 = 1
    static let tcp: UInt8 = 6
    static let udp: UInt8 = 17
  }

  /// Takes a packet; nil for IPv6, fragments, and what is cut off or malformed. Bytes behind its end are left out.
  public init?(_ bytes: some Collection<UInt8>) {
    var bytes = Array(bytes)
    guard bytes.count >= 20, bytes[0] >> 4 == 4 else { return nil }
    let header = Int(bytes[0] & 15) * 4
    let total = Int(bytes[2]) << 8 | Int(bytes[3])
    // More fragments, or an offset: the ports stand in the first one only.
    let isFragment = bytes[6] & 0x3f != 0 || bytes[7] != 0
    let least = [Carried.icmp: 8, Carried.tcp: 20, Carried.udp: 8][bytes[9]] ?? 0
    guard header >= 20, total >= header + least, total <= bytes.count, !isFragment else { return nil }
    bytes.removeLast(bytes.count - total)
    self.bytes = bytes
  }

  /// What it carries.
  public var kind: PacketClass {
    switch bytes[9] {
    case Carried.udp: .udp
    case Carried.tcp: .tcp
    default: .other
    }
  }

  /// The sender's address.
  public var source: UInt32 {
    get { word(12) }
    set { setWord(12, newValue) }
  }
  /// The receiver's address.
  public var destination: UInt32 {
    get { word(16) }
    set { setWord(16, newValue) }
  }

  /// The sender's port; for ICMP echo messages the identifier. Nil when there is nothing of the kind.
  public var sourcePort: UInt16? { port(offset: 0) }
  /// The receiver's port, as `sourcePort`.
  public var destinationPort: UInt16? { port(offset: 2) }

  private var headerCount: Int { Int(bytes[0] & 15) * 4 }

  private func port(offset: Int) -> UInt16? {
    switch bytes[9] {
    case Carried.udp, Carried.tcp: return half(headerCount + offset)
    // Echo and echo reply (RFC 792).
    case Carried.icmp where bytes[headerCount] == 8 || bytes[headerCount] == 0: return half(headerCount + 4)
    default: return nil
    }
  }

  /// Works out all checksums anew. To be called after a change; also completes those that a kernel has left to hardware.
  public mutating func updateChecksums() {
    setHalf(10, 0)
    setHalf(10, ~Self.sum(bytes[..<headerCount]))
    let place: Int
    switch bytes[9] {
    case Carried.udp: place = headerCount + 6
    case Carried.tcp: place = headerCount + 16
    default: return
    }
    setHalf(place, 0)
    // The pseudo header (RFC 768): addresses, protocol, length.
    let length = bytes.count - headerCount
    let start = Self.sum(bytes[12..<20], from: UInt64(bytes[9]) + UInt64(length))
    let checksum = ~Self.sum(bytes[headerCount...], from: UInt64(start))
    // 0 would mean that there is none.
    setHalf(place, checksum == 0 && bytes[9] == Carried.udp ? 0xffff : checksum)
  }

  /// Changes one bit of what is carried; `number` says which. UDP's checksum is then made right again, so that the
  /// change comes through to the receiver; TCP's is not, so that the packet is as good as lost.
  public mutating func corrupt(_ number: UInt64) {
    let start = headerCount + (kind == .udp ? 8 : kind == .tcp ? 20 : 0)
    guard start < bytes.count else { return }
    let bit = Int(number % UInt64((bytes.count - start) * 8))
    bytes[start + bit / 8] ^= 1 << UInt8(bit % 8)
    if kind == .udp { updateChecksums() }
  }

  /// One's complement sum of 16-bit words (RFC 1071).
  private static func sum(_ bytes: ArraySlice<UInt8>, from start: UInt64 = 0) -> UInt16 {
    var sum = start
    var isHigh = true
    for byte in bytes {
      sum &+= isHigh ? UInt64(byte) << 8 : UInt64(byte)
      isHigh.toggle()
    }
    while sum > 0xffff { sum = sum & 0xffff &+ sum >> 16 }
    return UInt16(sum)
  }

  private func half(_ at: Int) -> UInt16 { UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1]) }
  private func word(_ at: Int) -> UInt32 { UInt32(half(at)) << 16 | UInt32(half(at + 2)) }

  private mutating func setHalf(_ at: Int, _ value: UInt16) {
    bytes[at] = UInt8(value >> 8)
    bytes[at + 1] = UInt8(value & 255)
  }

  private mutating func setWord(_ at: Int, _ value: UInt32) {
    setHalf(at, UInt16(value >> 16))
    setHalf(at + 2, UInt16(value & 0xffff))
  }
}
