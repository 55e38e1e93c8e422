import SwiftProtobuf

extension WireRecord {
  /// A record that is no frame has at most so many bytes: decoded, its lists take a multiple of that.
  private static let maximumEvent = 1 << 20

  /// Reads the body of a record, which may be anybody's; nil for what is none. The one place at which bytes of a log become
  /// values: bounded by `RecordFraming.maximumBody`, in depth, and in what a small message can unfold to.
  static func read(_ body: [UInt8]) -> WireRecord? {
    guard body.count <= maximumEvent || isFrameAlone(body) else { return nil }
    var options = BinaryDecodingOptions()
    // A record has messages in messages in messages, and nothing deeper.
    options.messageDepthLimit = 8
    return try? WireRecord(serializedBytes: body, options: options)
  }

  /// True when field 3, a frame, takes all of the body.
  private static func isFrameAlone(_ body: [UInt8]) -> Bool {
    guard body.first == 3 << 3 | 2 else { return false }
    var length = 0
    for (index, byte) in body.dropFirst().prefix(4).enumerated() {
      length |= Int(byte & 0x7f) << (7 * index)
      if byte & 0x80 == 0 { return length == body.count - index - 2 }
    }
    return false
  }
}
