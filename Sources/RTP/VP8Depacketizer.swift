import MediaCore

/// Reads the VP8 payload descriptor (RFC 7741 section 4.2) and the begin of the VP8 frame header (RFC 6386
/// section 9.1).
public enum VP8Depacketizer {
  /// What a packet's payload says; nil when it is cut short, holds no VP8 bytes, or begins a keyframe without the
  /// start code.
  public static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPayload? {
    guard let first = payload.byte(0) else { return nil }
    var result = VideoPayload(headerCount: 1)
    result.isNonReference = first & 0x20 != 0
    if first & 0x10 != 0, first & 0x07 == 0 { result.start = .always }
    if first & 0x80 != 0 {
      guard let extensions = payload.byte(1) else { return nil }
      result.headerCount = 2
      if extensions & 0x80 != 0 {
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
      if extensions & 0x40 != 0 {
        guard let index = payload.byte(result.headerCount) else { return nil }
        result.baseLayerIndex = index
        result.headerCount += 1
      }
      if extensions & 0x30 != 0 {
        guard let layers = payload.byte(result.headerCount) else { return nil }
        if extensions & 0x20 != 0 {
          result.temporalLayer = layers >> 6
          result.isLayerSync = layers & 0x20 != 0
        }
        if extensions & 0x10 != 0 { result.keyIndex = layers & 0x1f }
        result.headerCount += 1
      }
    }
    guard result.headerCount < payload.count else { return nil }
    if result.startsFrame {
      guard let header = VP8FrameHeader(beginning: payload.rest(result.headerCount)) else { return nil }
      result.isKeyframe = header.isKeyframe
      result.width = header.width
      result.height = header.height
    }
    return result
  }
}
