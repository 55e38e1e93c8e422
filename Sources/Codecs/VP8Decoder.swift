internal import CAVCodec
public import MediaCore

/// Decodes one VP8 stream (RFC 6386) with libavcodec, which needs less time than libvpx does where streams are decoded a frame
/// each in turn. Confined to one thread at a time.
///
/// After an error the stream is undecodable until its next keyframe: `needsKeyframe` becomes true, and frames that are no
/// keyframes are passed over.
public final class VP8Decoder: VideoDecoder {
  /// True when only a keyframe can be decoded next: at the start, and after an error or `reset()`.
  public private(set) var needsKeyframe = true
  /// Frames passed over because a keyframe was needed.
  public private(set) var skippedFrames = 0

  private let sizeCap: SizeCap
  private let context: LibavContext

  /// Makes a decoder. libavcodec is opened at the first keyframe.
  public init(sizeCap: SizeCap = .standard) {
    self.sizeCap = sizeCap
    context = LibavContext(AV_CODEC_ID_VP8, title: "VP8", sizeCap: sizeCap)
  }

  /// Decodes one frame.
  ///
  /// Nil when there is nothing to show: the frame is not meant to be shown (RFC 6386 section 9.1, `show_frame`), or
  /// it was passed over because `needsKeyframe` is true.
  ///
  /// - Throws: `malformed`, `tooLarge`, `corrupt` or `outOfMemory`. `needsKeyframe` is true after each.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    guard let header = VP8FrameHeader(frame: bytes) else {
      reset()
      throw CodecError(
        library: .libavcodec, reason: .malformed, operation: "decode", text: "not a VP8 frame",
        detail: "\(bytes.count) bytes")
    }
    if header.isKeyframe, !sizeCap.allows(width: header.width, height: header.height) {
      reset()
      throw sizeCap.error(.libavcodec, width: header.width, height: header.height)
    }
    if needsKeyframe, !header.isKeyframe {
      skippedFrames &+= 1
      return nil
    }
    needsKeyframe = true
    let picture = try context.decode(bytes, into: &pool)
    needsKeyframe = false
    return picture
  }

  /// As `decode(_:into:)`: the frame itself says whether it is a keyframe.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? { try decode(bytes, into: &pool) }

  /// Forgets the stream: the next frame that is decoded must be a keyframe.
  public func reset() {
    context.close()
    needsKeyframe = true
  }
}
