import JobsAPI
import MediaCore
import NIOHTTP1
import WebClient

/// One request to a worker for a file of its folder. The connection is its own, and ends with it.
struct WorkerTransfer: Sendable {
  private let response: WebResponse

  /// The worker's status: 200 when it has the file.
  var status: Int { Int(response.status.code) }
  /// The bytes that were asked for.
  var bytes: WebBody { response.body }

  /// Asks a worker. Throws when it can't be reached.
  ///
  /// - Parameter url: the worker's address, as it tells it.
  init(_ request: FileRequest, at url: String, key: [UInt8]) async throws(WebFault) {
    let verb: HTTPMethod = request.verb == .remove ? .DELETE : .GET
    guard let outgoing = WebRequest(verb, url: url + request.target(key: key)) else {
      throw .unreachable("'\(url)' is no address")
    }
    let connections = WebConnections(.init(connectTimeout: .seconds(3), silence: .seconds(30)))
    response = try await connections.answer(to: outgoing)
  }
}
