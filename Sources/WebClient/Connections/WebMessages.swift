import FoundationEssentials
public import NIOCore
public import NIOHTTP1
public import MediaCore

/// A request to a server (RFC 9110).
public struct WebRequest: Sendable {
  /// `GET` and so on.
  public var method: HTTPMethod
  /// True: in TLS, and `https`.
  public var isSecure: Bool
  /// The name or the numeric address of the server, without brackets: what the certificate must be for.
  public var host: String
  /// The port; nil: that of the scheme.
  public var port: Int?
  /// Path and query.
  public var target: String
  /// Beside `Host`, `Content-Length` and `Connection`, which the client sets.
  public var headers: HTTPHeaders
  /// Sent as it is; nil: the request has none.
  public var body: ByteBuffer?

  /// Makes a request; see the properties.
  public init(
    _ method: HTTPMethod = .GET, isSecure: Bool, host: String, port: Int? = nil, target: String,
    headers: HTTPHeaders = [:], body: ByteBuffer? = nil
  ) {
    self.method = method
    self.isSecure = isSecure
    self.host = host
    self.port = port
    self.target = target
    self.headers = headers
    self.body = body
  }

  /// The same for a URL; nil when it is none of `http` or `https` with a host.
  public init?(_ method: HTTPMethod = .GET, url text: String, headers: HTTPHeaders = [:], body: ByteBuffer? = nil) {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
      var host = url.host, !host.isEmpty
    else { return nil }
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    let path = url.path(percentEncoded: true)
    self.init(
      method, isSecure: scheme == "https", host: host, port: url.port,
      target: (path.hasPrefix("/") ? path : "/" + path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? ""),
      headers: headers, body: body)
  }

  /// Whether asking twice does what asking once does (RFC 9110 section 9.2.2).
  var isIdempotent: Bool { [.GET, .HEAD, .PUT, .DELETE, .OPTIONS, .TRACE].contains(method) }
  /// The port that is asked.
  var realPort: Int { port ?? (isSecure ? 443 : 80) }
  /// The header `Host` (RFC 9110 section 7.2): with the port when it is not that of the scheme.
  var authority: String {
    let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return name + (realPort == (isSecure ? 443 : 80) ? "" : ":\(realPort)")
  }
}

/// An answer whose head has come.
public struct WebResponse: Sendable {
  /// The status (RFC 9110 section 15).
  public var status: HTTPResponseStatus
  /// The header fields.
  public var headers: HTTPHeaders
  /// What follows. Who does not read it to its end lets it go, and the connection with it.
  public var body: WebBody
}

/// The body of an answer, as it comes: the server is read no faster than it is taken. One iterator only. Throws `WebFault`.
public struct WebBody: AsyncSequence, Sendable {
  typealias Producer = NIOThrowingAsyncSequenceProducer<
    ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, WebBodyFlow
  >
  let producer: Producer

  /// Goes through the parts.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let base: Producer.AsyncIterator
    /// The next part; nil when all have come.
    public func next() async throws -> ByteBuffer? { try await base.next() }
  }

  /// Begins.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: producer.makeAsyncIterator()) }
}

/// Why there is no answer, or no whole one.
public enum WebFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The host's name is not known.
  case unknownHost(String)
  /// No connection came about; the system's words.
  case unreachable(String)
  /// No connection that could be trusted.
  case tls(TLSFault)
  /// The connection was closed before anything was answered: the server may not have seen the request (RFC 9110 section 9.2.2).
  case unanswered
  /// The connection was closed in the middle of the answer.
  case cut
  /// Not here in time.
  case late
  /// What answers speaks no HTTP.
  case notHTTP
  /// Whoever asked does not want it any more.
  case cancelled

  /// One line for people.
  public var description: String {
    switch self {
    case .unknownHost(let host): "the host \(host) is not known"
    case .unreachable(let reason): reason
    case .tls(let fault): fault.description
    case .unanswered: "it closed the connection without an answer"
    case .cut: "it closed the connection in the middle of its answer"
    case .late: "its answer takes too long"
    case .notHTTP: "what answers there speaks no HTTP"
    case .cancelled: "the request was given up"
    }
  }
}
