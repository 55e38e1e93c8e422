internal import CVPX
import MediaCore

/// libvpx's context of one stream of VP9: owns it. Confined to one thread at a time.
///
/// After an error the context is thrown away, for libvpx keeps damaged reference pictures otherwise: only a keyframe can be
/// decoded next.
final class VPXContext {
  private let sizeCap: SizeCap
  // The context refers to itself, so it must stay where it was initialized.
  private let context: UnsafeMutablePointer<vpx_codec_ctx_t>
  private var isOpen = false

  /// Makes a context. libvpx is opened with the first frame.
  init(sizeCap: SizeCap) {
    self.sizeCap = sizeCap
    context = .allocate(capacity: 1)
    context.initialize(to: vpx_codec_ctx_t())
  }

  deinit {
    close()
    context.deallocate()
  }

  /// Decodes one frame, whose sizes were looked at. The picture is a copy in a picture of the pool, since libvpx uses its own
  /// again with the next frame; nil when the frame is not meant to be shown.
  ///
  /// - Throws: `malformed`, `corrupt`, `outOfMemory` or `library`. The context is closed after each.
  func decode(_ bytes: UnsafeRawBufferPointer, into pool: inout PicturePool) throws(CodecError) -> Picture? {
    try open()
    let result = vpx_codec_decode(
      context, bytes.bindMemory(to: UInt8.self).baseAddress, UInt32(truncatingIfNeeded: bytes.count), nil, 0)
    if result != VPX_CODEC_OK { throw failure("vpx_codec_decode", result) }
    // libvpx decodes on past the end of a partition and past damaged references; that is seen here only.
    var corrupted: Int32 = 0
    let asked = recbot_vpx_control_get(context, Int32(VP8D_GET_FRAME_CORRUPTED.rawValue), &corrupted)
    if asked == VPX_CODEC_OK, corrupted != 0 {
      close()
      throw CodecError(
        library: .libvpx, reason: .corrupt, operation: "decode", text: "the frame or what it refers to is damaged")
    }
    var iterator: vpx_codec_iter_t?
    guard let image = vpx_codec_get_frame(context, &iterator) else { return nil }
    return try copy(image.pointee, into: &pool)
  }

  /// Forgets the stream.
  func close() {
    if isOpen { vpx_codec_destroy(context) }
    context.pointee = vpx_codec_ctx_t()
    isOpen = false
  }

  private func open() throws(CodecError) {
    if isOpen { return }
    // One thread: streams are many and small; more threads per stream cost more than they give.
    let result = recbot_vpx_vp9_decoder_init(context, 1)
    if result != VPX_CODEC_OK { throw failure("vpx_codec_dec_init", result) }
    isOpen = true
  }

  private func failure(_ operation: String, _ result: vpx_codec_err_t) -> CodecError {
    let error = CodecError(vpx: result, operation: operation, context: context)
    close()
    return error
  }

  private func copy(_ source: vpx_image_t, into pool: inout PicturePool) throws(CodecError) -> Picture {
    let width = Int(source.d_w)
    let height = Int(source.d_h)
    guard source.fmt == VPX_IMG_FMT_I420, width > 0, height > 0, sizeCap.allows(width: width, height: height),
      let y = source.planes.0, let u = source.planes.1, let v = source.planes.2
    else {
      close()
      throw CodecError(
        library: .libvpx, reason: .library, operation: "vpx_codec_get_frame", text: "unexpected picture format",
        detail: "format \(source.fmt.rawValue), \(width)x\(height)")
    }
    return pool.copy(
      width: width, height: height, y: (y, Int(source.stride.0)), u: (u, Int(source.stride.1)),
      v: (v, Int(source.stride.2)),
      colour: PictureColour(
        vp9ColorSpace: UInt32(bitPattern: Int32(source.cs.rawValue)), isFullRange: source.range == VPX_CR_FULL_RANGE))
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
