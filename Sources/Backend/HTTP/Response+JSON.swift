import Foundation
import Hummingbird
import JobsAPI
import NIOCore

extension Response {
  /// A value as JSON, with what its readers need of it.
  static func json(
    _ value: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:],
    for audience: Audience = .callers
  ) -> Response {
    let encoder = JSONEncoder()
    encoder.userInfo[Audience.key] = audience
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return Response(status: .internalServerError) }
    return bytes(ByteBuffer(bytes: data), type: "application/json", status: status, headers: headers)
  }

  /// Bytes of a media type. What the backend says is never kept by caches, and never taken for another type.
  static func bytes(
    _ body: ByteBuffer, type: String, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
  ) -> Response {
    var headers = headers
    headers[.contentType] = type
    headers[.cacheControl] = "no-store"
    headers[.xContentTypeOptions] = "nosniff"
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
  }
}
