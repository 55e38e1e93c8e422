import AsyncHTTPClient
import Glibc
import MediaCore
import NIOCore
import NIOPosix

/// A client for one request to exactly one IP address, which was checked before.
enum PinnedConnection {
  /// Makes the client; whoever made it shuts it down.
  static func client(
    to host: String, at ip: IPAddress, timeout: HTTPClient.Configuration.Timeout
  ) -> HTTPClient {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow, timeout: timeout)
    configuration.dnsOverride = [host: ip.description]
    configuration.httpVersion = .http1Only
    // A port that refuses is an answer, and at once; who asks decides whether to ask again.
    configuration.connectionPool.retryConnectionEstablishment = false
    return HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
  }

  /// One line for people.
  static func reason(_ error: any Error) -> String {
    switch error {
    case let error as HTTPClientError: error.shortDescription
    case let error as NIOConnectionError: error.connectionErrors.first.map { reason($0.error) } ?? "\(error)"
    case let error as IOError: String(cString: strerror(error.errnoCode))
    default: TLSFault(reading: "\(error)")?.description ?? PeerText.line("\(error)")
    }
  }
}
