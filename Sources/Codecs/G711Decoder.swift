import MediaCore

/// Decodes one stream of G.711 (ITU-T G.711, RFC 3551 section 4.5.14): a byte is a sample of 8 kHz.
public final class G711Decoder: AudioDecoder {
  /// How a byte stands for a sample.
  public enum Law: Sendable {
    /// North America and Japan.
    case mu
    /// The rest of the world.
    case a
  }

  private static let muTable = (0...255).map { Float(muSample(UInt8($0))) / 32_768 }
  private static let aTable = (0...255).map { Float(aSample(UInt8($0))) / 32_768 }

  private let table: [Float]
  private var upsampler = Upsampler(factor: 6)

  /// Makes a decoder of a law; see the properties.
  public init(_ law: Law) { table = law == .mu ? Self.muTable : Self.aTable }

  /// Decodes one packet to stereo of 48 kHz; returns samples a channel. Throws when `buffer` is too short.
  public func decode(
    _ packet: UnsafeRawBufferPointer, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    let output = try AudioDecoders.room(for: packet.count * upsampler.factor, in: buffer, library: .g711)
    for (index, byte) in packet.enumerated() {
      upsampler.push(table[Int(byte)], to: output + index * upsampler.factor * 2)
    }
    return packet.count * upsampler.factor
  }

  /// Silence: G.711 has no state to go on from.
  public func restore(
    samples: Int, next: UnsafeRawBufferPointer?, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws(CodecError) -> Int {
    upsampler.reset()
    return 0
  }

  /// The sample, 16 bits, that a byte of the mu-law stands for.
  static func muSample(_ byte: UInt8) -> Int16 {
    let bits = Int16(~byte)
    let magnitude = ((bits & 0x0f) << 3 + 0x84) << ((bits & 0x70) >> 4) - 0x84
    return bits & 0x80 != 0 ? -magnitude : magnitude
  }

  /// The sample, 16 bits, that a byte of the A-law stands for.
  static func aSample(_ byte: UInt8) -> Int16 {
    let bits = Int16(byte ^ 0x55)
    let segment = (bits & 0x70) >> 4
    let mantissa = (bits & 0x0f) << 4
    let magnitude = segment == 0 ? mantissa + 0x08 : (mantissa + 0x108) << (segment - 1)
    return bits & 0x80 != 0 ? magnitude : -magnitude
  }
}
