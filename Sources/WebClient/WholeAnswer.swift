import NIOCore
import Platform

/// An answer, whole.
public struct WholeAnswer: Hashable, Sendable {
  /// The status code (RFC 9110 section 15).
  public var status: Int
  /// What follows the head.
  public var body: [UInt8]

  /// Why there is none.
  public enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no answer, or no whole one.
    case web(WebFault)
    /// Longer than was allowed.
    case tooLong

    /// One line for people.
    public var description: String {
      switch self {
      case .web(let fault): fault.description
      case .tooLong: "its answer is too long"
      }
    }
  }
}

extension WebConnections {
  /// Asks, and reads the whole answer.
  ///
  /// - Parameters:
  ///   - limit: for all of it, the connection included.
  ///   - maximum: a longer body is an error, and not read to its end; bytes.
  public func whole(
    _ request: WebRequest, within limit: Duration, atMost maximum: Int
  ) async throws(WholeAnswer.Fault) -> WholeAnswer {
    do {
      return try await TimeLimit.run(limit) {
        let response = try await self.answer(to: request)
        var answer = WholeAnswer(status: Int(response.status.code), body: [])
        for try await part in response.body {
          guard answer.body.count + part.readableBytes <= maximum else { throw WholeAnswer.Fault.tooLong }
          answer.body += part.readableBytesView
        }
        return answer
      }
    } catch let error as WholeAnswer.Fault {
      throw error
    } catch let error as WebFault {
      throw .web(error)
    } catch is TimeLimit.Exceeded {
      throw .web(.late)
    } catch {
      throw .web(.cancelled)
    }
  }
}
