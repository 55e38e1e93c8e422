import NIOHTTP1
import Synchronization

/// An HTTP request that is not about joining, with its whole body.
struct HTTPRequest: Sendable {
  /// `GET`, `POST`…
  var method: String
  /// Path of the target, without the query.
  var path: String
  /// What stands behind the question mark.
  var query: String
  /// Header fields.
  var headers: HTTPHeaders
  /// The body; empty when there is none.
  var body: [UInt8]
  /// Says that the request came with a good credential: its connection is not among those any more that give way to
  /// others while they wait. False: there are too many, and the reply is `HTTPReply.full`. Any thread.
  var enter: @Sendable () -> Bool = { true }
  /// Different for every request of this process.
  let number = HTTPRequest.numbers.add(1, ordering: .relaxed).newValue

  private static let numbers = Atomic<Int>(0)
}

/// The answer to an `HTTPRequest`.
struct HTTPReply: Sendable {
  /// Status code.
  var status: Int
  /// Media type of the body.
  var contentType: String
  /// Bytes of the body; empty when there is none.
  var body: [UInt8]
  /// Other web pages may read it.
  var isOpen = false
  /// Further header fields.
  var headers: [(name: String, value: String)] = []

  /// No more clients can be served now.
  static let full = HTTPReply(503, "the server has too many connections\n", isOpen: true)

  /// A reply in plain text.
  init(_ status: Int, _ text: String, isOpen: Bool = false) {
    self.init(status, "text/plain; charset=utf-8", Array(text.utf8))
    self.isOpen = isOpen
  }

  /// A reply of any type.
  init(_ status: Int, _ contentType: String, _ body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }
}

/// Answers the requests below one path.
protocol HTTPService: Sendable {
  /// What the paths begin with, such as `/twirp/`.
  var prefix: String { get }
  /// The largest body that is taken, in bytes.
  var longestBody: Int { get }
  /// Answers one request. Called on a network thread, where it must not wait; `reply` is called once, on any thread,
  /// now or later.
  func answer(_ request: HTTPRequest, _ reply: @escaping @Sendable (HTTPReply) -> Void)
  /// The client of a request is gone before the reply. Called on a network thread.
  func gone(_ number: Int)
}

extension HTTPService {
  /// Does nothing.
  func gone(_ number: Int) {}
}
