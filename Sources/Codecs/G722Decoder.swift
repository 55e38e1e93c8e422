internal import CAVCodec
import MediaCore

/// Decodes one stream of G.722 at 64 kbit/s (ITU-T G.722, RFC 3551 section 4.5.2) with libavcodec: a byte is two samples of
/// 16 kHz. Owns the library's context.
public final class G722Decoder: AudioDecoder {
  private let context: UnsafeMutablePointer<AVCodecContext>
  private let frame: UnsafeMutablePointer<AVFrame>
  private var upsampler = Upsampler(factor: 3)

  /// Makes a decoder.
  /// - Throws: `outOfMemory`.
  public init() throws(CodecError) {
    guard let context = recbot_av_open_g722() else {
      throw CodecError(
        library: .libavcodec, reason: .outOfMemory, operation: "avcodec_open2", text: "no decoder of G.722")
    }
    guard let frame = av_frame_alloc() else {
      recbot_av_close(context)
      throw CodecError(library: .libavcodec, reason: .outOfMemory, operation: "av_frame_alloc", text: "no memory")
    }
    self.context = context
    self.frame = frame
  }

  deinit {
    recbot_av_free_frame(frame)
    recbot_av_close(context)
  }

  /// Decodes one packet to stereo of 48 kHz; returns samples a channel. Throws when `buffer` is too short, or
  /// libavcodec refuses.
  public func decode(
    _ packet: UnsafeRawBufferPointer, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    let expected = packet.count * 2
    let output = try AudioDecoders.room(for: expected * upsampler.factor, in: buffer, library: .libavcodec)
    let result = recbot_av_decode(context, packet.baseAddress, Int32(packet.count), frame)
    defer { av_frame_unref(frame) }
    guard result == 1, let samples = recbot_av_mono(frame), Int(frame.pointee.nb_samples) == expected else {
      throw CodecError(
        library: .libavcodec, reason: recbot_av_is_out_of_memory(result) != 0 ? .outOfMemory : .corrupt,
        operation: "avcodec_send_packet", code: result, text: "no sound in a packet of G.722",
        detail: "\(packet.count) bytes")
    }
    for index in 0..<expected {
      upsampler.push(Float(samples[index]) / 32_768, to: output + index * upsampler.factor * 2)
    }
    return expected * upsampler.factor
  }

  /// Silence. The predictors of G.722 find back by themselves in the packets after it.
  public func restore(
    samples: Int, next: UnsafeRawBufferPointer?, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    upsampler.reset()
    return 0
  }
}
