import MediaCore

/// What a file says of a VP9 track: the CodecPrivate of the WebM container guidelines ("VP9 Codec Feature Metadata"), and the
/// codec string that players are asked with (VP codec ISO media file format binding, "Codecs Parameter String").
enum VP9Features {
  /// Chroma subsampling of 4:2:0 whose samples lie on luma samples, the binding's default.
  private static let colocated: UInt8 = 1

  /// The CodecPrivate of profile 0: each feature is an identifier, a length and its value.
  static func codecPrivate(_ level: VP9Level) -> [UInt8] {
    [1, 1, 0, 2, 1, level.rawValue, 3, 1, 8, 4, 1, colocated]
  }

  /// The level that a CodecPrivate tells, if it does.
  static func level(codecPrivate: UnsafeRawBufferPointer) -> VP9Level? {
    var rest = codecPrivate[...]
    while rest.count >= 3 {
      let (identifier, length) = (rest[rest.startIndex], Int(rest[rest.startIndex + 1]))
      guard rest.count >= 2 + length else { return nil }
      if identifier == 2, length == 1 { return VP9Level(rawValue: rest[rest.startIndex + 2]) }
      rest = rest.dropFirst(2 + length)
    }
    return nil
  }

  /// The codec string, such as `vp09.00.31.08.01.01.01.06.00`: profile, level, bits, chroma, primaries, transfer, matrix, range.
  ///
  /// - Parameters:
  ///   - header: of a keyframe, which says most.
  ///   - colour: what only the container says, and what the bitstream leaves open.
  static func codecString(_ header: VP9FrameHeader, _ level: VP9Level, _ colour: Colour) -> String? {
    let chroma: UInt64
    switch (header.subsamplesAcross, header.subsamplesDown) {
    case (true, true): chroma = UInt64(colocated)
    case (true, false): chroma = 2
    case (false, false): chroma = 3
    case (false, true): return nil
    }
    let matrix: UInt64 =
      switch header.colorSpace {
      case 1, 3: 6
      case 2: 1
      case 4: 7
      case 5: 9
      case 7: 0
      default: colour.matrix
      }
    let fields: [UInt64] = [
      UInt64(header.profile), UInt64(level.rawValue), UInt64(header.bitDepth), chroma, colour.primaries,
      colour.transfer,
      matrix, header.isFullRange ? 1 : 0,
    ]
    return "vp09" + fields.map { $0 < 10 ? ".0\($0)" : ".\($0)" }.joined()
  }

  /// The container's Colour element, in the numbers of ITU-T H.273; 2 is "not specified".
  struct Colour: Hashable, Sendable {
    var primaries: UInt64 = 2
    var transfer: UInt64 = 2
    var matrix: UInt64 = 2
  }
}
