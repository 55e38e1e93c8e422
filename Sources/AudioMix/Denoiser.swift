import CSpeexDSP

/// Turns down what goes on and on behind a voice: fans, cars, hum. libspeexdsp learns what is there without a voice, and keeps
/// learning. Sound comes out `delay` samples later, both sides the same. Confined to one thread at a time; allocates nothing
/// after `init`.
final class Denoiser {
  /// Samples per channel that are looked at together: 10 ms. Longer ones take longer to learn, and leave more.
  private static let window = 480
  /// By how much noise is turned down at most: more takes words with it.
  private static let most: Int32 = -25
  /// Samples: half of the window with which libspeexdsp looks.
  static let delay = window

  private let state: OpaquePointer
  private let samples: UnsafeMutableBufferPointer<Int16>

  /// A denoiser that has heard nothing; nil when there is no memory.
  init?() {
    guard let state = recbot_denoiser_open(Int32(Self.window), Self.most) else { return nil }
    self.state = state
    samples = .allocate(capacity: Self.window)
    samples.initialize(repeating: 0)
  }

  deinit {
    speex_preprocess_state_destroy(state)
    samples.deallocate()
  }

  /// Puts in the place of what is there the same with less noise: interleaved stereo at 48 kHz, a multiple of 10 ms long; of any
  /// other length the rest stays as it is.
  func process(_ block: UnsafeMutableBufferPointer<Float>) {
    for start in stride(from: 0, through: block.count - 2 * Self.window, by: 2 * Self.window) {
      for index in samples.indices {
        let sample = (block[start + 2 * index] + block[start + 2 * index + 1]) / 2
        // What a decoder made of foreign bytes may be no number.
        samples[index] = sample.isFinite ? Int16((max(-1, min(sample, 1)) * 32_767).rounded()) : 0
      }
      _ = speex_preprocess_run(state, samples.baseAddress)
      for index in samples.indices {
        let sample = Float(samples[index]) / 32_767
        block[start + 2 * index] = sample
        block[start + 2 * index + 1] = sample
      }
    }
  }
}
