import CNice
import Glibc

/// A numeric IPv4 or IPv6 address with a port, as the system's calls take it.
struct SocketAddress: Equatable {
  private var storage = sockaddr_storage()
  private(set) var length: socklen_t

  /// Nil when the text is no numeric address.
  init?(_ address: String, port: UInt16) {
    var four = sockaddr_in()
    var six = sockaddr_in6()
    if inet_pton(AF_INET, address, &four.sin_addr) == 1 {
      four.sin_family = sa_family_t(AF_INET)
      four.sin_port = port.bigEndian
      length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: four, as: sockaddr_in.self) }
    } else if inet_pton(AF_INET6, address, &six.sin6_addr) == 1 {
      six.sin6_family = sa_family_t(AF_INET6)
      six.sin6_port = port.bigEndian
      length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: six, as: sockaddr_in6.self) }
    } else {
      return nil
    }
  }

  /// What a call of the system writes; nil when it writes nothing that is known.
  init?(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool) {
    var written = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isGood = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &written) }
    }
    length = written
    guard isGood, family == AF_INET || family == AF_INET6 else { return nil }
  }

  /// The address that a socket is bound to; nil when it is bound to none.
  init?(of descriptor: Int32) {
    self.init { getsockname(descriptor, $0, $1) == 0 }
  }

  /// AF_INET or AF_INET6.
  var family: Int32 { Int32(storage.ss_family) }

  /// The port. It stands at the same place in both families.
  var port: UInt16 {
    withUnsafeBytes(of: storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
  }

  /// Calls with the address as the system's calls take it.
  func with<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  static func == (a: SocketAddress, b: SocketAddress) -> Bool {
    guard a.length == b.length else { return false }
    return withUnsafeBytes(of: a.storage) { first in
      withUnsafeBytes(of: b.storage) { second in first.prefix(Int(a.length)).elementsEqual(second.prefix(Int(b.length)))
      }
    }
  }

  /// A socket of this address' family that does not block, closed by `exec`; nil when the system has none.
  func makeSocket(isStream: Bool) -> Int32? {
    let descriptor = cnice_socket(family, isStream ? 1 : 0)
    return descriptor < 0 ? nil : descriptor
  }
}
