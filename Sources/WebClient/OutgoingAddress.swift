import FoundationEssentials
import NIOCore
import NIOHTTP1

/// Why a request was not made, or came to nothing.
public struct WebClientError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One line for people.
  public let description: String

  init(_ description: String) { self.description = description }

  static let late = WebClientError("takes too long to answer")
}

/// Whether addresses that others name may lead into private networks.
public enum PrivateAddresses: String, CaseIterable, Sendable, Hashable {
  /// Only `https:` to public addresses.
  case refuse
  /// `http:` and any address, for networks without strangers.
  case allow
}

/// An address that somebody else named, taken apart and checked.
struct OutgoingAddress: Hashable {
  /// `http` or `https`.
  let scheme: String
  /// A name in ASCII, or an IP address without brackets.
  let host: String
  let port: Int?
  /// Path and query.
  let target: String

  /// Reads a URL. Throws when it isn't one that may be asked for.
  init(_ text: String, relativeTo base: OutgoingAddress? = nil, policy: PrivateAddresses) throws(WebClientError) {
    guard text.utf8.count <= 2048, let url = URL(string: text, relativeTo: base.flatMap { URL(string: $0.text) }),
      let scheme = url.scheme?.lowercased(), var host = url.host?.lowercased()
    else { throw WebClientError("is not an address") }
    guard scheme == "https" || scheme == "http" && policy == .allow else {
      throw WebClientError(
        scheme == "http"
          ? "is not encrypted: only https: is allowed, unless RECBOT_PRIVATE_ADDRESSES=allow"
          : "is not an https: address")
    }
    guard url.user == nil, url.password == nil else { throw WebClientError("holds a user name or password") }
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    // Whatever else readers of URLs see differently: this is what is asked, and nothing else.
    let isName = host.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    guard !host.isEmpty, host.utf8.count <= 253, isName || IPAddress(host) != nil else {
      throw WebClientError("has no usable host")
    }
    if let port = url.port, !(1...65_535).contains(port) { throw WebClientError("has no usable port") }
    self.scheme = scheme
    self.host = host
    port = url.port
    let absolute = url.absoluteURL
    let path = absolute.path(percentEncoded: true)
    target = (path.hasPrefix("/") ? path : "/" + path) + (absolute.query(percentEncoded: true).map { "?" + $0 } ?? "")
  }

  /// The URL, put together from the checked parts.
  var text: String {
    let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")\(target)"
  }

  /// A request for it.
  func request(_ method: HTTPMethod, headers: HTTPHeaders, body: ByteBuffer? = nil) -> WebRequest {
    WebRequest(
      method, isSecure: scheme == "https", host: host, port: port, target: target, headers: headers, body: body)
  }

  /// All addresses of the host.
  func resolve(by names: NameLookup) async throws(WebClientError) -> [IPAddress] {
    if let literal = IPAddress(host) { return [literal] }
    let found = await names.addresses(host)
    guard !found.isEmpty else { throw WebClientError("the host \(host) is not known") }
    return found
  }
}
