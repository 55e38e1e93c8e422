import JobsAPI
import MediaCore
import NIOCore
import NIOHTTP1
import WebClient

extension BackendClient {
  /// The files of a recording.
  public func recording(_ id: String) async throws(BackendError) -> RecordingPage {
    try await get("/v1/recordings/\(PercentCoding.encode(id))")
  }

  /// Deletes the files of a recording.
  public func deleteRecording(_ id: String) async throws(BackendError) {
    try await delete("/v1/recordings/\(PercentCoding.encode(id))")
  }

  /// A link to a file, which ends.
  public func link(to id: String, _ request: LinkRequest) async throws(BackendError) -> LinkAnswer {
    try await send(.POST, "/v1/recordings/\(PercentCoding.encode(id))/links", body: request)
  }

  /// Reads a file, or what is beside it, from an offset on, from the backend or from where it sends us. `body` is told
  /// where in the file each piece begins, and says whether more is wanted.
  func readFile(
    of entry: RecordingPage.Entry, beside side: JobSideFile?, from offset: Int64,
    _ body: (Int64, [UInt8]) async -> Bool
  ) async throws(BackendError) {
    let http = WebConnections(
      .init(authorities: tlsCA, connectTimeout: Self.connectTimeout, silence: .seconds(60)))
    var headers: HTTPHeaders = ["user-agent": "recbot"]
    if offset > 0 { headers.add(name: "range", value: "bytes=\(offset)-") }
    let beside = side.map { "&beside=\($0.kind.rawValue)" } ?? ""
    var request = try request(
      .GET, "/v1/recordings/\(PercentCoding.encode(entry.job))/file?number=\(entry.number)\(beside)", headers)
    request.headers.add(name: "authorization", value: authorization)
    do {
      var response = try await http.answer(to: request)
      if [302, 307].contains(response.status.code), let address = response.headers.first(name: "location") {
        // The store's address has its own signature; the credential is not for it.
        guard let other = WebRequest(url: address, headers: headers) else {
          throw BackendError.strange("it sends us to what is no address")
        }
        response = try await http.answer(to: other)
      }
      var position: Int64 = response.status == .partialContent ? offset : 0
      guard response.status == .ok || response.status == .partialContent else {
        throw Self.refusal(
          Int(response.status.code), response.status.reasonPhrase, try await response.body.collect(upTo: 65_536))
      }
      for try await buffer in response.body {
        let bytes = Array(buffer.readableBytesView)
        guard await body(position, bytes) else { return }
        position += Int64(bytes.count)
      }
      guard position == side?.size ?? entry.file.size else { throw BackendError.away("the file broke off") }
    } catch {
      throw Self.failure(error)
    }
  }
}
