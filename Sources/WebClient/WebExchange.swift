import MediaCore
public import NIOCore
public import NIOHTTP1

/// Why a request has no answer.
public struct WebExchangeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// True when it was not made at all, because it may not be: the address is not allowed. False: it can succeed later.
  public var isRefusal: Bool
  /// One line for people.
  public var description: String
}

/// Requests to one server that somebody named. As for `GuardedWebClient`: each time the host is looked up and checked, and then
/// exactly what was checked is asked; no redirects, no cookies, no proxies. Each request has a connection of its own, so
/// that none outlives what was found out about its address.
public struct WebExchange: Sendable {
  private let address: OutgoingAddress
  private let silence: Duration
  private let policy: PrivateAddresses
  private let names: NameLookup

  /// `https`, or `http` where that is allowed.
  public var scheme: String { address.scheme }
  /// The host as it stands in a URL and in the header `Host` (RFC 9110, section 7.2): with the port when it is not that
  /// of the scheme.
  public var authority: String {
    let name = address.host.utf8.contains(UInt8(ascii: ":")) ? "[\(address.host)]" : address.host
    let usual = address.scheme == "https" ? 443 : 80
    return name + (address.port.flatMap { $0 == usual ? nil : ":\($0)" } ?? "")
  }
  /// Path and query of the server's address.
  public var target: String { address.target }

  /// Checks an address, without asking for it.
  ///
  /// - Parameter silence: how long the server may neither take nor send anything, in milliseconds.
  public init(
    _ url: String, privateAddresses policy: PrivateAddresses, silence: Int64
  ) throws(WebExchangeError) {
    try self.init(url, privateAddresses: policy, silence: silence, names: .system)
  }

  /// The same with another way to look names up.
  init(
    _ url: String, privateAddresses policy: PrivateAddresses, silence: Int64, names: NameLookup
  ) throws(WebExchangeError) {
    self.names = names
    do throws(WebClientError) {
      address = try OutgoingAddress(url, policy: policy)
    } catch {
      throw WebExchangeError(isRefusal: true, description: error.description)
    }
    if policy == .refuse, let literal = IPAddress(address.host), !literal.isPublic {
      throw WebExchangeError(isRefusal: true, description: "leads to the private address \(literal)")
    }
    self.silence = .milliseconds(min(max(silence, 1), 3_600_000))
    self.policy = policy
  }

  /// Sends one request to the server, and gives the answer to `read`.
  ///
  /// - Parameters:
  ///   - target: path and query.
  ///   - body: is sent as it is, with its length; nil: there is none.
  public func perform<Value: Sendable>(
    _ method: HTTPMethod, _ target: String, headers: HTTPHeaders = [:], body: ByteBuffer? = nil,
    _ read: (WebResponse) async throws -> Value
  ) async throws(WebExchangeError) -> Value {
    let found: [IPAddress]
    do throws(WebClientError) {
      found = try await address.resolve(by: names)
    } catch {
      throw WebExchangeError(isRefusal: false, description: error.description)
    }
    guard let allowed = found.first(where: { policy == .allow || $0.isPublic }) else {
      throw WebExchangeError(
        isRefusal: true, description: "leads to the private address \(found.first?.description ?? "")")
    }
    var request = address.request(method, headers: headers, body: body)
    request.target = target
    let client = WebConnections(.init(connectTimeout: silence, silence: silence))
    do {
      return try await read(try await client.answer(to: request, at: allowed.description))
    } catch {
      let reason = (error as? WebFault)?.description ?? PeerText.line("\(error)")
      throw WebExchangeError(isRefusal: false, description: reason)
    }
  }
}
