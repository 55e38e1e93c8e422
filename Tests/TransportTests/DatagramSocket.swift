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

  /// Waits for a datagram; nil after thirty seconds without one.
  func next() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 2048)
    var count = -1
    repeat {
      count = recv(socket.descriptor, &bytes, bytes.count, 0)
    } while count < 0 && errno == EINTR
    return count < 0 ? nil : Array(bytes.prefix(count))
  }

  /// Sends to a port of this machine.
  func send(_ bytes: [UInt8], to port: UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    _ = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(socket.descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
