import MediaCore
import NIOCore
import NIOHTTP1
import Signaling
import Synchronization
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

  /// How long a connection waits for the next request that may use it.
  private static let keepsOpen = Duration.seconds(30)
  private static let connectTimeout = Duration.seconds(3)
  /// For the requests of all rooms that may use a connection again, by the file of certificates that they trust.
  private static let reused = Mutex<[String?: WebConnections]>([:])

  /// Asks a server. Servers are asked at the address that the operator or the job names, so nothing is refused here.
  ///
  /// - Parameters:
  ///   - tlsCAFile: certificates to trust instead of the system's.
  ///   - limit: for the whole answer, the connection included.
  ///   - maximum: the longest answer that is read, in bytes.
  /// - Throws: `RoomError` when the certificates can't be read; `WholeAnswer.Fault`.
  func answer(
    of url: SignalURL, tlsCAFile: String?, within limit: Duration, atMost maximum: Int
  ) async throws -> WholeAnswer {
    if url.isSecure { _ = try TLSSetup.context(caFile: tlsCAFile) }
    var request = WebRequest(
      method, isSecure: url.isSecure, host: url.host, port: url.port, target: url.prefix + target,
      headers: ["authorization": "Bearer \(token)", "user-agent": "recbot"])
    if let contentType {
      request.headers.add(name: "content-type", value: contentType)
      request.body = ByteBuffer(bytes: body)
    }
    return try await connections(tlsCAFile).whole(request, within: limit, atMost: maximum)
  }

  private func connections(_ tlsCAFile: String?) -> WebConnections {
    guard mayReuse else {
      return WebConnections(.init(authorities: tlsCAFile, connectTimeout: Self.connectTimeout))
    }
    return Self.reused.withLock { reused in
      if let made = reused[tlsCAFile] { return made }
      let made = WebConnections(
        .init(authorities: tlsCAFile, connectTimeout: Self.connectTimeout, keepsOpen: Self.keepsOpen))
      reused[tlsCAFile] = made
      return made
    }
  }
}
