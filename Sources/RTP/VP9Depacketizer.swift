import MediaCore

/// Reads the VP9 payload descriptor (RFC 9628 section 4.2), of the flexible and of the non-flexible mode. Nothing behind it is
/// read: it may be encrypted end to end. The frame of this file is a picture with all its spatial layers.
public enum VP9Depacketizer {
  /// What a packet's payload says; nil when it is cut short.
  public static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPayload? {
    guard let first = payload.byte(0) else { return nil }
    var result = VideoPayload(headerCount: 1)
    let isInterPicture = first & 0x40 != 0
    let isFlexible = first & 0x10 != 0
    let beginsLayer = first & 0x08 != 0
    if first & 0x80 != 0 {
      guard let short = payload.byte(result.headerCount) else { return nil }
      if short & 0x80 != 0 {
        guard let long = payload.uint16(result.headerCount) else { return nil }
        result.pictureID = long & 0x7fff
        result.hasLongPictureID = true
        result.headerCount += 2
      } else {
        result.pictureID = UInt16(short)
        result.headerCount += 1
      }
    }
    var spatialLayer: UInt8 = 0
    var isInterLayer = false
    if first & 0x20 != 0 {
      guard let layers = payload.byte(result.headerCount) else { return nil }
      result.headerCount += 1
      result.temporalLayer = min(layers >> 5, 3)
      result.isLayerSync = layers & 0x10 != 0
      spatialLayer = layers >> 1 & 7
      isInterLayer = layers & 1 != 0
      if !isFlexible {
        guard let index = payload.byte(result.headerCount) else { return nil }
        result.baseLayerIndex = index
        result.headerCount += 1
      }
    }
    if isFlexible, isInterPicture {
      guard let count = referencesCount(payload, result.headerCount) else { return nil }
      result.headerCount += count
    }
    if first & 0x02 != 0 {
      guard let count = structureCount(payload, result.headerCount) else { return nil }
      result.headerCount += count
    }
    guard result.headerCount < payload.count else { return nil }
    guard beginsLayer else { return result }
    result.startsPart = true
    result.isKeyframe = !isInterPicture && spatialLayer == 0
    if spatialLayer == 0 {
      result.start = .always
    } else {
      // A layer that needs no lower one may be all that is forwarded of its picture.
      result.start = isInterLayer ? .afterAnother : .unlessContinued
    }
    return result
  }

  /// Bytes of the list of pictures that this one refers to: at most three.
  private static func referencesCount(_ payload: UnsafeRawBufferPointer, _ offset: Int) -> Int? {
    for count in 1...3 {
      guard let reference = payload.byte(offset + count - 1) else { return nil }
      if reference & 1 == 0 { return count }
    }
    return nil
  }

  /// Bytes of the scalability structure (RFC 9628 section 4.2.1).
  private static func structureCount(_ payload: UnsafeRawBufferPointer, _ offset: Int) -> Int? {
    guard let first = payload.byte(offset) else { return nil }
    var count = 1
    if first & 0x10 != 0 { count += 4 * (Int(first >> 5) + 1) }
    guard first & 0x08 != 0 else { return count }
    guard let pictures = payload.byte(offset + count) else { return nil }
    count += 1
    for _ in 0..<pictures {
      guard let picture = payload.byte(offset + count) else { return nil }
      count += 1 + Int(picture >> 2 & 3)
    }
    return count
  }
}
