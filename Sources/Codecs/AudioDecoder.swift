public import MediaCore

/// Decodes one stream of sound to 48 kHz stereo, interleaved, full scale -1...1. Confined to one thread at a time.
public protocol AudioDecoder: AnyObject {
  /// Decodes one packet; `AudioDecoders.maximumBufferCount` floats always suffice.
  ///
  /// - Returns: samples per channel.
  /// - Throws: `malformed` for what is no packet, `invalidArgument` when the buffer is too small. The decoder stays usable.
  func decode(
    _ packet: UnsafeRawBufferPointer, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int

  /// Stands in for what was lost: by the copy that the packet after it may carry, else by what the codec makes of the sound
  /// before.
  ///
  /// - Parameters:
  ///   - samples: the length of what was lost, per channel.
  ///   - next: the packet directly after it, which must be decoded as usual afterwards; nil when it isn't there.
  ///   - buffer: takes the samples.
  /// - Returns: samples per channel; 0: the codec has nothing better than silence.
  func restore(
    samples: Int, next: UnsafeRawBufferPointer?, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int

  /// True when the packet carries a copy of the sound before it, by which `restore` brings that back.
  func carriesCopy(_ packet: UnsafeRawBufferPointer) -> Bool
}

extension AudioDecoder {
  /// Most codecs have no such copies.
  public func carriesCopy(_ packet: UnsafeRawBufferPointer) -> Bool { false }
}

/// The decoders of sound, a row for each codec of `CodecTable`.
public enum AudioDecoders {
  /// Samples per channel that a packet has at most: 200 ms of G.711 (RFC 3551 section 4.2); Opus has 120 ms.
  public static let maximumSamples = 9600
  /// Floats that a buffer must have to take any packet.
  public static let maximumBufferCount = maximumSamples * OpusDecoder.channels

  /// A decoder of a codec; nil when it carries no sound.
  /// - Throws: `outOfMemory` or `library`.
  public static func make(_ codec: Codec) throws(CodecError) -> (any AudioDecoder)? {
    switch codec {
    case .opus: try OpusDecoder()
    case .g722: try G722Decoder()
    case .pcmu: G711Decoder(.mu)
    case .pcma: G711Decoder(.a)
    case .vp8, .vp9, .h264, .av1, .h265: nil
    }
  }
}

extension AudioDecoders {
  /// Where the pairs of so many samples go.
  /// - Throws: `malformed` for none and for too many, `invalidArgument` when the buffer is too small.
  static func room(
    for samples: Int, in buffer: UnsafeMutableBufferPointer<Float>, library: CodecError.Library
  ) throws(CodecError) -> UnsafeMutablePointer<Float> {
    guard (1...maximumSamples).contains(samples) else {
      throw CodecError(
        library: library, reason: .malformed, operation: "decode", text: "not a packet of sound",
        detail: "\(samples) samples")
    }
    guard let base = buffer.baseAddress, buffer.count >= samples * 2 else {
      throw CodecError(library: library, reason: .invalidArgument, operation: "decode", text: "no room for the samples")
    }
    return base
  }
}

extension OpusDecoder: AudioDecoder {
  /// By in-band FEC (RFC 6716 section 2.1.7) when the next packet is here, else by concealment. As `AudioDecoder` says.
  public func restore(
    samples: Int, next: UnsafeRawBufferPointer?, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    guard let next, !next.isEmpty else { return try conceal(samples: samples, into: buffer) }
    return try decodeFEC(nextPacket: next, samples: samples, into: buffer)
  }

  /// In-band FEC. As `AudioDecoder` says.
  public func carriesCopy(_ packet: UnsafeRawBufferPointer) -> Bool { OpusPacket.carriesCopy(packet) }
}
