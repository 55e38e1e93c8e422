import Glibc
import Testing

@testable import Recording

@Suite struct DownsamplerTests {
  /// Half a second of a tone of full scale in both channels, in blocks of 20 ms, converted; the last half of the first channel.
  private func converted(_ frequency: Double, factor: Int, channels: Int) -> [Float] {
    var downsampler = Downsampler(factor: factor, channels: channels)
    var result: [Float] = []
    for block in 0..<25 {
      let samples = (0..<960).flatMap { index -> [Float] in
        let value = Float(sin(2 * Double.pi * frequency * Double(block * 960 + index) / 48_000))
        return [value, value]
      }
      samples.withUnsafeBufferPointer { samples in downsampler.convert(samples) { result.append($0) } }
    }
    #expect(result.count == 24_000 / factor * channels)
    return stride(from: result.count / 2, to: result.count, by: channels).map { result[$0] }
  }

  private func decibels(_ samples: [Float]) -> Double {
    let power = samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(1, samples.count))
    return 10 * log10(max(power * 2, 1e-20))
  }

  @Test(arguments: [1, 2, 3, 6], [1, 2]) func speechPassesAsItIs(factor: Int, channels: Int) {
    #expect(abs(decibels(converted(1_000, factor: factor, channels: channels))) < 0.05)
    #expect(abs(decibels(converted(2_400, factor: factor, channels: channels))) < 0.1)
  }

  @Test(arguments: [2, 3, 6]) func whatTheLowerRateCannotHoldIsGone(factor: Int) {
    let half = 24_000 / Double(factor)
    #expect(decibels(converted(half * 1.02, factor: factor, channels: 1)) < -70)
    #expect(decibels(converted(min(half * 1.6, 23_000), factor: factor, channels: 1)) < -75)
  }

  @Test func oneChannelIsTheMeanOfBoth() {
    var downsampler = Downsampler(factor: 1, channels: 1)
    var result: [Float] = []
    [Float](arrayLiteral: 1, 0, 0.5, -0.5).withUnsafeBufferPointer { samples in
      downsampler.convert(samples) { result.append($0) }
    }
    #expect(result == [0.5, 0])
  }
}
