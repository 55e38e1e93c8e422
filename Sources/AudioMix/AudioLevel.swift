/// How loud a block of one track was, in dBov: decibels below the loudest that the format can hold (RFC 6464
/// section 3; 0 is a square wave of full scale, a full-scale sine has a root mean square of -3).
public struct AudioLevel: Hashable, Sendable {
  /// Mean square of all samples of the block, full scale 1.
  public var meanSquare: Float
  /// Largest magnitude of a sample, full scale 1.
  public var peak: Float

  /// No sound at all.
  public static let silence = AudioLevel(meanSquare: 0, peak: 0)

  /// Makes a level; see the properties.
  public init(meanSquare: Float, peak: Float) {
    self.meanSquare = meanSquare
    self.peak = peak
  }

  /// The level of a block of samples, full scale 1, whatever its channels.
  public init(of samples: UnsafeBufferPointer<Float>) {
    // Eight sums at once: one after the other, each addition waits for the one before.
    var (sums, peaks) = (SIMD8<Float>.zero, SIMD8<Float>.zero)
    let bytes = UnsafeRawBufferPointer(samples)
    let whole = samples.count & ~7
    for index in stride(from: 0, to: whole, by: 8) {
      let eight = bytes.loadUnaligned(fromByteOffset: index * MemoryLayout<Float>.stride, as: SIMD8<Float>.self)
      sums += eight * eight
      let magnitudes = unsafeBitCast(
        unsafeBitCast(eight, to: SIMD8<UInt32>.self) & 0x7FFF_FFFF, to: SIMD8<Float>.self)
      peaks.replace(with: magnitudes, where: magnitudes .> peaks)
    }
    var (sum, peak) = (sums.sum(), peaks.max())
    for sample in samples[whole...] {
      sum += sample * sample
      peak = max(peak, sample.magnitude)
    }
    self.init(meanSquare: samples.isEmpty ? 0 : sum / Float(samples.count), peak: peak)
  }

  /// Root mean square in dBov, -127...0.
  public var decibels: Float { max(-127, min(0, 3.010_3 * AudioLevel.log2(meanSquare))) }
  /// Peak in dBov, -127...0.
  public var peakDecibels: Float { max(-127, min(0, 6.020_6 * AudioLevel.log2(peak))) }
  /// What the RTP header extension for audio levels carries: -dBov, 0 (loudest) ... 127 (silence), RFC 6464.
  public var headerExtensionValue: UInt8 { UInt8(max(0, min(127, -decibels.rounded()))) }

  /// Base-2 logarithm, right to 0.0002 (0.001 dB); -1000 for what has none. The standard library has no logarithm.
  static func log2(_ value: Float) -> Float {
    guard value.isNormal, value > 0 else { return value == .infinity ? 128 : -1000 }
    // ln(m) = 2 artanh((m-1)/(m+1)), with the significand m brought around 1.
    var exponent = Float(value.exponent)
    var significand = value.significand
    if significand > 1.414_213_6 {
      significand /= 2
      exponent += 1
    }
    let t = (significand - 1) / (significand + 1)
    let t2 = t * t
    return exponent + t * (2.885_390_1 + t2 * (0.961_796_7 + t2 * 0.577_078_0))
  }
}
