internal import CAVCodec
public import MediaCore

/// Decodes one stream of H.264 or H.265 with libavcodec: access units with start codes (Annex B of both), 8 bits 4:2:0. Owns
/// the library's context; confined to one thread at a time.
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

  private let interface: Interface
  private let sizeCap: SizeCap
  private var context: UnsafeMutablePointer<AVCodecContext>?
  private let frame = av_frame_alloc()
  /// Longer access units are nobody's: the largest picture in raw bytes.
  private var maximumBytes: Int { sizeCap.pixels * 3 / 2 }

  /// Makes a decoder. libavcodec is opened at the first keyframe.
  public init(_ interface: Interface, sizeCap: SizeCap = .standard) {
    self.interface = interface
    self.sizeCap = sizeCap
  }

  deinit {
    close()
    recbot_av_free_frame(frame)
  }

  /// Decodes one access unit into a picture of `pool`; nil when it shows none. Throws what libavcodec refuses.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    guard isKeyframe || !needsKeyframe else { return nil }
    guard !bytes.isEmpty, bytes.count <= maximumBytes else {
      reset()
      throw CodecError(
        library: .libavcodec, reason: .malformed, operation: "decode", text: "not an access unit",
        detail: "\(bytes.count) bytes")
    }
    if context == nil { context = open() }
    guard let context, let frame else {
      throw CodecError(
        library: .libavcodec, reason: .outOfMemory, operation: "avcodec_open2",
        text: "no decoder of \(interface.rawValue)")
    }
    let result = recbot_av_decode(context, bytes.baseAddress, Int32(bytes.count), frame)
    defer { av_frame_unref(frame) }
    guard result >= 0 else { throw failure(result) }
    // A keyframe that makes no picture lacks its parameter sets: what builds upon it cannot be decoded either.
    guard result == 1 else {
      if needsKeyframe { reset() }
      return nil
    }
    needsKeyframe = false
    return try copy(frame.pointee, into: &pool)
  }

  /// Forgets all pictures: the next frame must be a keyframe.
  public func reset() {
    close()
    needsKeyframe = true
  }

  private func open() -> UnsafeMutablePointer<AVCodecContext>? {
    let codec = interface == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC
    return recbot_av_open_video(codec, Int64(sizeCap.pixels))
  }

  private func close() {
    if let context { recbot_av_close(context) }
    context = nil
  }

  private func failure(_ result: Int32) -> CodecError {
    reset()
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      buffer.initialize(repeating: 0)
      recbot_av_describe(result, buffer.baseAddress, buffer.count)
      return buffer.baseAddress.map { String(cString: $0) } ?? ""
    }
    return CodecError(
      library: .libavcodec, reason: recbot_av_is_out_of_memory(result) != 0 ? .outOfMemory : .corrupt,
      operation: "avcodec_send_packet", code: result, text: text)
  }

  private func copy(_ source: AVFrame, into pool: inout PicturePool) throws(CodecError) -> Picture {
    let width = Int(source.width)
    let height = Int(source.height)
    guard sizeCap.allows(width: width, height: height) else {
      reset()
      throw sizeCap.error(.libavcodec, width: width, height: height)
    }
    let form = withUnsafePointer(to: source) { recbot_av_form_of($0) }
    guard form.bits == 8, form.across == 2, form.down == 2, width > 0, height > 0, let y = source.data.0,
      let u = source.data.1, let v = source.data.2
    else {
      reset()
      throw .unsupported(
        .libavcodec, "avcodec_receive_frame", bits: Int(form.bits), across: Int(form.across), down: Int(form.down))
    }
    return pool.copy(
      width: width, height: height, y: (y, Int(source.linesize.0)), u: (u, Int(source.linesize.1)),
      v: (v, Int(source.linesize.2)),
      // libavcodec's numbers are those of H.273.
      colour: PictureColour(
        matrixCoefficients: UInt32(source.colorspace.rawValue), isFullRange: source.color_range == AVCOL_RANGE_JPEG))
  }
}
