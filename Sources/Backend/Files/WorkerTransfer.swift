import AsyncHTTPClient
import JobsAPI
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix

/// One request to a worker for a file of its folder. The connection is its own, and ends with it.
final class WorkerTransfer: Sendable {
  private let client: HTTPClient
  private let response: HTTPClientResponse

  /// The worker's status: 200 when it has the file.
  var status: Int { Int(response.status.code) }
  /// The bytes that were asked for.
  var bytes: HTTPClientResponse.Body { response.body }

  /// Asks a worker. Throws when it can't be reached.
  ///
  /// - Parameter url: the worker's address, as it tells it.
  init(_ request: FileRequest, at url: String, key: [UInt8]) async throws {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: .seconds(3), read: .seconds(30), write: .seconds(30)))
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    self.client = client
    do {
      var outgoing = HTTPClientRequest(url: url + request.target(key: key))
      outgoing.method = request.verb == .remove ? .DELETE : .GET
      // What does not end by itself: the longest recording, on the slowest line that is borne.
      response = try await client.execute(outgoing, deadline: .now() + .hours(24))
    } catch {
      try? await client.shutdown()
      throw error
    }
  }

  deinit {
    let client = client
    Task { try? await client.shutdown() }
  }
}
