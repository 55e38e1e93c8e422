/// The picture size that a sequence parameter set of H.264 gives (section 7.3.2.1.1).
public struct H264SequenceParameters: Hashable, Sendable {
  /// Picture width in pixels, after cropping.
  public let width: Int
  /// Picture height in pixels, after cropping.
  public let height: Int

  /// Reads a NAL unit, header byte included; nil when it isn't such a set, or is cut short, or gives no size.
  public init?(_ unit: UnsafeRawBufferPointer) {
    guard let first = unit.first, NALUnit.h264Kind(first) == .sequenceParameters else { return nil }
    var reader = BitReader(UnsafeRawBufferPointer(rebasing: unit[1...]), skipsEmulation: true)
    guard let profile = reader.bits(8), reader.skip(16) != nil, reader.exponentialGolomb() != nil else { return nil }
    var chroma: UInt32 = 1
    if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) {
      guard let format = Self.readHighProfile(&reader) else { return nil }
      chroma = format
    }
    guard reader.exponentialGolomb() != nil, let order = reader.exponentialGolomb(), Self.skipOrder(order, &reader),
      reader.exponentialGolomb() != nil, reader.skip(1) != nil, let across = reader.exponentialGolomb(),
      let down = reader.exponentialGolomb(), let isFrame = reader.flag(), isFrame || reader.skip(1) != nil,
      reader.skip(1) != nil, let isCropped = reader.flag(), across < 4096, down < 4096
    else { return nil }
    var crop = (across: 0, down: 0)
    if isCropped {
      guard let left = reader.exponentialGolomb(), let right = reader.exponentialGolomb(),
        let top = reader.exponentialGolomb(), let bottom = reader.exponentialGolomb()
      else { return nil }
      let unitAcross = chroma == 1 || chroma == 2 ? 2 : 1
      let unitDown = (chroma == 1 ? 2 : 1) * (isFrame ? 1 : 2)
      crop = ((Int(left) + Int(right)) * unitAcross, (Int(top) + Int(bottom)) * unitDown)
    }
    width = (Int(across) + 1) * 16 - crop.across
    height = (Int(down) + 1) * 16 * (isFrame ? 1 : 2) - crop.down
    guard width > 0, height > 0 else { return nil }
  }

  /// Reads what only the profiles with more than 4:2:0 of 8 bits have; the chroma format.
  private static func readHighProfile(_ reader: inout BitReader) -> UInt32? {
    guard let chroma = reader.exponentialGolomb(), chroma != 3 || reader.skip(1) != nil,
      reader.exponentialGolomb() != nil, reader.exponentialGolomb() != nil, reader.skip(1) != nil,
      let hasLists = reader.flag()
    else { return nil }
    guard hasLists else { return chroma }
    for list in 0..<(chroma == 3 ? 12 : 8) {
      guard let isPresent = reader.flag() else { return nil }
      guard isPresent else { continue }
      var last = 8
      var next = 8
      for _ in 0..<(list < 6 ? 16 : 64) {
        if next != 0 {
          guard let delta = reader.signedExponentialGolomb() else { return nil }
          next = (last + delta) & 0xff
        }
        if next != 0 { last = next }
      }
    }
    return chroma
  }

  private static func skipOrder(_ kind: UInt32, _ reader: inout BitReader) -> Bool {
    switch kind {
    case 0: return reader.exponentialGolomb() != nil
    case 1:
      guard reader.skip(1) != nil, reader.exponentialGolomb() != nil, reader.exponentialGolomb() != nil,
        let cycle = reader.exponentialGolomb(), cycle <= 255
      else { return false }
      for _ in 0..<cycle { guard reader.exponentialGolomb() != nil else { return false } }
      return true
    default: return kind == 2
    }
  }
}
