import AsyncHTTPClient
import MediaCore
import NIOHTTP1
import NIOPosix
import Signaling
import WebClient

/// A request to a room's server over HTTP/1.1.
struct ServerRequest: Sendable {
  var method: HTTPMethod
  /// Path and query, behind the prefix of the server's address.
  var target: String
  @Redacted var token: String
  /// The media type of the body; nil for a request without one.
  var contentType: String?
  var body: [UInt8] = []
  /// False where a connection that is still open from before could be dead by now, and must not cost the time to find out.
  var mayReuse = false

  /// For the connections of all rooms: it is never shut down. Servers are asked at the address that the operator or the job
  /// names, so nothing is refused here, but no redirect is followed: it would take the token along.
  private static let client: HTTPClient = {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: .seconds(3)))
    configuration.httpVersion = .http1Only
    // Whether to ask again is decided by who asks.
    configuration.connectionPool.retryConnectionEstablishment = false
    // Some wait for an answer for long, and hold up nobody else.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
    return HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
  }()

  /// Asks a server.
  ///
  /// - Parameters:
  ///   - tlsCAFile: certificates to trust instead of the system's.
  ///   - limit: for the whole answer, the connection included.
  ///   - maximum: the longest answer that is read, in bytes.
  /// - Throws: `RoomError` when the certificates can't be read; `WholeAnswer.Fault`; or what the library throws.
  func answer(
    of url: SignalURL, tlsCAFile: String?, within limit: Duration, atMost maximum: Int
  ) async throws -> WholeAnswer {
    var request = HTTPClientRequest(url: "\(url.isSecure ? "https" : "http")://\(url.hostHeader)\(url.prefix)\(target)")
    if url.isSecure {
      // Of a file that can't be read the library doesn't say which.
      if tlsCAFile != nil { _ = try TLSSetup.context(caFile: tlsCAFile) }
      request.tlsConfiguration = TLSSetup.configuration(caFile: tlsCAFile)
    }
    request.method = method
    request.headers = ["authorization": "Bearer \(token)", "user-agent": "recbot"]
    if !mayReuse { request.headers.add(name: "connection", value: "close") }
    if let contentType {
      request.headers.add(name: "content-type", value: contentType)
      request.body = .bytes(body, length: .known(Int64(body.count)))
    }
    return try await Self.client.answer(to: request, within: limit, atMost: maximum)
  }
}
