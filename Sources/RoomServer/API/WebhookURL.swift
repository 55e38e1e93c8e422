/// Where a webhook goes: an `http` or `https` URL (RFC 3986), cut into what a connection needs.
public struct WebhookURL: Hashable, Sendable, CustomStringConvertible {
  /// True for `https`.
  public let usesTLS: Bool
  /// Name or address, without the brackets of IPv6.
  public let host: String
  /// TCP port.
  public let port: Int
  /// Path and query, beginning with `/`.
  public let target: String

  /// Why a text is no such URL.
  public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line.
    public let description: String
  }

  /// Reads a URL. User names and passwords in it are refused, for they would end up in logs.
  public init(_ text: String) throws(Fault) {
    let schemes = ["http://": false, "https://": true]
    guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0.key) }) else {
      throw Fault(description: "a webhook must begin with http:// or https://")
    }
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    let rest = text.dropFirst(scheme.key.count)
    let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
    let authority = rest[..<end]
    guard isPlain, !authority.isEmpty, !authority.contains("@"), !rest.contains("#") else {
      throw Fault(description: "not a URL for a webhook: give http(s)://host[:port]/path")
    }
    var host = authority
    var port: Substring?
    if authority.first == "[", let bracket = authority.firstIndex(of: "]") {
      host = authority[authority.index(after: authority.startIndex)..<bracket]
      let after = authority[authority.index(after: bracket)...]
      if after.first == ":" { port = after.dropFirst() }
    } else if let colon = authority.lastIndex(of: ":") {
      host = authority[..<colon]
      port = authority[authority.index(after: colon)...]
    }
    let number = port.map { Int($0) ?? 0 } ?? (scheme.value ? 443 : 80)
    guard !host.isEmpty, (1...65_535).contains(number) else {
      throw Fault(description: "not a URL for a webhook: give http(s)://host[:port]/path")
    }
    usesTLS = scheme.value
    self.host = String(host)
    self.port = number
    let path = rest[end...]
    target = path.first == "/" ? String(path) : "/" + path
  }

  /// The `Host` field (RFC 9110 section 7.2).
  public var hostHeader: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (usesTLS ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// The whole URL. Not for logs: its query may hold a secret.
  var text: String { origin + target }

  /// The URL without its query, which may hold a secret.
  public var description: String { origin + target.prefix { $0 != "?" } }

  private var origin: String { "\(usesTLS ? "https" : "http")://\(hostHeader)" }
}
