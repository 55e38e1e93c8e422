import Glibc
import Platform

/// Finds the addresses of a name. A name is looked up once for each request: what was found is checked, and then exactly
/// that is asked.
struct NameLookup: Sendable {
  /// All addresses of a host; none when it is not known.
  var addresses: @Sendable (_ host: String) async -> [IPAddress]

  /// The system's resolver, on a thread that may block.
  static let system = NameLookup { host in await BlockingWork.run { ask(host) } }

  private static func ask(_ host: String) -> [IPAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var result: [IPAddress] = []
    var next = list
    while let entry = next?.pointee {
      next = entry.ai_next
      guard let address = entry.ai_addr else { continue }
      if entry.ai_family == AF_INET {
        address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
          let bytes = withUnsafeBytes(of: pointer.pointee.sin_addr) { Array($0) }
          if let found = IPAddress(bytes: bytes) { result.append(found) }
        }
      } else if entry.ai_family == AF_INET6 {
        address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
          let bytes = withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }
          if let found = IPAddress(bytes: bytes) { result.append(found) }
        }
      }
    }
    return result
  }
}
