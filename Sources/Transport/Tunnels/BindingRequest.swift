/// A STUN Binding request (RFC 8489 section 5), as far as a port that many agents share has to read it.
enum BindingRequest {
  /// The fragment of the agent that a check is for: what stands before the colon of its USERNAME (RFC 8445 section
  /// 7.2.2). Nil for anything else.
  static func localUfrag(_ datagram: UnsafeRawBufferPointer) -> String? {
    func short(_ at: Int) -> Int { Int(datagram[at]) << 8 | Int(datagram[at + 1]) }
    guard datagram.count >= 20, short(0) == 0x0001, short(4) == 0x2112, short(6) == 0xa442,
      short(2) == datagram.count - 20
    else { return nil }
    var offset = 20
    while offset + 4 <= datagram.count {
      let (type, length) = (short(offset), short(offset + 2))
      let value = offset + 4..<offset + 4 + length
      guard value.upperBound <= datagram.count else { return nil }
      // USERNAME, 512 bytes at most (section 14.3).
      if type == 0x0006 {
        guard length <= 512, let colon = datagram[value].firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return String(validating: datagram[value.lowerBound..<colon], as: UTF8.self)
      }
      offset = value.upperBound + (-length & 3)
    }
    return nil
  }
}
