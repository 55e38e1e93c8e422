import Glibc

/// The addresses of this machine on which ICE gathers.
enum NetworkInterfaces {
  /// Numeric addresses of all interfaces that are up and running, without loopback and link-local ones; at most 16.
  static func addresses() -> [String] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    var result: [String] = []
    var entry = list
    while let interface = entry?.pointee {
      entry = interface.ifa_next
      let flags = interface.ifa_flags
      guard flags & UInt32(IFF_UP) != 0, flags & UInt32(IFF_RUNNING) != 0,
        flags & UInt32(IFF_LOOPBACK) == 0, let address = interface.ifa_addr, let text = text(of: address)
      else { continue }
      guard !text.hasPrefix("169.254."), !text.hasPrefix("fe80:"), !result.contains(text) else { continue }
      result.append(text)
    }
    return Array(result.prefix(16))
  }

  /// The numeric form of an IPv4 or IPv6 socket address, without port.
  static func text(of address: UnsafePointer<sockaddr>) -> String? {
    let length: Int
    switch Int32(address.pointee.sa_family) {
    case AF_INET: length = MemoryLayout<sockaddr_in>.size
    case AF_INET6: length = MemoryLayout<sockaddr_in6>.size
    default: return nil
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
      guard let base = buffer.baseAddress,
        getnameinfo(address, socklen_t(length), base, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST) == 0
      else { return nil }
      return String(cString: base)
    }
  }
}
