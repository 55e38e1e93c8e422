/// How datagrams stand in a stream of bytes, one after the other.
enum StreamFraming {
  /// Each behind two bytes with its length (RFC 4571 section 2), which ICE over TCP uses (RFC 6544 section 3).
  case length
  /// As they are, for they know their own length: STUN messages, and ChannelData padded to four bytes (RFC 8656
  /// section 12.5).
  case turn

  /// What the next bytes of a stream are.
  enum Step: Equatable {
    /// One datagram; the next one begins at `next`.
    case datagram(Range<Int>, next: Int)
    /// More bytes must come first.
    case incomplete
    /// No datagram can begin here: the stream is of no use any more.
    case malformed
  }

  /// The largest datagram that fits into UDP over IPv4.
  static let maximumDatagram = 65_507

  /// Appends a datagram to a stream; false when it can't be framed.
  func append(_ datagram: UnsafeRawBufferPointer, to stream: inout [UInt8]) -> Bool {
    guard !datagram.isEmpty, datagram.count <= Self.maximumDatagram else { return false }
    switch self {
    case .length:
      stream.append(UInt8(truncatingIfNeeded: datagram.count >> 8))
      stream.append(UInt8(truncatingIfNeeded: datagram.count))
      stream.append(contentsOf: datagram)
    case .turn:
      stream.append(contentsOf: datagram)
      stream.append(contentsOf: repeatElement(0, count: -datagram.count & 3))
    }
    return true
  }

  /// Reads what begins at an offset of `stream`, which is within it or at its end.
  func next(in stream: UnsafeRawBufferPointer, from offset: Int) -> Step {
    let left = stream.count - offset
    func short(_ at: Int) -> Int { Int(stream[offset + at]) << 8 | Int(stream[offset + at + 1]) }
    func whole(_ range: Range<Int>, until next: Int) -> Step {
      next <= stream.count ? .datagram(range, next: next) : .incomplete
    }
    switch self {
    case .length:
      guard left >= 2 else { return .incomplete }
      let end = offset + 2 + short(0)
      return whole(offset + 2..<end, until: end)
    case .turn:
      guard left >= 4 else { return .incomplete }
      let length = short(2)
      switch stream[offset] >> 6 {
      case 0:
        let end = offset + 20 + length
        guard length & 3 == 0 else { return .malformed }
        guard left >= 8 else { return .incomplete }
        guard short(4) == 0x2112, short(6) == 0xa442 else { return .malformed }
        return whole(offset..<end, until: end)
      case 1:
        let end = offset + 4 + length
        return whole(offset..<end, until: end + (-length & 3))
      default: return .malformed
      }
    }
  }
}
