import Glibc

/// Brings 48 kHz stereo to a rate that 48 kHz is a multiple of, in one channel or two: a low-pass (a sinc under Kaiser's window)
/// that keeps what the lower rate cannot hold 80 dB down. It is late by 16 samples of the output. Confined to one thread.
struct Downsampler {
  /// Samples of the input that become one: 1, 2, 3 or 6.
  let factor: Int
  /// 1 or 2; one is the mean of both.
  let channels: Int
  private let coefficients: [Float]
  /// Of each channel the newest samples of the input before this block, and then those of the block.
  private var lines: [[Float]]

  private static let reach = 16
  private static let kaiser = 7.857

  /// Makes a converter; the factor and the channels are brought into their ranges.
  init(factor: Int, channels: Int) {
    self.factor = [1, 2, 3, 6].contains(factor) ? factor : 1
    self.channels = min(max(channels, 1), 2)
    let half = self.factor == 1 ? 0 : Self.reach * self.factor
    // The edge lies where the transition to 80 dB ends at half of the lower rate.
    let edge = (1 - 5.0 / Double(2 * Self.reach)) / Double(self.factor)
    var coefficients = (-half...half).map { offset in
      let share = half == 0 ? 0 : Double(offset) / Double(half)
      let window = Self.bessel(Self.kaiser * (1 - share * share).squareRoot()) / Self.bessel(Self.kaiser)
      let phase = Double.pi * Double(offset) * edge
      return Float((offset == 0 ? 1 : sin(phase) / phase) * window)
    }
    let sum = coefficients.reduce(0, +)
    for index in coefficients.indices { coefficients[index] /= sum }
    self.coefficients = coefficients
    lines = [[Float]](repeating: [Float](repeating: 0, count: 2 * half), count: self.channels)
  }

  /// Converts a block of interleaved stereo, whose length is a multiple of the factor; hands each sample of the result to `body`,
  /// channels in turn.
  mutating func convert(_ samples: UnsafeBufferPointer<Float>, _ body: (Float) -> Void) {
    let count = samples.count / 2
    for channel in lines.indices {
      for index in 0..<count {
        let (left, right) = (samples[index * 2], samples[index * 2 + 1])
        lines[channel].append(channels == 1 ? (left + right) / 2 : channel == 0 ? left : right)
      }
    }
    for start in stride(from: 0, to: count - count % factor, by: factor) {
      for line in lines {
        var sum: Float = 0
        for (tap, coefficient) in coefficients.enumerated() { sum += coefficient * line[start + tap] }
        body(sum)
      }
    }
    for channel in lines.indices { lines[channel].removeFirst(count) }
  }

  /// The modified Bessel function of order 0.
  private static func bessel(_ x: Double) -> Double {
    var (sum, term) = (1.0, 1.0)
    for k in 1...30 {
      term *= (x / 2 / Double(k)) * (x / 2 / Double(k))
      sum += term
    }
    return sum
  }
}
