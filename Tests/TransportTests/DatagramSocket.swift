import Glibc

/// A UDP socket on the loopback interface that only listens.
final class DatagramSocket {
  let port: UInt16
  private let descriptor: Int32

  struct Refused: Error {}

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else {
      close(descriptor)
      throw Refused()
    }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Waits for a datagram and gives the port that it came from; nil after thirty seconds without one.
  func nextSender() -> UInt16? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var count = -1
    repeat {
      count = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(descriptor, nil, 0, 0, $0, &length) }
      }
      // A process that was stopped and goes on finds its wait interrupted (signal(7): sockets with a timeout).
    } while count < 0 && errno == EINTR
    return count < 0 ? nil : UInt16(bigEndian: address.sin_port)
  }
}
