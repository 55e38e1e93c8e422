/// The address of a LiveKit server, as users write it: `ws://`, `wss://`, `http://` or `https://`, a host, perhaps a
/// port and a path prefix.
public struct SignalURL: Hashable, Sendable, CustomStringConvertible {
  /// Why a text is not such an address.
  public enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// Neither of the four schemes.
    case scheme
    /// No host, or one with impossible characters.
    case host
    /// A port that isn't 1…65535.
    case port
    /// A user name or password before the host: tokens authenticate, and addresses end in logs.
    case userInfo

    /// The fault in words.
    public var description: String {
      switch self {
      case .scheme: "it must begin with ws://, wss://, http:// or https://"
      case .host: "it has no valid host name"
      case .port: "its port is not a number from 1 to 65535"
      case .userInfo: "it must not contain a user name or password"
      }
    }
  }

  /// True for `wss` and `https`.
  public let isSecure: Bool
  /// Host name or IP address (IPv6 without its brackets), lower case.
  public let host: String
  /// Port; 80 or 443 where none was written.
  public let port: Int
  /// Path prefix without a slash at its end; empty for none.
  public let prefix: String

  /// Reads an address. A query and a fragment are dropped.
  public init(_ text: String) throws(Fault) {
    let trimmed = text.utf8.drop { $0 == 32 }
    guard let colon = trimmed.firstIndex(of: UInt8(ascii: ":")) else { throw .scheme }
    switch String(decoding: trimmed[..<colon], as: UTF8.self).lowercased() {
    case "ws", "http": isSecure = false
    case "wss", "https": isSecure = true
    default: throw .scheme
    }
    var rest = trimmed[trimmed.index(after: colon)...]
    guard rest.starts(with: "//".utf8) else { throw .scheme }
    rest = rest.dropFirst(2)
    let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
    var authority = rest[..<end]
    if authority.contains(UInt8(ascii: "@")) { throw .userInfo }
    while authority.last == 32 { authority = authority.dropLast() }

    let name: Substring.UTF8View
    var portText: Substring.UTF8View?
    if authority.first == UInt8(ascii: "[") {
      guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .host }
      name = authority[authority.index(after: authority.startIndex)..<close]
      // An IPv6 literal has at least two colons (RFC 3986 section 3.2.2).
      guard name.contains(UInt8(ascii: ":")), name.allSatisfy({ "0123456789abcdefABCDEF:.%".utf8.contains($0) })
      else { throw .host }
      let behind = authority[authority.index(after: close)...]
      if behind.first == UInt8(ascii: ":") {
        portText = behind.dropFirst()
      } else if !behind.isEmpty {
        throw .host
      }
    } else {
      let mark = authority.lastIndex(of: UInt8(ascii: ":"))
      name = authority[..<(mark ?? authority.endIndex)]
      if let mark { portText = authority[authority.index(after: mark)...] }
      // Everything visible but delimiters; bytes above 127 are names in other scripts, for the resolver to judge.
      guard name.allSatisfy({ $0 > 32 && $0 != 127 && !"\"<>\\^`{|}:[]%,;".utf8.contains($0) })
      else { throw .host }
    }
    guard !name.isEmpty, name.count <= 255 else { throw .host }
    host = String(decoding: name, as: UTF8.self).lowercased()
    if let portText, !portText.isEmpty {
      guard portText.allSatisfy({ $0 >= 48 && $0 <= 57 }),
        let number = Int(String(decoding: portText, as: UTF8.self)), (1...65535).contains(number)
      else { throw .port }
      port = number
    } else {
      port = isSecure ? 443 : 80
    }
    var path = rest[end...]
    path = path[..<(path.firstIndex { "?#".utf8.contains($0) } ?? path.endIndex)]
    while let last = path.last, last == UInt8(ascii: "/") || last == 32 { path = path.dropLast() }
    // The path goes into a request line: no spaces, no control characters.
    guard path.allSatisfy({ $0 > 32 && $0 != 127 }) else { throw .host }
    prefix = String(decoding: path, as: UTF8.self)
  }

  /// The request target of the WebSocket upgrade: prefix, `/rtc`, query.
  public func target(_ query: SignalQuery) -> String { "\(prefix)/rtc?\(query.text)" }

  /// The request target of the check without upgrade, which answers with a text.
  public func validateTarget(_ query: SignalQuery) -> String {
    "\(prefix)/rtc/validate?\(query.text)"
  }

  /// What belongs in the `Host` header (RFC 9110 section 7.2).
  public var hostHeader: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// The address in its `ws`/`wss` form.
  public var description: String { "\(isSecure ? "wss" : "ws")://\(hostHeader)\(prefix)" }
}
