public import MediaCore

internal import COpus

/// Decodes one Opus stream (RFC 6716) with libopus to 48 kHz stereo, interleaved. Owns the library's state; confined
/// to one thread at a time.
///
/// Samples are `Float`, full scale -1...1: libopus computes in it anyway, so nothing is rounded or clipped before the
/// mix, and sums have headroom.
public final class OpusDecoder {
  /// Channels of the output.
  public static let channels = 2
  /// Floats that a buffer must have to take any packet: 120 ms of stereo.
  public static let maximumBufferCount = OpusPacket.maximumSamples * channels

  private let state: OpaquePointer

  /// Makes a decoder.
  /// - Throws: `outOfMemory` or `library`.
  public init() throws(CodecError) {
    var result: Int32 = 0
    guard let state = opus_decoder_create(48_000, Int32(Self.channels), &result), result == OPUS_OK else {
      throw CodecError(opus: result, operation: "opus_decoder_create")
    }
    self.state = state
  }

  deinit { opus_decoder_destroy(state) }

  /// Decodes one packet.
  ///
  /// - Parameters:
  ///   - packet: one packet. Empty ones are refused; use `conceal` for what was lost.
  ///   - buffer: takes the samples; `maximumBufferCount` floats always suffice.
  /// - Returns: samples per channel.
  /// - Throws: `malformed` for what is no Opus packet, `invalidArgument` when the buffer is too small. The decoder
  ///   stays usable.
  public func decode(
    _ packet: UnsafeRawBufferPointer, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    guard !packet.isEmpty else { throw Self.emptyPacket }
    return try call(packet, into: buffer, samples: buffer.count / Self.channels, fec: 0)
  }

  /// Invents what was lost, out of the sound before it (RFC 6716 section 4.4).
  ///
  /// libopus goes on with noise as loud as the room's for as long as it is asked: after about 100 ms in a row, give
  /// silence instead.
  ///
  /// - Parameters:
  ///   - samples: per channel, brought to a multiple of 2.5 ms (120 samples), at most 120 ms and the buffer's size.
  ///   - buffer: takes the samples.
  /// - Returns: samples per channel.
  public func conceal(
    samples: Int, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    try call(nil, into: buffer, samples: usable(samples, buffer), fec: 0)
  }

  /// Decodes the copy of a lost packet that the packet after it may carry (RFC 6716 section 2.1.7). Conceals when it
  /// carries none. Afterwards `nextPacket` itself must be decoded as usual.
  ///
  /// - Parameters:
  ///   - nextPacket: the packet that follows the loss.
  ///   - samples: length of the lost one per channel; see `conceal`.
  ///   - buffer: takes the samples.
  /// - Returns: samples per channel.
  public func decodeFEC(
    nextPacket: UnsafeRawBufferPointer, samples: Int, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    guard !nextPacket.isEmpty else { throw Self.emptyPacket }
    return try call(nextPacket, into: buffer, samples: usable(samples, buffer), fec: 1)
  }

  /// Forgets the sound so far, as before another stream.
  public func reset() { _ = recbot_opus_decoder_reset(state) }

  private func usable(_ samples: Int, _ buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    let room = min(buffer.count / Self.channels, OpusPacket.maximumSamples)
    return min(max(samples, 120), room) / 120 * 120
  }

  private func call(
    _ packet: UnsafeRawBufferPointer?, into buffer: UnsafeMutableBufferPointer<Float>, samples: Int, fec: Int32
  ) throws(CodecError) -> Int {
    guard samples > 0, let base = buffer.baseAddress else {
      throw CodecError(
        library: .libopus, reason: .invalidArgument, operation: "decode", text: "no room for the samples")
    }
    let result = opus_decode_float(
      state, packet?.bindMemory(to: UInt8.self).baseAddress, Int32(truncatingIfNeeded: packet?.count ?? 0), base,
      Int32(truncatingIfNeeded: min(samples, OpusPacket.maximumSamples)), fec)
    guard result >= 0 else { throw CodecError(opus: result, operation: "opus_decode_float") }
    return Int(result)
  }

  private static var emptyPacket: CodecError {
    CodecError(library: .libopus, reason: .malformed, operation: "decode", text: "empty packet")
  }
}

extension CodecError {
  /// The error that a libopus call returned.
  init(opus result: Int32, operation: String, detail: String? = nil) {
    let reason: Reason =
      switch result {
      case OPUS_INVALID_PACKET: .malformed
      case OPUS_BAD_ARG, OPUS_BUFFER_TOO_SMALL: .invalidArgument
      case OPUS_ALLOC_FAIL: .outOfMemory
      default: .library
      }
    let text = opus_strerror(result).map { String(cString: $0) } ?? "error"
    self.init(
      library: .libopus, reason: reason, operation: operation, code: result, text: text, detail: detail)
  }
}
