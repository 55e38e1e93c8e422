import Glibc

/// An IPv4 or IPv6 address, and whether it leads to the public internet.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16 bytes in network order.
  public let bytes: [UInt8]

  /// Takes 4 or 16 bytes; nil for any other number.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Reads `192.0.2.1` or `2001:db8::1`; nil for anything else.
  public init?(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 {
      self.bytes = Array(bytes.prefix(4))
    } else if inet_pton(AF_INET6, text, &bytes) == 1 {
      self.bytes = bytes
    } else {
      return nil
    }
  }

  /// As `init(_:)` reads it.
  public var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else {
      return ""
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// True for what the registries of special-purpose addresses (RFC 6890 and its updates) call globally reachable:
  /// neither this machine, nor a private or link-local network, nor a multicast group, nor an address that carries one
  /// of these inside.
  public var isPublic: Bool {
    if bytes.count == 4 { return IPAddress.isPublicIPv4(bytes) }
    // Global unicast is 2000::/3 and nothing else (RFC 4291); NAT64 carries an IPv4 address in 64:ff9b::/96 (RFC 6052).
    if bytes.starts(with: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]) {
      return IPAddress.isPublicIPv4(Array(bytes[12...]))
    }
    guard bytes[0] & 0xe0 == 0x20 else { return false }
    // 2001::/23 are protocol assignments, Teredo among them; 2001:db8::/32 and 3fff::/20 are for documentation; 2002::/16
    // (6to4) carries an IPv4 address.
    if bytes[0] == 0x20, bytes[1] == 0x01, bytes[2] < 2 { return false }
    if bytes.starts(with: [0x20, 0x01, 0x0d, 0xb8]) { return false }
    if bytes[0] == 0x3f, bytes[1] == 0xff, bytes[2] < 0x10 { return false }
    return !bytes.starts(with: [0x20, 0x02])
  }

  private static func isPublicIPv4(_ b: [UInt8]) -> Bool {
    switch (b[0], b[1], b[2]) {
    case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): false
    case (100, 64...127, _): false  // shared by carriers
    case (169, 254, _): false  // link-local, and where clouds keep their credentials
    case (172, 16...31, _): false
    case (192, 0, 0), (192, 0, 2), (192, 88, 99), (192, 168, _): false
    case (198, 18...19, _), (198, 51, 100), (203, 0, 113): false
    default: true
    }
  }
}
