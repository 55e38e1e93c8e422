import Glibc
import MediaCore

@testable import Transport

/// Random datagrams to a port of this machine.
struct UDPFlood {
  let port: UInt16

  func send(count: Int, seed: UInt64) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var random = SeededRandom(seed: seed)
    for number in 0..<count {
      var bytes = (0..<Int.random(in: 1...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      // Half of them look like STUN, DTLS or RTP at first sight.
      if number.isMultiple(of: 2) { bytes[0] = [0, 1, 22, 64, 128, 144][number / 2 % 6] }
      _ = withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
  }
}

/// Blocks of random bytes.
struct SeededRandomBytes {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func next(upTo limit: Int) -> [UInt8] {
    let count = Int.random(in: 0...limit, using: &random)
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }
}
