import CEBUR128

/// How loud a line of sound is: momentary loudness by EBU R 128 (ITU-R BS.1770), of 48 kHz stereo. Confined to one thread at a
/// time; allocates nothing after `init`.
final class LoudnessMeter {
  private let state: UnsafeMutablePointer<ebur128_state>

  /// A meter that has heard nothing; nil when there is no memory.
  init?() {
    guard let state = recbot_ebur128_open() else { return nil }
    self.state = state
  }

  deinit { recbot_ebur128_close(state) }

  /// Hears the next samples: interleaved stereo, full scale 1.
  func hear(_ samples: UnsafeBufferPointer<Float>) {
    // What fails here would fail for a number of channels only, and those are two.
    _ = ebur128_add_frames_float(state, samples.baseAddress, samples.count / 2)
  }

  /// The loudness of the last 400 ms, LUFS; minus infinity for silence.
  var momentary: Double { recbot_ebur128_momentary(state) }
}
