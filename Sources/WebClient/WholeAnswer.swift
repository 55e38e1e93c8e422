public import AsyncHTTPClient
import NIOCore
import Platform

/// An answer, whole.
public struct WholeAnswer: Hashable, Sendable {
  /// The status code (RFC 9110 section 15).
  public var status: Int
  /// What follows the head.
  public var body: [UInt8]

  /// Why there is none, beside what the library throws.
  public enum Fault: Error, Hashable, Sendable {
    /// The connection was closed before anything was answered: the server may not have seen the request (RFC 9110 section 9.2.2).
    case unanswered
    /// The connection was closed in the middle of the answer.
    case cut
    /// Longer than was allowed.
    case tooLong
    /// Not here in time.
    case late
  }
}

extension HTTPClient {
  /// Asks, and reads the whole answer. The library's own deadline ends with the answer's head; this one doesn't.
  ///
  /// - Parameters:
  ///   - limit: for all of it, the connection included.
  ///   - maximum: a longer body is an error, and not read to its end; bytes.
  /// - Throws: `WholeAnswer.Fault`, or what the library throws.
  public func answer(
    to request: HTTPClientRequest, within limit: Duration, atMost maximum: Int
  ) async throws -> WholeAnswer {
    do {
      return try await TimeLimit.run(limit) {
        var answer = WholeAnswer(status: 0, body: [])
        do {
          let response = try await self.execute(request, timeout: TimeAmount(limit))
          answer.status = Int(response.status.code)
          for try await part in response.body {
            guard answer.body.count + part.readableBytes <= maximum else { throw WholeAnswer.Fault.tooLong }
            answer.body += part.readableBytesView
          }
          return answer
        } catch {
          throw WholeAnswer.Fault(error, hasHead: answer.status != 0) ?? error
        }
      }
    } catch is TimeLimit.Exceeded {
      throw WholeAnswer.Fault.late
    }
  }
}

extension WholeAnswer.Fault {
  /// What an error of the library means; nil for what has a meaning of its own. A connection that is closed has several.
  fileprivate init?(_ error: any Error, hasHead: Bool) {
    switch error {
    case let error as HTTPClientError where error == .deadlineExceeded || error == .connectTimeout: self = .late
    case ChannelError.connectTimeout: self = .late
    case let error as HTTPClientError where error == .remoteConnectionClosed: self = hasHead ? .cut : .unanswered
    case is IOError, is ChannelError: self = hasHead ? .cut : .unanswered
    default: return nil
    }
  }
}
