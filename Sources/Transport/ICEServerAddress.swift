/// One STUN or TURN URL taken apart (RFC 7064, RFC 7065).
struct ICEServerAddress: Hashable {
  enum Kind: Hashable {
    case stun
    case turnUDP
    case turnTCP
    case turnTLS
  }

  var kind: Kind
  /// A name or a numeric address, IPv6 without brackets.
  var host: String
  var port: UInt16

  /// Nil for what cannot be used (`stuns:`, which tells nothing that `stun:` does not; TURN over DTLS) and for bad
  /// syntax.
  init?(url: String) {
    guard let colon = url.firstIndex(of: ":") else { return nil }
    let scheme = url[..<colon].lowercased()
    guard scheme == "stun" || scheme == "turn" || scheme == "turns" else { return nil }
    let parts = url[url.index(after: colon)...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let authority = parts.first, !authority.isEmpty, authority.utf8.count <= 255 else { return nil }
    // RFC 7065 section 3: without `transport`, `turn:` is by UDP and `turns:` by TCP.
    let transport = parts.count == 2 ? parts[1].lowercased() : nil
    switch (scheme, transport) {
    case ("stun", _): kind = .stun
    case ("turn", nil), ("turn", "transport=udp"): kind = .turnUDP
    case ("turn", "transport=tcp"): kind = .turnTCP
    case ("turns", nil), ("turns", "transport=tcp"): kind = .turnTLS
    default: return nil
    }
    let portText: Substring
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = String(authority[authority.index(after: authority.startIndex)..<end])
      portText = authority[authority.index(after: end)...]
    } else {
      let end = authority.firstIndex(of: ":") ?? authority.endIndex
      host = String(authority[..<end])
      portText = authority[end...]
    }
    guard !host.isEmpty else { return nil }
    if portText.isEmpty {
      port = kind == .turnTLS ? 5349 : 3478
    } else {
      guard portText.first == ":", let number = UInt16(portText.dropFirst()), number > 0 else { return nil }
      port = number
    }
  }
}
