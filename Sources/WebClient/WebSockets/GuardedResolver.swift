import NIOCore
import NIOPosix

/// Finds the addresses of a host for a connection that may only lead to the public internet: what was found is checked, and exactly that
/// is dialled. For one connection; on its event loop.
struct GuardedResolver: Resolver {
  private let found: EventLoopFuture<[IPAddress]>

  /// Begins to look up.
  init(_ host: String, names: NameLookup = .system, on loop: any EventLoop) {
    found = loop.makeFutureWithTask {
      if let literal = IPAddress(host) { return [literal] }
      return await names.addresses(host)
    }
    .flatMapThrowing { all in
      let allowed = all.filter(\.isPublic)
      if allowed.isEmpty, let first = all.first { throw WebClientError("leads to the private address \(first)") }
      return allowed
    }
  }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { addresses(of: 4, port) }

  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { addresses(of: 16, port) }

  func cancelQueries() {}

  /// Those of so many bytes.
  private func addresses(of length: Int, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
    found.flatMapThrowing { all in
      try all.filter { $0.bytes.count == length }.map { try SocketAddress(ipAddress: $0.description, port: port) }
    }
  }
}
