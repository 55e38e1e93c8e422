internal import CAOM
internal import Glibc
public import MediaCore

/// Encodes pictures of one size as AV1 (main profile, 8 bits 4:2:0) with libaom, at constant bit rate in real time. Owns the
/// library's context; confined to one thread at a time.
///
/// Of AV1's tools it uses those that pay at thirty frames a second on a part of one core: without the others it takes half the
/// time, and its pictures are the same within a tenth of a decibel.
public final class AV1Encoder: VideoEncoder {
  /// The unit with the sequence header, as each keyframe has it, too.
  public let sequenceHeader: [UInt8]?

  /// Width of the pictures, pixels.
  private let width: Int
  /// Height of the pictures, pixels.
  private let height: Int
  private var bitrate: Int
  private let context: UnsafeMutablePointer<aom_codec_ctx_t>
  private var configuration: aom_codec_enc_cfg_t
  private var lastPTS: Int64?
  private var lastDuration: Int64
  /// Frames since the last keyframe, that one counted; 0 before the first.
  private var sinceKeyframe = 0
  private let keyframeInterval: Int

  /// A temporal delimiter: header and size (AV1 specification section 5.6). Files have none (Matroska codec mapping of AV1).
  private static let temporalDelimiter: [UInt8] = [0x12, 0]
  /// What libaom is told beside its configuration, in this order.
  private static let settings: [(control: aome_enc_control_id, value: Int32)] = [
    // Speed against quality in real-time mode, 5...10 (fastest). 10 costs 0.6 to 0.8 of 8, and loses 0.1 dB of noisy pictures and
    // 0.6 of smooth ones.
    (AOME_SET_CPUUSED, 10),
    // Cyclic refresh, which is made for constant bit rate in real time.
    (AV1E_SET_AQ_MODE, 3), (AOME_SET_MAX_INTRA_BITRATE_PCT, 4000), (AV1E_SET_ROW_MT, 0),
    // What all recordings are: BT.601 in limited range, for displays with the primaries of BT.709 (ITU-T H.273).
    (AV1E_SET_COLOR_PRIMARIES, 1), (AV1E_SET_TRANSFER_CHARACTERISTICS, 1), (AV1E_SET_MATRIX_COEFFICIENTS, 6),
    (AV1E_SET_COLOR_RANGE, 0),
    // Tools that are left out, or whose costs are counted less often.
    (AV1E_SET_ENABLE_OBMC, 0), (AV1E_SET_ENABLE_GLOBAL_MOTION, 0), (AV1E_SET_ENABLE_WARPED_MOTION, 0),
    (AV1E_SET_ENABLE_REF_FRAME_MVS, 0), (AV1E_SET_ENABLE_ANGLE_DELTA, 0), (AV1E_SET_ENABLE_FILTER_INTRA, 0),
    (AV1E_SET_INTRA_DEFAULT_TX_ONLY, 1),
    (AV1E_SET_ENABLE_ORDER_HINT, 0), (AV1E_SET_ENABLE_TPL_MODEL, 0), (AV1E_SET_DELTAQ_MODE, 0),
    (AV1E_SET_COEFF_COST_UPD_FREQ, 3), (AV1E_SET_MODE_COST_UPD_FREQ, 3), (AV1E_SET_MV_COST_UPD_FREQ, 3),
    (AV1E_SET_ENABLE_PALETTE, 0), (AV1E_SET_ENABLE_CDEF, 1),
  ]

  /// Opens an encoder.
  ///
  /// - Parameters:
  ///   - width: pixels, 1...16383.
  ///   - height: pixels, 1...16383.
  ///   - framesPerSecond: the expected rate, 1...240; used for frames that are given no duration.
  ///   - bitrate: target, bits per second, at least 1000.
  ///   - keyframeInterval: the most frames from one keyframe to the next, at least 1.
  /// - Throws: `invalidArgument`, `outOfMemory` or `library`.
  public init(
    width: Int, height: Int, framesPerSecond: Int, bitrate: Int, keyframeInterval: Int = 300
  ) throws(CodecError) {
    try CodecError.checkEncoder(.libaom, width, height, framesPerSecond, bitrate)
    self.width = width
    self.height = height
    self.bitrate = bitrate
    self.keyframeInterval = max(1, keyframeInterval)
    lastDuration = 90_000 / Int64(framesPerSecond)
    var c = aom_codec_enc_cfg_t()
    let defaults = recbot_aom_encoder_defaults(&c)
    if defaults != AOM_CODEC_OK {
      throw CodecError(aom: defaults, operation: "aom_codec_enc_config_default", context: nil)
    }
    c.g_w = UInt32(width)
    c.g_h = UInt32(height)
    c.g_timebase = aom_rational(num: 1, den: 90_000)
    c.g_threads = 1
    c.g_lag_in_frames = 0
    c.g_error_resilient = 0
    c.g_pass = AOM_RC_ONE_PASS
    c.rc_end_usage = AOM_CBR
    c.rc_target_bitrate = UInt32(bitrate / 1000)
    c.rc_dropframe_thresh = 0
    c.rc_min_quantizer = 2
    c.rc_max_quantizer = 56
    c.rc_undershoot_pct = 50
    c.rc_overshoot_pct = 50
    // A file has no line that forbids a burst: the first picture is as good as those behind it.
    c.rc_buf_sz = 4000
    c.rc_buf_initial_sz = 3000
    c.rc_buf_optimal_sz = 3000
    c.kf_mode = AOM_KF_AUTO
    c.kf_min_dist = 0
    c.kf_max_dist = UInt32(clamping: self.keyframeInterval)
    configuration = c
    sequenceHeader = try Self.header(configuration)
    context = try Self.open(configuration)
  }

  deinit { Self.close(context) }

  /// See `VideoEncoder`. Frames have no temporal delimiter.
  @discardableResult
  public func encode(
    _ picture: Picture, pts: Int64, duration: Int64? = nil, forceKeyframe: Bool = false,
    _ body: (_ frame: UnsafeRawBufferPointer, _ isKeyframe: Bool) throws -> Void
  ) throws -> Bool {
    try submit(picture, pts: pts, duration: duration, forceKeyframe: forceKeyframe || sinceKeyframe >= keyframeInterval)
    sinceKeyframe += 1
    var iterator: aom_codec_iter_t?
    var isDelivered = false
    while let packet = aom_codec_get_cx_data(context, &iterator) {
      guard packet.pointee.kind == AOM_CODEC_CX_FRAME_PKT else { continue }
      var frame = UnsafeRawBufferPointer(
        start: recbot_aom_frame_bytes(packet), count: recbot_aom_frame_size(packet))
      if frame.starts(with: Self.temporalDelimiter) { frame = UnsafeRawBufferPointer(rebasing: frame.dropFirst(2)) }
      let isKeyframe = recbot_aom_frame_is_key(packet) != 0
      if isKeyframe { sinceKeyframe = 1 }
      isDelivered = true
      try body(frame, isKeyframe)
    }
    return isDelivered
  }

  /// Changes the target rate from the next frame on, in bits per second (at least 1000).
  public func setBitrate(_ bitsPerSecond: Int) throws(CodecError) {
    let value = min(max(bitsPerSecond, 1000), 1_000_000_000)
    if value == bitrate { return }
    configuration.rc_target_bitrate = UInt32(value / 1000)
    let result = aom_codec_enc_config_set(context, &configuration)
    if result != AOM_CODEC_OK {
      throw CodecError(aom: result, operation: "aom_codec_enc_config_set", context: context)
    }
    bitrate = value
  }

  private func submit(
    _ picture: Picture, pts: Int64, duration: Int64?, forceKeyframe: Bool
  ) throws(CodecError) {
    try CodecError.checkPicture(.libaom, picture, width, height, pts, after: lastPTS)
    let length = min(max(duration ?? lastDuration, 1), 90_000 * 60)
    var image = Self.image(picture)
    let flags = forceKeyframe ? recbot_aom_force_keyframe : 0
    let result = aom_codec_encode(context, &image, pts, UInt(length), flags)
    if result != AOM_CODEC_OK { throw CodecError(aom: result, operation: "aom_codec_encode", context: context) }
    lastPTS = pts
    lastDuration = length
  }

  /// A picture for libaom, in place: what aom_img_wrap() would make, but for planes with strides of their own.
  private static func image(_ picture: Picture) -> aom_image_t {
    var image = aom_image_t()
    image.fmt = AOM_IMG_FMT_I420
    image.cp = AOM_CICP_CP_BT_709
    image.tc = AOM_CICP_TC_BT_709
    image.mc = AOM_CICP_MC_BT_601
    image.range = AOM_CR_STUDIO_RANGE
    image.w = UInt32(picture.width)
    image.h = UInt32(picture.height)
    image.d_w = image.w
    image.d_h = image.h
    image.bit_depth = 8
    image.x_chroma_shift = 1
    image.y_chroma_shift = 1
    image.bps = 12
    image.planes.0 = picture.y
    image.planes.1 = picture.u
    image.planes.2 = picture.v
    image.stride.0 = Int32(picture.strideY)
    image.stride.1 = Int32(picture.strideUV)
    image.stride.2 = Int32(picture.strideUV)
    return image
  }

  /// An encoder that is set up.
  private static func open(_ configuration: aom_codec_enc_cfg_t) throws(CodecError) -> UnsafeMutablePointer<
    aom_codec_ctx_t
  > {
    var configuration = configuration
    let context = UnsafeMutablePointer<aom_codec_ctx_t>.allocate(capacity: 1)
    context.initialize(to: aom_codec_ctx_t())
    let opened = recbot_aom_encoder_init(context, &configuration)
    if opened != AOM_CODEC_OK {
      let error = CodecError(aom: opened, operation: "aom_codec_enc_init", context: context)
      context.deallocate()
      throw error
    }
    do throws(CodecError) {
      for (identifier, value) in settings { try control(context, identifier, value) }
    } catch {
      close(context)
      throw error
    }
    return context
  }

  private static func close(_ context: UnsafeMutablePointer<aom_codec_ctx_t>) {
    aom_codec_destroy(context)
    context.deallocate()
  }

  /// The unit with the sequence header, before there is a frame. libaom settles what is in it at the first one, so one is made
  /// by an encoder that is made for that.
  private static func header(_ configuration: aom_codec_enc_cfg_t) throws(CodecError) -> [UInt8] {
    let context = try open(configuration)
    defer { close(context) }
    let picture = Picture(width: Int(configuration.g_w), height: Int(configuration.g_h))
    picture.fill(y: 16, u: 128, v: 128)
    var image = image(picture)
    let result = aom_codec_encode(context, &image, 0, 3000, recbot_aom_force_keyframe)
    if result != AOM_CODEC_OK { throw CodecError(aom: result, operation: "aom_codec_encode", context: context) }
    guard let headers = aom_codec_get_global_headers(context) else {
      throw CodecError(library: .libaom, reason: .library, operation: "aom_codec_get_global_headers", text: "none")
    }
    defer {
      free(headers.pointee.buf)
      free(headers)
    }
    return Array(UnsafeRawBufferPointer(start: headers.pointee.buf, count: headers.pointee.sz))
  }

  private static func control(
    _ context: UnsafeMutablePointer<aom_codec_ctx_t>, _ identifier: aome_enc_control_id, _ value: Int32
  ) throws(CodecError) {
    let result = recbot_aom_control_set(context, Int32(identifier.rawValue), value)
    if result != AOM_CODEC_OK {
      throw CodecError(aom: result, operation: "aom_codec_control(\(identifier.rawValue), \(value))", context: context)
    }
  }
}

extension CodecError {
  /// The error that a libaom call left behind, with the context's own detail.
  fileprivate init(aom result: aom_codec_err_t, operation: String, context: UnsafeMutablePointer<aom_codec_ctx_t>?) {
    let reason: Reason =
      switch result {
      case AOM_CODEC_INVALID_PARAM: .invalidArgument
      case AOM_CODEC_MEM_ERROR: .outOfMemory
      default: .library
      }
    let text = aom_codec_err_to_string(result).map { String(cString: $0) } ?? "error"
    let detail = context.flatMap { aom_codec_error_detail($0) }.map { String(cString: $0) }
    self.init(
      library: .libaom, reason: reason, operation: operation, code: Int32(result.rawValue), text: text, detail: detail)
  }
}
