import Glibc

/// A TUN device: the packets that the kernel routes to it are read here, and what is written here arrives from it.
struct Tun: PacketPort {
  let descriptor: Int32

  // <linux/if_tun.h>, which the Glibc module doesn't have.
  private static let setInterface: UInt = 0x4004_54ca
  private static let flags: Int16 = 0x0001 | 0x1000  // IFF_TUN, IFF_NO_PI

  /// Why there can be none on this machine; nil when there can.
  static var reason: String? {
    let descriptor = open("/dev/net/tun", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return "/dev/net/tun: \(String(cString: strerror(errno)))" }
    Glibc.close(descriptor)
    return nil
  }

  /// Makes the device and moves it into a namespace; it goes when this is closed.
  init(_ name: String, namespace: String) throws(WireError) {
    descriptor = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw WireError("/dev/net/tun: \(String(cString: strerror(errno)))") }
    // struct ifreq: 16 bytes of name, then the flags; 40 bytes in all.
    var request = [UInt8](repeating: 0, count: 40)
    for (index, byte) in name.utf8.prefix(15).enumerated() { request[index] = byte }
    withUnsafeBytes(of: Self.flags) { flags in
      for (index, byte) in flags.enumerated() { request[16 + index] = byte }
    }
    let made = request.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { ioctl(descriptor, Self.setInterface, $0) }
    }
    guard made == 0 else {
      let text = String(cString: strerror(errno))
      Glibc.close(descriptor)
      throw WireError("no TUN device: \(text)")
    }
    do throws(WireError) {
      try run("ip", "link", "set", name, "netns", namespace)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
  }

  func write(_ packet: UnsafeRawBufferPointer) { _ = Glibc.write(descriptor, packet.baseAddress, packet.count) }

  mutating func close() { Glibc.close(descriptor) }
}
