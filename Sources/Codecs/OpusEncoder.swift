internal import COpus

/// How libopus encodes. The defaults are for a mixed recording.
public struct OpusEncoderSettings: Hashable, Sendable {
  /// Target rate, bits per second, 6000...510000.
  public var bitrate = 96_000
  /// Effort, 0...10.
  public var complexity = 9
  /// Variable bit rate.
  public var isVariableBitrate = true
  /// Packets carry a coarse copy of the one before (RFC 6716 section 2.1.7): for publishers on a lossy network.
  public var isForwardErrorCorrecting = false
  /// Percentage of packets expected to be lost, 0...100; decides how many bits that copy gets.
  public var expectedLossPercent = 0
  /// Silence is sent as a packet every 400 ms (RFC 6716 section 2.1.9): for publishers, never for a recording.
  public var isDiscontinuous = false
  /// Tuned for speech alone instead of any sound.
  public var isForSpeech = false
  /// The defaults.
  public init() {}
}

/// Encodes 48 kHz stereo as Opus (RFC 6716) with libopus, in frames of 20 ms. Owns the library's state; confined to
/// one thread at a time.
public final class OpusEncoder {
  /// Channels of the input.
  public static let channels = 2
  /// Samples per channel of a frame: 20 ms.
  public static let frameSamples = 960
  /// The longest packet that a 20 ms frame can become, bytes (RFC 6716 section 3.4).
  public static let maximumPacketSize = 1275
  /// With discontinuous transmission, a packet of at most so many bytes need not be sent.
  public static let silenceSize = 2
  /// Samples at 48 kHz by which the decoded sound is late: what a player has to skip at the start.
  public let preSkip: Int

  private let state: OpaquePointer

  /// Makes an encoder.
  /// - Throws: `invalidArgument`, `outOfMemory` or `library`.
  public init(settings: OpusEncoderSettings = .init()) throws(CodecError) {
    var result: Int32 = 0
    let application = settings.isForSpeech ? OPUS_APPLICATION_VOIP : OPUS_APPLICATION_AUDIO
    guard let state = opus_encoder_create(48_000, Int32(Self.channels), application, &result), result == OPUS_OK
    else { throw CodecError(opus: result, operation: "opus_encoder_create") }
    var lookahead: Int32 = 0
    let calls: [(String, Int32)] = [
      ("OPUS_SET_BITRATE", recbot_opus_encoder_set_bitrate(state, clamp(settings.bitrate, 6000, 510_000))),
      ("OPUS_SET_COMPLEXITY", recbot_opus_encoder_set_complexity(state, clamp(settings.complexity, 0, 10))),
      ("OPUS_SET_VBR", recbot_opus_encoder_set_vbr(state, settings.isVariableBitrate ? 1 : 0)),
      ("OPUS_SET_INBAND_FEC", recbot_opus_encoder_set_fec(state, settings.isForwardErrorCorrecting ? 1 : 0)),
      (
        "OPUS_SET_PACKET_LOSS_PERC",
        recbot_opus_encoder_set_expected_loss(state, clamp(settings.expectedLossPercent, 0, 100))
      ),
      ("OPUS_SET_DTX", recbot_opus_encoder_set_dtx(state, settings.isDiscontinuous ? 1 : 0)),
      ("OPUS_GET_LOOKAHEAD", recbot_opus_encoder_get_lookahead(state, &lookahead)),
    ]
    if let failed = calls.first(where: { $0.1 != OPUS_OK }) {
      opus_encoder_destroy(state)
      throw CodecError(opus: failed.1, operation: failed.0)
    }
    self.state = state
    preSkip = Int(lookahead)
  }

  deinit { opus_encoder_destroy(state) }

  /// The stream's identification header, for the container.
  public var head: OpusHead { OpusHead(channels: Self.channels, preSkip: preSkip) }

  /// Encodes 20 ms.
  ///
  /// - Parameters:
  ///   - samples: `frameSamples` x 2 floats, interleaved, full scale -1...1.
  ///   - packet: takes the packet; `maximumPacketSize` bytes always suffice.
  /// - Returns: the packet's length in bytes; see `silenceSize`.
  /// - Throws: `invalidArgument` for buffers of the wrong size, `library`.
  public func encode(
    _ samples: UnsafeBufferPointer<Float>, into packet: UnsafeMutableRawBufferPointer
  ) throws(CodecError) -> Int {
    guard samples.count == Self.frameSamples * Self.channels, let input = samples.baseAddress, packet.count > 0,
      let output = packet.bindMemory(to: UInt8.self).baseAddress
    else {
      throw CodecError(
        library: .libopus, reason: .invalidArgument, operation: "encode", text: "buffer of the wrong size",
        detail: "\(samples.count) samples, \(packet.count) bytes")
    }
    let room = Int32(min(packet.count, Self.maximumPacketSize))
    let result = opus_encode_float(state, input, Int32(Self.frameSamples), output, room)
    guard result >= 0 else { throw CodecError(opus: result, operation: "opus_encode_float") }
    return Int(result)
  }

  /// Changes the target rate from the next frame on, bits per second; brought into 6000...510000.
  public func setBitrate(_ bitsPerSecond: Int) {
    _ = recbot_opus_encoder_set_bitrate(state, clamp(bitsPerSecond, 6000, 510_000))
  }
}

private func clamp(_ value: Int, _ low: Int, _ high: Int) -> Int32 { Int32(min(max(value, low), high)) }
