import Glibc

/// A pair of veth devices, one of them in the namespace, and a packet socket (packet(7)) on the other: for machines
/// without TUN.
struct PacketSocket: PacketPort {
  let descriptor: Int32
  private let outer: String
  private let index: Int32

  private static let ethernetIP: UInt16 = 0x0800
  /// Of the device in the namespace: what is sent to another address is not taken there.
  private static let hardware: [UInt8] = [0x02, 0, 0, 0x57, 0x52, 1]

  init(_ name: String, namespace: String, mtu: Int) throws(WireError) {
    outer = String("\(name)o".suffix(15))
    let address = Self.hardware.map { String($0, radix: 16) }.joined(separator: ":")
    try run("ip", "link", "add", outer, "type", "veth", "peer", "name", name, "address", address, "netns", namespace)
    do throws(WireError) {
      // No address resolution; and no packets larger than the wire takes, which a device would have to cut.
      try run("ip", "-n", namespace, "link", "set", name, "arp", "off", "gso_max_segs", "1")
      try run("ip", "link", "set", outer, "mtu", "\(mtu)", "up")
      index = Int32(if_nametoindex(outer))
      descriptor = socket(
        AF_PACKET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
        Int32(Self.ethernetIP.bigEndian))
      guard descriptor >= 0 else { throw WireError("packet socket: \(String(cString: strerror(errno)))") }
      guard withAddress({ Int(bind(descriptor, $0, $1)) }) == 0 else {
        throw WireError("packet socket: \(String(cString: strerror(errno)))")
      }
    } catch {
      try? run("ip", "link", "del", outer)
      throw error
    }
  }

  /// struct sockaddr_ll, which the Glibc module doesn't have: family, protocol, interface, type, kind, length, address.
  private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 20, alignment: 8) { bytes in
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      bytes.storeBytes(of: UInt16(AF_PACKET), as: UInt16.self)
      bytes.storeBytes(of: Self.ethernetIP.bigEndian, toByteOffset: 2, as: UInt16.self)
      bytes.storeBytes(of: index, toByteOffset: 4, as: Int32.self)
      bytes[11] = 6
      for (place, byte) in Self.hardware.enumerated() { bytes[12 + place] = byte }
      guard let base = bytes.baseAddress else { return -1 }
      return body(UnsafeRawPointer(base).assumingMemoryBound(to: sockaddr.self), 20)
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
  }

  func write(_ packet: UnsafeRawBufferPointer) {
    _ = withAddress { sendto(descriptor, packet.baseAddress, packet.count, 0, $0, $1) }
  }

  mutating func close() {
    Glibc.close(descriptor)
    try? run("ip", "link", "del", outer)
  }
}
