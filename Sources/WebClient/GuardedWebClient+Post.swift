import NIOCore
import NIOHTTP1

extension GuardedWebClient {
  /// What a receiver said to a POST.
  public struct PostAnswer: Hashable, Sendable {
    /// The status code of the answer (RFC 9110 section 15).
    public var status: Int
    /// `Retry-After` in seconds (RFC 9110 section 10.2.3), when it is a number.
    public var retryAfter: Int64?
  }

  /// Of an answer's body so much is read, and thrown away, so that the receiver can end its answer in peace.
  private static let longestAnswer = 8 << 10

  /// Sends a body to an address that somebody named. Redirects are not followed: what was meant for one receiver goes to
  /// no other. Throws when there is no answer.
  public func post(
    _ url: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws(WebClientError) -> PostAnswer {
    let deadline = NIODeadline.now() + TimeAmount(timeLimit)
    let address = try OutgoingAddress(url, policy: policy)
    let allowed = try await allowedAddress(of: address)
    var request = address.request(.POST, headers: ["user-agent": "recbot"], body: ByteBuffer(bytes: body))
    for header in headers { request.headers.replaceOrAdd(name: header.name, value: header.value) }
    return try await exchange(request, at: allowed, deadline: deadline) { response in
      let answer = PostAnswer(
        status: Int(response.status.code),
        retryAfter: response.headers.first(name: "retry-after").flatMap { Int64($0) }.map { max(0, $0) })
      var count = 0
      do {
        for try await part in response.body {
          count += part.readableBytes
          if count > Self.longestAnswer { break }
        }
      } catch {
        // The status has been said; what becomes of the rest is the receiver's affair.
      }
      return answer
    }
  }

  /// What is wrong with an address that somebody named, as far as it can be seen without asking for it; nil: nothing.
  public func problem(with url: String) -> String? {
    do throws(WebClientError) {
      let address = try OutgoingAddress(url, policy: policy)
      if let literal = IPAddress(address.host), !isAllowed(literal) { return "leads to a private address" }
      return nil
    } catch {
      return error.description
    }
  }
}
