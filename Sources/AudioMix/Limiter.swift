/// Keeps a mix below full scale without being heard: gain moves in straight lines between points 2.5 ms apart, down
/// in time for a peak within the same block, up again with a time constant of 150 ms. Adds no delay. Sound that
/// stays below the ceiling passes untouched, bit by bit.
///
/// A peak in the first 2.5 ms of a block can come too late for a straight line from the gain before; what is then
/// still above the ceiling is bent smoothly below full scale.
public struct Limiter: Sendable {
  /// Peaks are brought below this: -1 dBFS.
  public static let ceiling: Float = 0.891_250_9
  /// Samples between the points of the gain line: 2.5 ms.
  public static let stepSamples = 120
  // 1 - exp(-2.5 ms / 150 ms)
  private static let release: Float = 0.016_529

  /// The gain at the end of the last block, greater than 0 and at most 1.
  public private(set) var gain: Float = 1

  /// A limiter at rest.
  public init() {}

  /// Limits a block in place: interleaved stereo, of any length. Every result is within -1...1.
  public mutating func process(_ block: UnsafeMutableBufferPointer<Float>) {
    guard let base = block.baseAddress else { return }
    let count = block.count / 2
    var start = 0
    var allowed = Self.allowedGain(base, from: 0, count: min(Self.stepSamples, count))
    while start < count {
      let length = min(Self.stepSamples, count - start)
      let next = start + length
      let nextAllowed =
        next < count
        ? Self.allowedGain(base, from: next, count: min(Self.stepSamples, count - next)) : allowed
      let target = min(allowed, nextAllowed, gain + (1 - gain) * Self.release)
      // Close enough to 1 to end the release, which would never arrive there.
      let end = target > 0.9999 ? 1 : target
      if gain != 1 || end != 1 {
        let slope = (end - gain) / Float(length)
        for index in 0..<length {
          let factor = gain + slope * Float(index + 1)
          let at = (start + index) * 2
          base[at] = Self.bend(base[at] * factor)
          base[at + 1] = Self.bend(base[at + 1] * factor)
        }
        gain = end
      }
      allowed = nextAllowed
      start = next
    }
  }

  private static func allowedGain(_ base: UnsafeMutablePointer<Float>, from start: Int, count: Int) -> Float {
    var peak: Float = 0
    for index in (start * 2)..<((start + count) * 2) { peak = max(peak, base[index].magnitude) }
    return peak > ceiling ? ceiling / peak : 1
  }

  /// Unchanged up to the ceiling, then bending toward full scale without a corner.
  @inline(__always)
  private static func bend(_ value: Float) -> Float {
    let magnitude = value.magnitude
    if magnitude <= ceiling { return value }
    let room = 1 - ceiling
    let over = magnitude - ceiling
    let bent = min(1, ceiling + room * over / (over + room))
    return value < 0 ? -bent : bent
  }
}
