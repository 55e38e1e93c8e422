internal import CVPX
public import MediaCore

/// Decodes one VP8 stream (RFC 6386) with libvpx. Owns the library's context; confined to one thread at a time.
///
/// After an error the stream is undecodable until its next keyframe: the context is thrown away (libvpx keeps damaged
/// reference pictures otherwise), `needsKeyframe` becomes true, and frames that are no keyframes are passed over.
public final class VP8Decoder: VideoDecoder {
  /// True when only a keyframe can be decoded next: at the start, and after an error or `reset()`.
  public private(set) var needsKeyframe = true
  /// Frames passed over because a keyframe was needed.
  public private(set) var skippedFrames = 0

  private let sizeCap: SizeCap
  // The context refers to itself, so it must stay where it was initialized.
  private let context: UnsafeMutablePointer<vpx_codec_ctx_t>
  private var isOpen = false

  /// Makes a decoder. libvpx is opened at the first keyframe.
  public init(sizeCap: SizeCap = .standard) {
    self.sizeCap = sizeCap
    context = .allocate(capacity: 1)
    context.initialize(to: vpx_codec_ctx_t())
  }

  deinit {
    close()
    context.deallocate()
  }

  /// Decodes one frame. The picture is a copy in a picture of the pool (libvpx uses its own again with the next frame).
  ///
  /// Nil when there is nothing to show: the frame is not meant to be shown (RFC 6386 section 9.1, `show_frame`), or
  /// it was passed over because `needsKeyframe` is true.
  ///
  /// - Throws: `malformed`, `tooLarge`, `corrupt`, `outOfMemory` or `library`. `needsKeyframe` is true after each.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    guard let header = VP8FrameHeader(bytes) else {
      reset()
      throw CodecError(
        library: .libvpx, reason: .malformed, operation: "decode", text: "not a VP8 frame",
        detail: "\(bytes.count) bytes")
    }
    if header.isKeyframe, !sizeCap.allows(width: header.width, height: header.height) {
      reset()
      throw CodecError(
        library: .libvpx, reason: .tooLarge, operation: "decode", text: "picture larger than accepted",
        detail: "\(header.width)x\(header.height), at most \(sizeCap.longSide)x\(sizeCap.shortSide)")
    }
    if needsKeyframe, !header.isKeyframe {
      skippedFrames &+= 1
      return nil
    }
    try open()
    let result = vpx_codec_decode(
      context, bytes.bindMemory(to: UInt8.self).baseAddress, UInt32(truncatingIfNeeded: bytes.count), nil, 0)
    if result != VPX_CODEC_OK { throw failure("vpx_codec_decode", result) }
    // libvpx decodes on past the end of a partition and past damaged references; that is seen here only.
    var corrupted: Int32 = 0
    let asked = recbot_vpx_control_get(context, Int32(VP8D_GET_FRAME_CORRUPTED.rawValue), &corrupted)
    if asked == VPX_CODEC_OK, corrupted != 0 {
      reset()
      throw CodecError(
        library: .libvpx, reason: .corrupt, operation: "decode", text: "the frame or what it refers to is damaged")
    }
    needsKeyframe = false
    var iterator: vpx_codec_iter_t?
    guard let image = vpx_codec_get_frame(context, &iterator) else { return nil }
    return try copy(image, into: &pool)
  }

  /// As `decode(_:into:)`: the frame itself says whether it is a keyframe.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? { try decode(bytes, into: &pool) }

  /// Forgets the stream: the next frame that is decoded must be a keyframe.
  public func reset() {
    close()
    needsKeyframe = true
  }

  private func open() throws(CodecError) {
    if isOpen { return }
    // One thread: streams are many and small; more threads per stream cost more than they give.
    let result = recbot_vpx_vp8_decoder_init(context, 1)
    if result != VPX_CODEC_OK { throw failure("vpx_codec_dec_init", result) }
    isOpen = true
  }

  private func close() {
    if isOpen { vpx_codec_destroy(context) }
    context.pointee = vpx_codec_ctx_t()
    isOpen = false
  }

  private func failure(_ operation: String, _ result: vpx_codec_err_t) -> CodecError {
    let error = CodecError(vpx: result, operation: operation, context: context)
    reset()
    return error
  }

  private func copy(
    _ image: UnsafeMutablePointer<vpx_image_t>, into pool: inout PicturePool
  ) throws(CodecError) -> Picture {
    let source = image.pointee
    let width = Int(source.d_w)
    let height = Int(source.d_h)
    guard source.fmt == VPX_IMG_FMT_I420, width > 0, height > 0, sizeCap.allows(width: width, height: height),
      let y = source.planes.0, let u = source.planes.1, let v = source.planes.2
    else {
      reset()
      throw CodecError(
        library: .libvpx, reason: .library, operation: "vpx_codec_get_frame", text: "unexpected picture format",
        detail: "format \(source.fmt.rawValue), \(width)x\(height)")
    }
    return pool.copy(
      width: width, height: height, y: (y, Int(source.stride.0)), u: (u, Int(source.stride.1)),
      v: (v, Int(source.stride.2)))
  }
}

extension CodecError {
  /// The error that a libvpx call left behind, with the context's own detail.
  init(vpx result: vpx_codec_err_t, operation: String, context: UnsafeMutablePointer<vpx_codec_ctx_t>?) {
    let reason: Reason =
      switch result {
      case VPX_CODEC_CORRUPT_FRAME: .corrupt
      case VPX_CODEC_UNSUP_BITSTREAM, VPX_CODEC_UNSUP_FEATURE: .malformed
      case VPX_CODEC_INVALID_PARAM: .invalidArgument
      case VPX_CODEC_MEM_ERROR: .outOfMemory
      default: .library
      }
    let text = vpx_codec_err_to_string(result).map { String(cString: $0) } ?? "error"
    var detail: String?
    if let context, let bytes = vpx_codec_error_detail(context) { detail = String(cString: bytes) }
    self.init(
      library: .libvpx, reason: reason, operation: operation, code: Int32(result.rawValue), text: text,
      detail: detail)
  }
}
