import Glibc
import SystemKit

/// A UDP socket on the loopback interface that only listens.
final class DatagramSocket {
  private let socket: LoopbackSocket
  var port: UInt16 { socket.port }

  init() throws {
    socket = try LoopbackSocket(.datagram)
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(socket.descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Waits for a datagram and gives the port that it came from; nil after thirty seconds without one.
  func nextSender() -> UInt16? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var count = -1
    repeat {
      count = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(socket.descriptor, nil, 0, 0, $0, &length)
        }
      }
      // A process that was stopped and goes on finds its wait interrupted (signal(7): sockets with a timeout).
    } while count < 0 && errno == EINTR
    return count < 0 ? nil : UInt16(bigEndian: address.sin_port)
  }
}
