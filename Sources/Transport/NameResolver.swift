import Glibc
import Synchronization

/// Host names to addresses, on a thread made for each look-up, because `getaddrinfo` blocks for as long as it likes.
package enum NameResolver {
  // A dead name server must not collect threads without end.
  private static let running = Atomic<Int>(0)
  private static let maximumRunning = 32

  /// Calls `completion` on the loop with numeric addresses, IPv4 first; with none when the name cannot be resolved.
  /// Loop thread only.
  package static func resolve(_ host: String, on loop: MediaLoop, completion: @escaping ([String]) -> Void) {
    guard running.add(1, ordering: .relaxed).newValue <= maximumRunning else {
      running.subtract(1, ordering: .relaxed)
      loop.timer(after: .zero) { completion([]) }
      return
    }
    loop.offload {
      let addresses = lookUp(host)
      running.subtract(1, ordering: .relaxed)
      return addresses
    } completion: {
      completion($0)
    }
  }

  /// True when the text is a numeric address already.
  package static func isNumeric(_ host: String) -> Bool {
    var storage = in6_addr()
    return inet_pton(AF_INET, host, &storage) == 1 || inet_pton(AF_INET6, host, &storage) == 1
  }

  private static func lookUp(_ host: String) -> [String] {
    var hints = addrinfo()
    hints.ai_flags = AI_ADDRCONFIG
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var four: [String] = []
    var six: [String] = []
    var entry = list
    while let info = entry?.pointee {
      if let address = info.ai_addr, let text = NetworkInterfaces.text(of: address) {
        if info.ai_family == AF_INET { four.append(text) } else { six.append(text) }
      }
      entry = info.ai_next
    }
    return four + six
  }
}
