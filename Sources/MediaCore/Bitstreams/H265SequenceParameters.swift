/// The picture size that a sequence parameter set of H.265 gives (section 7.3.2.2.1).
public struct H265SequenceParameters: Hashable, Sendable {
  /// Picture width in pixels, after cropping.
  public let width: Int
  /// Picture height in pixels, after cropping.
  public let height: Int

  /// Reads a NAL unit behind its header of two bytes; nil when it is cut short, or gives no size.
  public init?(_ body: UnsafeRawBufferPointer) {
    var reader = BitReader(body, skipsEmulation: true)
    guard reader.skip(4) != nil, let subLayers = reader.bits(3), reader.skip(1) != nil,
      Self.skipProfiles(&reader, subLayers: Int(subLayers)), reader.exponentialGolomb() != nil,
      let chroma = reader.exponentialGolomb(), chroma <= 3, chroma != 3 || reader.skip(1) != nil,
      let across = reader.exponentialGolomb(), let down = reader.exponentialGolomb(), across <= 65_535, down <= 65_535,
      let isCropped = reader.flag()
    else { return nil }
    var crop = (across: 0, down: 0)
    if isCropped {
      guard let left = reader.exponentialGolomb(), let right = reader.exponentialGolomb(),
        let top = reader.exponentialGolomb(), let bottom = reader.exponentialGolomb()
      else { return nil }
      crop = (
        (Int(left) + Int(right)) * (chroma == 1 || chroma == 2 ? 2 : 1),
        (Int(top) + Int(bottom)) * (chroma == 1 ? 2 : 1)
      )
    }
    width = Int(across) - crop.across
    height = Int(down) - crop.down
    guard width > 0, height > 0 else { return nil }
  }

  /// Passes over the profiles and levels of the whole and of its sub-layers (section 7.3.3).
  private static func skipProfiles(_ reader: inout BitReader, subLayers: Int) -> Bool {
    guard reader.skip(88 + 8) != nil else { return false }
    var bits = 0
    for _ in 0..<subLayers {
      guard let hasProfile = reader.flag(), let hasLevel = reader.flag() else { return false }
      bits += (hasProfile ? 88 : 0) + (hasLevel ? 8 : 0)
    }
    if subLayers > 0 { bits += 2 * (8 - subLayers) }
    return reader.skip(bits) != nil
  }
}
