internal import CVPX
public import MediaCore

/// Decodes one VP9 stream with libvpx: frames, and superframes with the spatial layers of a picture, of which the highest
/// is shown. Owns the library's context; confined to one thread at a time.
public final class VP9Decoder: VideoDecoder {
  /// See `VideoDecoder`.
  public private(set) var needsKeyframe = true

  private let sizeCap: SizeCap
  // The context refers to itself, so it must stay where it was initialized.
  private let context: UnsafeMutablePointer<vpx_codec_ctx_t>
  private var isOpen = false
  /// A frame with an index of its own.
  private var indexed: [UInt8] = []

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

  /// See `VideoDecoder`. The bytes themselves say whether they are a keyframe.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    guard let frames = VP9Superframe.frames(bytes), let first = frames.first, bytes.count <= Int(Int32.max) else {
      throw malformed("not a VP9 frame", bytes.count)
    }
    // Every frame is looked at: each may have a size of its own.
    for (number, frame) in frames.enumerated() {
      guard let header = VP9FrameHeader(frame) else { throw malformed("not a VP9 frame", frame.count) }
      if header.width > 0, !sizeCap.allows(width: header.width, height: header.height) {
        reset()
        throw sizeCap.error(.libvpx, width: header.width, height: header.height)
      }
      if number == 0, needsKeyframe, !header.isKeyframe { return nil }
    }
    try open()
    if frames.count > 1 || first.count < bytes.count {
      try feed(bytes)
    } else {
      // Behind a frame without an index libvpx looks for more, of sizes that nobody has checked.
      indexed.removeAll(keepingCapacity: true)
      indexed.append(contentsOf: bytes)
      indexed += VP9Superframe.index([bytes.count])
      let result = indexed.withUnsafeBytes { vpx_codec_decode(context, $0.baseAddress, UInt32($0.count), nil, 0) }
      if result != VPX_CODEC_OK { throw failure("vpx_codec_decode", result) }
    }
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
    return try copy(image.pointee, into: &pool)
  }

  private func feed(_ bytes: UnsafeRawBufferPointer) throws(CodecError) {
    let result = vpx_codec_decode(
      context, bytes.bindMemory(to: UInt8.self).baseAddress, UInt32(truncatingIfNeeded: bytes.count), nil, 0)
    if result != VPX_CODEC_OK { throw failure("vpx_codec_decode", result) }
  }

  /// See `VideoDecoder`.
  public func reset() {
    close()
    needsKeyframe = true
  }

  private func open() throws(CodecError) {
    if isOpen { return }
    let result = recbot_vpx_vp9_decoder_init(context, 1)
    if result != VPX_CODEC_OK { throw failure("vpx_codec_dec_init", result) }
    isOpen = true
  }

  private func close() {
    if isOpen { vpx_codec_destroy(context) }
    context.pointee = vpx_codec_ctx_t()
    isOpen = false
  }

  private func malformed(_ text: String, _ count: Int) -> CodecError {
    reset()
    return CodecError(
      library: .libvpx, reason: .malformed, operation: "decode", text: text, detail: "\(count) bytes")
  }

  private func failure(_ operation: String, _ result: vpx_codec_err_t) -> CodecError {
    let error = CodecError(vpx: result, operation: operation, context: context)
    reset()
    return error
  }

  private func copy(_ source: vpx_image_t, into pool: inout PicturePool) throws(CodecError) -> Picture {
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
