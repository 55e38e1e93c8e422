import Glibc
import MediaCore
import Platform
import SystemKit

@testable import Transport

/// coturn on loopback, for one test.
final class RelayServer {
  let port: UInt16
  private let process: pid_t

  static let path = "/usr/bin/turnserver"
  static var isInstalled: Bool { access(path, X_OK) == 0 }

  /// Starts it and waits until it answers; nil when it does not within 30 s.
  init?() {
    guard let port = (try? LoopbackSocket(.closed))?.port else { return nil }
    self.port = port
    let arguments = [
      RelayServer.path, "-n", "--lt-cred-mech", "--user", "u:p", "--realm", "r", "--listening-ip", "127.0.0.1",
      "--relay-ip", "127.0.0.1", "--listening-port", "\(port)", "--allow-loopback-peers", "--no-tls", "--no-dtls",
      "--no-cli", "--log-file", "/dev/null", "--pidfile", "/dev/null", "--userdb", "/dev/null",
    ]
    guard let process = ChildProcess.start(arguments, output: "/dev/null", errors: "/dev/null") else { return nil }
    self.process = process
    guard answers() else {
      stop()
      return nil
    }
  }

  func stop() {
    kill(process, SIGKILL)
    _ = ChildProcess.wait(process)
  }

  func server(_ transport: String) -> ICEServer {
    ICEServer(urls: ["turn:127.0.0.1:\(port)?transport=\(transport)"], username: "u", credential: "p")
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  /// Asks for a binding until an answer comes.
  private func answers() -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var wait = timeval(tv_sec: 0, tv_usec: 100_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    let request: [UInt8] = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42] + [UInt8](repeating: 7, count: 12)
    let address = RelayServer.loopback(port: port)
    let deadline = MonotonicClock.now + .seconds(30)
    var answer = [UInt8](repeating: 0, count: 500)
    while MonotonicClock.now < deadline {
      _ = withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(descriptor, request, request.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      if recv(descriptor, &answer, answer.count, 0) >= 20 { return true }
    }
    return false
  }
}
