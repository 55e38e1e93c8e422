@testable import AudioMix

/// A sine of `period` samples, both channels alike, as interleaved stereo. Turns a pointer by a fixed angle per sample.
func tone(count: Int, period: Float, phase: Float = 0, amplitude: Float = 0.5) -> [Float] {
  let turn = (Double(wave(1 / period + 0.25)), Double(wave(1 / period)))
  let start = Double(phase) / Double(period)
  var cosine = Double(wave(Float(start - start.rounded()) + 0.25))
  var sine = Double(wave(Float(start - start.rounded())))
  return [Float](unsafeUninitializedCapacity: count * 2) { out, filled in
    for index in 0..<count {
      out[index * 2] = amplitude * Float(sine)
      out[index * 2 + 1] = amplitude * Float(sine)
      (cosine, sine) = (cosine * turn.0 - sine * turn.1, sine * turn.0 + cosine * turn.1)
    }
    filled = count * 2
  }
}

/// Sine of an angle in turns, by Taylor's series.
func wave(_ turns: Float) -> Float {
  var x = Double(turns) - Double(turns).rounded()
  x *= 2 * Double.pi
  var term = x
  var sum = x
  for n in stride(from: 2.0, through: 20.0, by: 2) {
    term *= -x * x / (n * (n + 1))
    sum += term
  }
  return Float(sum)
}

extension AudioTrackTimeline {
  func insert(_ samples: [Float], at position: Int64) {
    samples.withUnsafeBufferPointer { insert($0, at: position) }
  }

  func read(_ count: Int) -> [Float] {
    var out = [Float](repeating: .nan, count: count * 2)
    out.withUnsafeMutableBufferPointer { read(into: $0) }
    return out
  }
}

extension Mixer {
  func insert(_ samples: [Float], at position: Int64, track: Track) {
    samples.withUnsafeBufferPointer { insert($0, at: position, track: track) }
  }

  func mix() -> [Float] {
    var out = [Float](repeating: .nan, count: blockSamples * 2)
    out.withUnsafeMutableBufferPointer { _ = mix(into: $0) }
    return out
  }
}

/// The left channel.
func left(_ samples: [Float]) -> [Float] { stride(from: 0, to: samples.count, by: 2).map { samples[$0] } }

/// The largest difference between neighbours.
func largestStep(_ samples: [Float]) -> Float {
  zip(samples, samples.dropFirst()).map { ($0 - $1).magnitude }.max() ?? 0
}
