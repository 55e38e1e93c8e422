import MediaCore

/// Brings mono of 8 or 16 kHz to stereo of 48 kHz: a polyphase low-pass (a sinc under Kaiser's window, 32 taps a phase) that
/// lets samples of the input through as they are and keeps their mirror images 80 dB down. It is late by 16 samples of the
/// input: 1 or 2 ms.
struct Upsampler {
  /// Samples that one of the input becomes: 3 or 6.
  let factor: Int
  private static let taps = 32
  /// `taps` coefficients of each phase, the one for the newest sample first.
  private let phases: [Float]
  /// The newest samples twice over, so that the window from `newest` on is in one piece.
  private var line = [Float](repeating: 0, count: 2 * taps)
  private var newest = 0

  /// `factor`: 3 or 6.
  init(factor: Int) {
    self.factor = factor
    phases = factor == 3 ? Self.threefold : Self.sixfold
  }

  /// Made once for all tracks.
  private static let (threefold, sixfold) = (phases(of: 3), phases(of: 6))

  private static func phases(of factor: Int) -> [Float] {
    let centre = factor * taps / 2
    return (0..<factor).flatMap { phase in
      (0..<taps).map { coefficient(phase + $0 * factor - centre, of: centre, factor: factor) }
    }
  }

  /// Forgets the sound so far.
  mutating func reset() {
    for index in line.indices { line[index] = 0 }
  }

  /// Takes a sample, and writes `factor` pairs.
  mutating func push(_ sample: Float, to output: UnsafeMutablePointer<Float>) {
    newest = newest == 0 ? Self.taps - 1 : newest - 1
    line[newest] = sample
    line[newest + Self.taps] = sample
    for phase in 0..<factor {
      var sum: Float = 0
      for tap in 0..<Self.taps { sum += phases[phase * Self.taps + tap] * line[newest + tap] }
      output[phase * 2] = sum
      output[phase * 2 + 1] = sum
    }
  }

  /// The coefficient `offset` samples of the output away from the middle of a filter that reaches `reach` of them.
  private static func coefficient(_ offset: Int, of reach: Int, factor: Int) -> Float {
    let share = Float(offset) / Float(reach)
    let window = bessel(kaiser * (1 - share * share).squareRoot()) / bessel(kaiser)
    guard offset != 0 else { return window }
    let sine = sines[(offset % 12 + 12) * (6 / factor) % 12]
    return sine / (.pi * Float(offset) / Float(factor)) * window
  }

  /// For images 80 dB down (Kaiser, 1974).
  private static let kaiser: Float = 7.857

  /// Sines of 0, 30, 60 ... 330 degrees, which are all that a factor of 3 or 6 needs.
  private static let sines: [Float] = {
    let quarter: [Float] = [0, 0.5, 0.866_025_4, 1, 0.866_025_4, 0.5]
    return quarter + quarter.map { -$0 }
  }()

  /// The modified Bessel function of order 0.
  private static func bessel(_ x: Float) -> Float {
    var (sum, term): (Float, Float) = (1, 1)
    for k in 1...30 {
      term *= (x / 2 / Float(k)) * (x / 2 / Float(k))
      sum += term
    }
    return sum
  }
}
