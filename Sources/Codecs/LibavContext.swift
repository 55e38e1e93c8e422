internal import CAVCodec
import MediaCore

/// libavcodec's context of one stream of pictures: owns it, and does what its decoders do alike. Confined to one thread at a
/// time; the pictures it makes may be let go on any.
///
/// After an error the context is thrown away: only a keyframe can be decoded next.
final class LibavContext {
  private let codec: AVCodecID
  private let title: String
  private let sizeCap: SizeCap
  private var context: UnsafeMutablePointer<AVCodecContext>?
  /// What the next picture is decoded into.
  private var spare: LibavFrame?

  /// Makes a context of `codec`, which `title` names in errors. libavcodec is opened with the first frame.
  init(_ codec: AVCodecID, title: String, sizeCap: SizeCap) {
    self.codec = codec
    self.title = title
    self.sizeCap = sizeCap
  }

  deinit { close() }

  /// Decodes one frame; nil when it shows nothing. The picture lies in the library's own memory, which is counted and stays
  /// as it is for as long as somebody refers to it; only what means other colours is made new, in a picture of the pool.
  ///
  /// - Throws: `malformed`, `tooLarge`, `unsupported`, `corrupt` or `outOfMemory`. The context is closed after each.
  func decode(_ bytes: UnsafeRawBufferPointer, into pool: inout PicturePool) throws(CodecError) -> Picture? {
    // Longer frames are nobody's: the largest picture in raw bytes.
    guard !bytes.isEmpty, bytes.count <= sizeCap.pixels * 3 / 2 else {
      close()
      throw CodecError(
        library: .libavcodec, reason: .malformed, operation: "decode", text: "not a frame of \(title)",
        detail: "\(bytes.count) bytes")
    }
    context = context ?? recbot_av_open_video(codec, Int64(sizeCap.pixels))
    guard let context, let frame = spare ?? LibavFrame() else {
      throw CodecError(
        library: .libavcodec, reason: .outOfMemory, operation: "avcodec_open2", text: "no decoder of \(title)")
    }
    spare = frame
    let result = recbot_av_decode(context, bytes.baseAddress, Int32(bytes.count), frame.pointer)
    guard result >= 0 else { throw failure(result) }
    guard result == 1 else { return nil }
    spare = nil
    return try picture(frame, &pool)
  }

  /// Forgets the stream.
  func close() {
    if let context { recbot_av_close(context) }
    context = nil
  }

  private func failure(_ result: Int32) -> CodecError {
    close()
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      buffer.initialize(repeating: 0)
      recbot_av_describe(result, buffer.baseAddress, buffer.count)
      return buffer.baseAddress.map { String(cString: $0) } ?? ""
    }
    return CodecError(
      library: .libavcodec, reason: recbot_av_is_out_of_memory(result) != 0 ? .outOfMemory : .corrupt,
      operation: "avcodec_send_packet", code: result, text: text)
  }

  private func picture(_ frame: LibavFrame, _ pool: inout PicturePool) throws(CodecError) -> Picture {
    let source = frame.pointer.pointee
    let (width, height) = (Int(source.width), Int(source.height))
    guard sizeCap.allows(width: width, height: height) else {
      close()
      throw sizeCap.error(.libavcodec, width: width, height: height)
    }
    let form = recbot_av_form_of(frame.pointer)
    let (lumaStride, chromaStride) = (Int(source.linesize.0), Int(source.linesize.1))
    guard form.bits == 8, form.across == 2, form.down == 2, width > 0, height > 0, lumaStride >= width,
      chromaStride >= (width + 1) / 2, source.linesize.2 == source.linesize.1, let y = source.data.0,
      let u = source.data.1, let v = source.data.2
    else {
      close()
      throw .unsupported(
        .libavcodec, "avcodec_receive_frame", bits: Int(form.bits), across: Int(form.across), down: Int(form.down))
    }
    // libavcodec's numbers are those of H.273. VP8 says nothing of it.
    let colour = PictureColour(
      matrixCoefficients: UInt32(source.colorspace.rawValue), isFullRange: source.color_range == AVCOL_RANGE_JPEG)
    guard colour == .usual else {
      return pool.copy(
        width: width, height: height, y: (y, lumaStride), u: (u, chromaStride), v: (v, chromaStride), colour: colour)
    }
    return Picture(
      width: width, height: height, y: y, strideY: lumaStride, u: u, v: v, strideUV: chromaStride, owner: frame)
  }
}

/// A frame of libavcodec: its reference to the picture's memory goes with it, on any thread.
private final class LibavFrame {
  let pointer: UnsafeMutablePointer<AVFrame>

  /// Nil when there is no memory.
  init?() {
    guard let pointer = av_frame_alloc() else { return nil }
    self.pointer = pointer
  }

  deinit { recbot_av_free_frame(pointer) }
}
