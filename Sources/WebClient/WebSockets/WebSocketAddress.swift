/// Where a WebSocket is (RFC 6455 section 3).
public struct WebSocketAddress: Hashable, Sendable, CustomStringConvertible {
  private let address: OutgoingAddress
  /// Whether it may lead into a private network.
  let policy: PrivateAddresses

  /// Reads `ws://HOST:PORT/PATH?QUERY`, or `wss://…` for TLS. Where whoever starts the program names it, any host may be meant; an
  /// address that somebody else named needs a policy.
  public init(_ text: String, privateAddresses policy: PrivateAddresses) throws(WebClientError) {
    let isSecure = text.hasPrefix("wss://")
    guard isSecure || text.hasPrefix("ws://") else { throw WebClientError("does not begin with ws:// or wss://") }
    guard isSecure || policy == .allow else {
      throw WebClientError("is not encrypted: only wss: is allowed, unless RECBOT_PRIVATE_ADDRESSES=allow")
    }
    address = try OutgoingAddress("http" + text.dropFirst(2), policy: policy)
    self.policy = policy
    if policy == .refuse, let literal = IPAddress(host), !literal.isPublic {
      throw WebClientError("leads to the private address \(literal)")
    }
  }

  /// True: in TLS.
  var isSecure: Bool { address.scheme == "https" }
  /// A name in ASCII, or an IP address without brackets.
  var host: String { address.host }
  /// That of the scheme when none is named.
  var port: Int { request.realPort }
  /// The header `Host`.
  var authority: String { request.authority }
  /// Path and query.
  var target: String { address.target }
  /// Scheme, host and port: the rest may hold secrets.
  public var description: String { "\(isSecure ? "wss" : "ws")://\(authority)" }

  private var request: WebRequest { address.request(.GET, headers: [:]) }
}
