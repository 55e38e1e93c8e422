/// Whom a connection is counted under: an IPv4 address, or the /64 network of an IPv6 address, since whoever has one
/// address of such a network can have all of them (RFC 6177).
public enum ClientAddress: Hashable, Sendable {
  /// An IPv4 address in host byte order; also that of an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2).
  case v4(UInt32)
  /// The upper 64 bits of an IPv6 address in host byte order.
  case v6(UInt64)
  /// Neither: a local socket, or a connection that is gone already.
  case unknown

  /// The address of 16 bytes in network byte order; others are `unknown`.
  public init(v6 bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else {
      self = .unknown
      return
    }
    func number(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    let (upper, lower) = (number(bytes.prefix(8)), number(bytes.dropFirst(8)))
    self = upper == 0 && lower >> 32 == 0xffff ? .v4(UInt32(truncatingIfNeeded: lower)) : .v6(upper)
  }
}
