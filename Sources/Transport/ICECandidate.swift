/// One candidate of component 1 as it stands in an SDP (RFC 8839 section 5.1): a UDP socket, or a TCP port that can be
/// connected to (RFC 6544).
struct ICECandidate: Hashable {
  enum Kind: String {
    case host, srflx, prflx, relay
  }

  enum Transport: String {
    case udp
    /// `tcptype passive`: its owner listens.
    case tcp
  }

  var foundation: String
  var priority: UInt32
  var address: String
  var port: UInt16
  var kind: Kind
  var transport = Transport.udp
  var relatedAddress: String?
  var relatedPort: UInt16 = 0
  /// The extension by which trickled candidates say which generation they belong to.
  var ufrag: String?

  init(
    foundation: String, priority: UInt32, address: String, port: UInt16, kind: Kind, transport: Transport = .udp,
    relatedAddress: String? = nil, relatedPort: UInt16 = 0
  ) {
    self.foundation = foundation
    self.priority = priority
    self.address = address
    self.port = port
    self.kind = kind
    self.transport = transport
    self.relatedAddress = relatedAddress
    self.relatedPort = relatedPort
  }

  /// Nil for what cannot be used: TCP but where the peer listens, other components, names in place of addresses (mDNS
  /// too), bad syntax.
  init?(line: String) {
    var text = Substring(line)
    if text.hasPrefix("a=") { text = text.dropFirst(2) }
    guard text.hasPrefix("candidate:"), text.utf8.count < 1024 else { return nil }
    let fields = text.dropFirst(10).split(whereSeparator: { $0.isWhitespace })
    guard fields.count >= 8, fields[1] == "1", fields[6] == "typ" else { return nil }
    guard let transport = Transport(rawValue: fields[2].lowercased()) else { return nil }
    guard (1...32).contains(fields[0].utf8.count) else { return nil }
    guard let priority = UInt32(fields[3]), priority > 0, let port = UInt16(fields[5]), port > 0 else { return nil }
    guard let kind = Kind(rawValue: String(fields[7])), ICECandidate.isAddress(fields[4]) else { return nil }
    self.init(
      foundation: String(fields[0]), priority: priority, address: String(fields[4]), port: port, kind: kind,
      transport: transport)
    var listens = false
    var index = 8
    while index + 1 < fields.count {
      if fields[index] == "ufrag" { ufrag = String(fields[index + 1]) }
      if fields[index] == "tcptype" { listens = fields[index + 1] == "passive" }
      index += 2
    }
    guard transport == .udp || listens else { return nil }
  }

  /// `candidate:…` without `a=`.
  var line: String {
    var text = "candidate:\(foundation) 1 \(transport.rawValue) \(priority) \(address) \(port) typ \(kind.rawValue)"
    if let relatedAddress, kind != .host { text += " raddr \(relatedAddress) rport \(relatedPort)" }
    if transport == .tcp { text += " tcptype passive" }
    return text
  }

  /// True for characters of which numeric IPv4 and IPv6 addresses are made; what is left, libnice refuses.
  private static func isAddress(_ text: Substring) -> Bool {
    guard (2...45).contains(text.utf8.count) else { return false }
    let isSix = text.utf8.contains(UInt8(ascii: ":"))
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."): true
      case UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): isSix
      default: false
      }
    }
  }

  /// 127.0.0.0/8 and ::1.
  var isLoopback: Bool { address.hasPrefix("127.") || address == "::1" }
}
