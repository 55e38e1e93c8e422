internal import CAVCodec
public import MediaCore

/// Decodes one stream of H.264 or H.265 with libavcodec: access units with start codes (Annex B of both), 8 bits 4:2:0.
/// Confined to one thread at a time.
public final class LibavDecoder: VideoDecoder {
  /// The codecs that libavcodec is asked for.
  public enum Interface: String, Sendable {
    /// Constrained baseline to high.
    case h264 = "H.264"
    /// Main.
    case h265 = "H.265"
  }

  /// True until a keyframe has been decoded, at first and after an error.
  public private(set) var needsKeyframe = true

  private let context: LibavContext

  /// Makes a decoder. libavcodec is opened at the first keyframe.
  public init(_ interface: Interface, sizeCap: SizeCap = .standard) {
    context = LibavContext(
      interface == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC, title: interface.rawValue, sizeCap: sizeCap)
  }

  /// Decodes one access unit; nil when it shows no picture. Throws what libavcodec refuses.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    guard isKeyframe || !needsKeyframe else { return nil }
    let wasNeeded = needsKeyframe
    needsKeyframe = true
    let picture = try context.decode(bytes, into: &pool)
    // A keyframe that makes no picture lacks its parameter sets: what builds upon it cannot be decoded either.
    if picture == nil, wasNeeded { context.close() } else { needsKeyframe = false }
    return picture
  }

  /// Forgets all pictures: the next frame must be a keyframe.
  public func reset() {
    context.close()
    needsKeyframe = true
  }
}
