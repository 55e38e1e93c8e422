import Glibc

/// A socket that has a port of 127.0.0.1 for as long as it lives: nobody else gets the port meanwhile.
package final class LoopbackSocket {
  /// What it does with the port.
  package enum Kind {
    /// TCP; holds the port, so that who connects is refused.
    case closed
    /// TCP; connections come about, and nobody ever takes or answers them.
    case silent
    /// UDP.
    case datagram
  }

  /// The system's number of it.
  package let descriptor: Int32
  /// Its port.
  package let port: UInt16

  /// Why there is none.
  package struct Refused: Error {
    /// `errno`.
    package var number: Int32
  }

  /// Takes a free port.
  package init(_ kind: Kind) throws(Refused) {
    let type = kind == .datagram ? SOCK_DGRAM : SOCK_STREAM
    let descriptor = socket(AF_INET, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound, kind != .silent || listen(descriptor, 16) == 0 else {
      let number = errno
      close(descriptor)
      throw Refused(number: number)
    }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }
}
