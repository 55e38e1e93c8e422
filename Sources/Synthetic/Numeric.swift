/// Sine of an angle given in turns (1 is a full circle), right to 0.001. Of the standard library's arithmetic only, so
/// that the same seed gives the same picture and the same sound on every machine.
@inline(__always)
func sine(turns: Float) -> Float {
  let x = turns - turns.rounded(.down)
  let half: Float = x < 0.5 ? x : x - 0.5
  // A parabola through the half wave's zeros, refined once.
  let parabola = 16 * half * (0.5 - half)
  let refined = parabola * (0.775 + 0.225 * parabola)
  return x < 0.5 ? refined : -refined
}

/// Cosine of an angle in turns; see `sine`.
@inline(__always)
func cosine(turns: Float) -> Float { sine(turns: turns + 0.25) }

/// Cosine of a small angle in radians (up to 0.8), right to a millionth: what narrow filters need.
@inline(__always)
func cosine(smallRadians x: Float) -> Float {
  let x2 = x * x
  return 1 - x2 * (0.5 - x2 * (0.041_666_67 - x2 * 0.001_388_89))
}

/// e to the power x for small x (-0.5...0.5), right to 0.00002.
@inline(__always)
func exponential(small x: Float) -> Float { 1 + x * (1 + x * (0.5 + x * (0.166_667 + x * 0.041_667))) }

/// Rises smoothly from 0 (at 0 and below) to 1 (at 1 and above).
@inline(__always)
func smoothStep(_ x: Float) -> Float {
  let t = min(max(x, 0), 1)
  return t * t * (3 - 2 * t)
}

/// A colour as pictures hold it: BT.601, limited range.
struct YUVColour: Hashable {
  var y: UInt8
  var u: UInt8
  var v: UInt8

  /// From red, green and blue, 0...1; values outside are brought inside.
  init(_ red: Float, _ green: Float, _ blue: Float) {
    let (y, u, v) = YUVColour.components(red, green, blue)
    self.y = UInt8(min(max(y.rounded(), 16), 235))
    self.u = UInt8(min(max(u.rounded(), 16), 240))
    self.v = UInt8(min(max(v.rounded(), 16), 240))
  }

  /// From 0xRRGGBB.
  init(hex: Int) {
    self.init(Float(hex >> 16 & 255) / 255, Float(hex >> 8 & 255) / 255, Float(hex & 255) / 255)
  }

  /// Unrounded luma and chroma of red, green and blue, 0...1.
  static func components(_ red: Float, _ green: Float, _ blue: Float) -> (Float, Float, Float) {
    let r = min(max(red, 0), 1)
    let g = min(max(green, 0), 1)
    let b = min(max(blue, 0), 1)
    return (
      16 + 65.481 * r + 128.553 * g + 24.966 * b,
      128 - 37.797 * r - 74.203 * g + 112 * b,
      128 + 112 * r - 93.786 * g - 18.214 * b
    )
  }

  /// Red, green and blue of a hue (in turns), a saturation and a value, 0...1.
  static func rgb(hue: Float, saturation: Float, value: Float) -> (Float, Float, Float) {
    func channel(_ offset: Float) -> Float {
      let k = (offset + hue * 6).truncatingRemainder(dividingBy: 6)
      return value - value * saturation * max(0, min(k, 4 - k, 1))
    }
    return (channel(5), channel(3), channel(1))
  }

  /// From a hue (in turns), a saturation and a value, 0...1.
  init(hue: Float, saturation: Float, value: Float) {
    let (r, g, b) = YUVColour.rgb(hue: hue, saturation: saturation, value: value)
    self.init(r, g, b)
  }
}
