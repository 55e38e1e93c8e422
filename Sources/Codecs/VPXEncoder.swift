internal import CVPX
public import MediaCore

/// Encodes pictures of one size as VP8 (RFC 6386) or VP9 (profile 0) with libvpx, at constant bit rate in real time. Owns the
/// library's context; confined to one thread at a time.
///
/// Size and threads are fixed for the encoder's life (changing them on a running libvpx encoder has led to memory
/// errors, CVE-2023-5217 and CVE-2023-44488): make a new encoder instead.
public final class VPXEncoder: VideoEncoder {
  /// What the frames are.
  public let codec: VPXCodec
  /// Width of the pictures, pixels.
  public let width: Int
  /// Height of the pictures, pixels.
  public let height: Int
  /// Target rate, bits per second.
  public private(set) var bitrate: Int

  private let context: UnsafeMutablePointer<vpx_codec_ctx_t>
  private var configuration: vpx_codec_enc_cfg_t
  private var isOpen = false
  private var lastPTS: Int64?
  private var lastDuration: Int64

  /// What moves and what is still, where that is coded differently.
  private let blocks: BlockMap?
  private let settings: VPXEncoderSettings
  /// Frames since the last keyframe, that one counted; 0 before the first.
  private var sinceKeyframe = 0
  /// See `VideoEncoder`.
  public private(set) var repetition: [UInt8]?
  private let vp8Repetition: VP8Repetition?
  /// By how much the quantizer of what is still is lower now.
  private var lowered = 0
  /// The threshold of what moves.
  private var movingThreshold = 0

  /// Opens an encoder.
  ///
  /// - Parameters:
  ///   - codec: what the frames are.
  ///   - width: pixels, 1...16383.
  ///   - height: pixels, 1...16383.
  ///   - framesPerSecond: the expected rate, 1...240; used for frames that are given no duration.
  ///   - bitrate: target, bits per second, at least 1000.
  ///   - settings: nil for the codec's own; values outside libvpx's ranges are brought inside.
  /// - Throws: `invalidArgument`, `outOfMemory` or `library`.
  public init(
    _ codec: VPXCodec, width: Int, height: Int, framesPerSecond: Int, bitrate: Int,
    settings: VPXEncoderSettings? = nil
  ) throws(CodecError) {
    try CodecError.checkEncoder(.libvpx, width, height, framesPerSecond, bitrate)
    self.codec = codec
    self.width = width
    self.height = height
    self.bitrate = bitrate
    lastDuration = 90_000 / Int64(framesPerSecond)
    let s = (settings ?? VPXEncoderSettings(codec)).clamped(for: codec)
    self.settings = s
    blocks = codec == .vp8 && s.stillQuantizer != nil ? BlockMap(width: width, height: height) : nil
    vp8Repetition = codec == .vp8 ? VP8Repetition(width: width, height: height) : nil
    let library = codec == .vp8 ? vpx_codec_vp8_cx() : vpx_codec_vp9_cx()
    var c = vpx_codec_enc_cfg_t()
    let defaults = recbot_vpx_encoder_defaults(library, &c)
    if defaults != VPX_CODEC_OK {
      throw CodecError(vpx: defaults, operation: "vpx_codec_enc_config_default", context: nil)
    }
    c.g_w = UInt32(width)
    c.g_h = UInt32(height)
    c.g_timebase = vpx_rational(num: 1, den: 90_000)
    c.g_threads = 1
    c.g_lag_in_frames = 0
    c.g_error_resilient = s.isErrorResilient ? 1 : 0
    c.g_pass = VPX_RC_ONE_PASS
    c.rc_end_usage = VPX_CBR
    c.rc_target_bitrate = UInt32(bitrate / 1000)
    c.rc_dropframe_thresh = 0
    c.rc_resize_allowed = 0
    c.rc_min_quantizer = UInt32(s.minimumQuantizer)
    c.rc_max_quantizer = UInt32(s.maximumQuantizer)
    c.rc_undershoot_pct = UInt32(s.undershootPercent)
    c.rc_overshoot_pct = UInt32(s.overshootPercent)
    c.rc_buf_sz = UInt32(s.bufferMilliseconds)
    c.rc_buf_initial_sz = UInt32(s.bufferInitialMilliseconds)
    c.rc_buf_optimal_sz = UInt32(s.bufferOptimalMilliseconds)
    c.kf_mode = VPX_KF_AUTO
    c.kf_min_dist = 0
    c.kf_max_dist = UInt32(s.maximumKeyframeInterval)
    configuration = c
    context = .allocate(capacity: 1)
    context.initialize(to: vpx_codec_ctx_t())
    let opened = recbot_vpx_encoder_init(context, library, &configuration)
    if opened != VPX_CODEC_OK {
      throw CodecError(vpx: opened, operation: "vpx_codec_enc_init", context: context)
    }
    isOpen = true
    try control(VP8E_SET_CPUUSED, s.cpuUsed)
    try control(VP8E_SET_STATIC_THRESHOLD, s.staticThreshold)
    try control(VP8E_SET_MAX_INTRA_BITRATE_PCT, s.maximumIntraBitratePercent)
    switch codec {
    case .vp8:
      try control(VP8E_SET_NOISE_SENSITIVITY, s.noiseSensitivity)
      try control(VP8E_SET_TOKEN_PARTITIONS, s.tokenPartitions)
    case .vp9:
      try control(VP9E_SET_NOISE_SENSITIVITY, s.noiseSensitivity)
      try control(VP9E_SET_AQ_MODE, s.adaptiveQuantization)
      // Of one thread, and of one tile as far as the width lets it: columns cost bits.
      try control(VP9E_SET_TILE_COLUMNS, 0)
      try control(VP9E_SET_ROW_MT, 0)
      try control(VP9E_SET_FRAME_PARALLEL_DECODING, 0)
      // What VP8 always is: BT.601, limited range.
      try control(VP9E_SET_COLOR_SPACE, Int(VPX_CS_BT_601.rawValue))
      try control(VP9E_SET_COLOR_RANGE, Int(VPX_CR_STUDIO_RANGE.rawValue))
    }
  }

  deinit {
    if isOpen { vpx_codec_destroy(context) }
    context.deallocate()
  }

  /// See `VideoEncoder`.
  @discardableResult
  public func encode(
    _ picture: Picture, pts: Int64, duration: Int64? = nil, forceKeyframe: Bool = false,
    _ body: (_ frame: UnsafeRawBufferPointer, _ isKeyframe: Bool) throws -> Void
  ) throws -> Bool {
    let isDue = forceKeyframe || sinceKeyframe >= Int(configuration.kf_max_dist)
    let isLarge = isDue && sinceKeyframe > 0 && settings.keyframeShare > 1
    if isLarge {
      // libvpx counts bits a second in 32 bits with a sign.
      try setRate(
        max(
          configuration.rc_target_bitrate,
          min(configuration.rc_target_bitrate * UInt32(settings.keyframeShare), 100_000)))
    }
    let submitted = Result { () throws(CodecError) in
      try submit(picture, pts: pts, duration: duration, forceKeyframe: forceKeyframe || isLarge)
    }
    if isLarge { try setRate(configuration.rc_target_bitrate) }
    try submitted.get()
    sinceKeyframe += 1
    var iterator: vpx_codec_iter_t?
    var isDelivered = false
    while let packet = vpx_codec_get_cx_data(context, &iterator) {
      guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
      let frame = UnsafeRawBufferPointer(
        start: recbot_vpx_frame_bytes(packet), count: recbot_vpx_frame_size(packet))
      isDelivered = true
      let isKeyframe = recbot_vpx_frame_is_key(packet) != 0
      if isKeyframe { sinceKeyframe = 1 }
      repetition = codec == .vp8 ? vp8Repetition?.frame(after: frame) : Self.vp9Repetition
      try body(frame, isKeyframe)
    }
    return isDelivered
  }

  /// `show_existing_frame` of slot 0 (VP9 specification section 6.2), in which each frame of this encoder is kept.
  private static let vp9Repetition: [UInt8] = [0x88]

  /// Changes the target rate from the next frame on, in bits per second (at least 1000).
  public func setBitrate(_ bitsPerSecond: Int) throws(CodecError) {
    let value = min(max(bitsPerSecond, 1000), 1_000_000_000)
    if value == bitrate { return }
    try setRate(UInt32(value / 1000))
    configuration.rc_target_bitrate = UInt32(value / 1000)
    bitrate = value
  }

  /// See `VideoEncoder`.
  public func setHurried(_ isHurried: Bool) throws(CodecError) {
    try control(VP8E_SET_CPUUSED, isHurried ? VPXEncoderSettings.hurriedSpeed(codec) : settings.cpuUsed)
  }

  /// Has libvpx take another target, in kbit a second.
  private func setRate(_ rate: UInt32) throws(CodecError) {
    var changed = configuration
    changed.rc_target_bitrate = rate
    let result = vpx_codec_enc_config_set(context, &changed)
    if result != VPX_CODEC_OK {
      throw CodecError(vpx: result, operation: "vpx_codec_enc_config_set", context: context)
    }
  }

  private func submit(
    _ picture: Picture, pts: Int64, duration: Int64?, forceKeyframe: Bool
  ) throws(CodecError) {
    try CodecError.checkPicture(.libvpx, picture, width, height, pts, after: lastPTS)
    try mapBlocks(of: picture)
    let length = min(max(duration ?? lastDuration, 1), 90_000 * 60)
    // What vpx_img_wrap() would make, but for planes with strides of their own.
    var image = vpx_image_t()
    image.fmt = VPX_IMG_FMT_I420
    image.w = UInt32(width)
    image.h = UInt32(height)
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
    let flags = settings.refersToLastOnly ? recbot_vpx_last_only : 0
    let result = vpx_codec_encode(
      context, &image, pts, UInt(length), flags | (forceKeyframe ? recbot_vpx_force_keyframe : 0),
      recbot_vpx_deadline_realtime)
    if result != VPX_CODEC_OK { throw CodecError(vpx: result, operation: "vpx_codec_encode", context: context) }
    lastPTS = pts
    lastDuration = length
  }

  /// Has what is still coded with the quantizer that is wished for it, and refreshed what hardly changes. Without that both keep, beside
  /// something that moves, the coarse colours with which they appeared: libvpx's own refresh knows no pictures but its own.
  private func mapBlocks(of picture: Picture) throws(CodecError) {
    guard let blocks else { return }
    let isChanged = blocks.look(at: picture)
    var last: Int32 = 0
    if recbot_vpx_control_get(context, Int32(VP8E_GET_LAST_QUANTIZER_64.rawValue), &last) != VPX_CODEC_OK { return }
    let quantizer = Int(last)
    var wished = min(max(quantizer - (settings.stillQuantizer ?? 0), 0), Self.mostLowered)
    // Small steps aren't worth the map's bits.
    if wished > 0, abs(wished - lowered) <= 4 { wished = lowered }
    var threshold = max(settings.staticThreshold, min(Self.spoiled(by: quantizer), settings.movingThresholdLimit))
    if abs(threshold - movingThreshold) * 4 < movingThreshold { threshold = movingThreshold }
    if !isChanged, wished == lowered { return }
    (lowered, movingThreshold) = (wished, threshold)
    func kind(lower: Int, _ threshold: Int) -> recbot_vpx_kind {
      recbot_vpx_kind(lower: Int32(lower), threshold: UInt32(threshold))
    }
    let result = recbot_vpx_vp8_set_map(
      context, blocks.map, UInt32(blocks.rows), UInt32(blocks.columns), kind(lower: 0, threshold),
      kind(lower: wished, settings.staticThreshold), kind(lower: quantizer / 2, settings.staticThreshold))
    if result != VPX_CODEC_OK {
      throw CodecError(vpx: result, operation: "vpx_codec_control(VP8E_SET_ROI_MAP)", context: context)
    }
  }

  /// The quantizer is lowered by so much at most: a picture's worth of finest blocks at once would starve what moves.
  private static let mostLowered = 40

  /// About how much coding with a quantizer, 0...63, changes a block's brightness anyway (the sum of squares over 256 pixels).
  private static func spoiled(by quantizer: Int) -> Int {
    let step = steps[min(max(quantizer, 0), steps.count - 1)]
    return step * step * 3 / 2
  }

  /// Steps of VP8's AC coefficients (RFC 6386 section 14.1) at the 64 quantizers that libvpx chooses from.
  private static let steps = [
    4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 19, 21, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 33, 34, 35, 37, 39, 41,
    43, 45,
    47, 49, 51, 53, 55, 57, 60, 64, 68, 72, 78, 84, 90, 96, 102, 108, 114, 122, 131, 140, 149, 158, 167, 177, 189, 201,
    213,
    225, 239, 254, 269, 284,
  ]

  private func control(_ identifier: vp8e_enc_control_id, _ value: Int) throws(CodecError) {
    let result = recbot_vpx_control_set(context, Int32(identifier.rawValue), Int32(value))
    if result != VPX_CODEC_OK {
      throw CodecError(
        vpx: result, operation: "vpx_codec_control(\(identifier.rawValue), \(value))", context: context)
    }
  }
}
