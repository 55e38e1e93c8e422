import MediaCore

/// A shape with one span per row, in pixels of luma; may lie partly or wholly outside the picture.
enum Shape {
  case ellipse(x: Float, y: Float, rx: Float, ry: Float)
  case box(x: Float, y: Float, width: Float, height: Float, radius: Float)
  case triangle(x0: Float, y0: Float, x1: Float, y1: Float, x2: Float, y2: Float)

  /// First and last row that can be touched.
  var rows: (Float, Float) {
    switch self {
    case .ellipse(_, let y, _, let ry): (y - ry, y + ry)
    case .box(_, let y, _, let height, _): (y, y + height)
    case .triangle(_, let y0, _, let y1, _, let y2): (min(y0, y1, y2), max(y0, y1, y2))
    }
  }

  /// The span at height `at`; nothing when the left is not below the right.
  @inline(__always)
  func span(at: Float) -> (Float, Float) {
    switch self {
    case .ellipse(let x, let y, let rx, let ry):
      let d = (at - y) / ry
      let rest = 1 - d * d
      if rest <= 0 { return (0, 0) }
      let half = rx * rest.squareRoot()
      return (x - half, x + half)
    case .box(let x, let y, let width, let height, let radius):
      if at < y || at > y + height { return (0, 0) }
      let d = max(y + radius - at, at - (y + height - radius), 0)
      if d <= 0 { return (x, x + width) }
      let inset = radius - max(0, radius * radius - d * d).squareRoot()
      return (x + inset, x + width - inset)
    case .triangle(let x0, let y0, let x1, let y1, let x2, let y2):
      var left = Float.infinity
      var right = -Float.infinity
      @inline(__always)
      func edge(_ ax: Float, _ ay: Float, _ bx: Float, _ by: Float) {
        if (ay <= at && at < by) || (by <= at && at < ay) {
          let x = ax + (bx - ax) * (at - ay) / (by - ay)
          left = min(left, x)
          right = max(right, x)
        }
      }
      edge(x0, y0, x1, y1)
      edge(x1, y1, x2, y2)
      edge(x2, y2, x0, y0)
      return left < right ? (left, right) : (0, 0)
    }
  }
}

/// Draws shapes with smooth edges into a picture. Rows are filled by spans; only the edges are computed pixel by pixel.
struct Painter {
  let picture: Picture

  /// Fills a shape, as far as it lies inside `clip`. Opacity 0...256.
  func fill(_ shape: Shape, _ colour: YUVColour, opacity: Int = 256, inside clip: Shape? = nil) {
    let luma = Plane(
      base: picture.y, width: picture.width, height: picture.height, stride: picture.strideY, scale: 1)
    luma.fill(shape, clip, value: colour.y, opacity: opacity)
    let blue = Plane(
      base: picture.u, width: picture.chromaWidth, height: picture.chromaHeight, stride: picture.strideUV,
      scale: 0.5)
    blue.fill(shape, clip, value: colour.u, opacity: opacity)
    let red = Plane(
      base: picture.v, width: picture.chromaWidth, height: picture.chromaHeight, stride: picture.strideUV,
      scale: 0.5)
    red.fill(shape, clip, value: colour.v, opacity: opacity)
  }
}

/// One plane of a picture; `scale` is its size relative to luma.
private struct Plane {
  let base: UnsafeMutablePointer<UInt8>
  let width: Int
  let height: Int
  let stride: Int
  let scale: Float

  /// A span of one of the four lines that make up a row, in 1/256 of this plane's pixels.
  private struct Span {
    // Nothing, and to the right of everything.
    var left = 1 << 40
    var right = 0
    /// How much of the pixel is covered, 0...256.
    @inline(__always)
    func coverage(_ pixel: Int) -> Int {
      max(0, min(right, pixel * 256 + 256) - max(left, pixel * 256))
    }
  }

  @inline(__always)
  private func span(_ shape: Shape, _ clip: Shape?, at line: Float) -> Span {
    let at = line / scale
    var (left, right) = shape.span(at: at)
    if let clip {
      let (clipLeft, clipRight) = clip.span(at: at)
      left = max(left, clipLeft)
      right = min(right, clipRight)
    }
    guard left < right else { return Span() }
    let limit = Float(width)
    let from = min(max(left * scale, 0), limit)
    let to = min(max(right * scale, 0), limit)
    return Span(left: Int(from * 256), right: Int(to * 256))
  }

  func fill(_ shape: Shape, _ clip: Shape?, value: UInt8, opacity: Int) {
    let (top, bottom) = shape.rows
    let limit = Float(height)
    let first = Int(min(max((top * scale).rounded(.down), 0), limit))
    let last = Int(min(max((bottom * scale).rounded(.up), 0), limit))
    guard first < last else { return }
    for row in first..<last {
      let line = Float(row)
      let a = span(shape, clip, at: line + 0.125)
      let b = span(shape, clip, at: line + 0.375)
      let c = span(shape, clip, at: line + 0.625)
      let d = span(shape, clip, at: line + 0.875)
      paint(base + row * stride, a, b, c, d, value: value, opacity: opacity)
    }
  }

  @inline(__always)
  private func paint(
    _ pixels: UnsafeMutablePointer<UInt8>, _ a: Span, _ b: Span, _ c: Span, _ d: Span, value: UInt8, opacity: Int
  ) {
    let left = min(a.left, b.left, c.left, d.left)
    let right = max(a.right, b.right, c.right, d.right)
    guard left < right else { return }
    // Wholly covered pixels, when there are any.
    let solidFrom = (max(a.left, b.left, c.left, d.left) + 255) >> 8
    let solidTo = max(solidFrom, min(a.right, b.right, c.right, d.right) >> 8)
    var pixel = left >> 8
    let end = (right + 255) >> 8
    while pixel < end {
      if pixel == solidFrom, solidFrom < solidTo {
        if opacity >= 256 {
          (pixels + solidFrom).update(repeating: value, count: solidTo - solidFrom)
        } else {
          for index in solidFrom..<solidTo { blend(pixels + index, value, opacity) }
        }
        pixel = solidTo
        continue
      }
      let covered = a.coverage(pixel) + b.coverage(pixel) + c.coverage(pixel) + d.coverage(pixel)
      blend(pixels + pixel, value, covered * opacity >> 10)
      pixel += 1
    }
  }

  @inline(__always)
  private func blend(_ pixel: UnsafeMutablePointer<UInt8>, _ value: UInt8, _ alpha: Int) {
    let old = Int(pixel.pointee)
    pixel.pointee = UInt8(truncatingIfNeeded: old + ((Int(value) - old) * alpha + 128) >> 8)
  }
}

extension Picture {
  /// Copies another picture of the same size.
  func copyPlanes(of other: Picture) {
    guard width == other.width, height == other.height else { return }
    y.update(from: other.y, count: strideY * height)
    u.update(from: other.u, count: strideUV * chromaHeight)
    v.update(from: other.v, count: strideUV * chromaHeight)
  }

  /// Sets every pixel to what `colour` gives for its place: luma and chroma before rounding. Spread by a fixed
  /// pattern, so that soft slopes show no bands.
  func paint(_ colour: (_ x: Float, _ y: Float) -> (Float, Float, Float)) {
    func round(_ value: Float, _ x: Int, _ y: Int) -> UInt8 {
      // A 4x4 ordered dither.
      let pattern: [4 of UInt16] = [0x082A, 0xC4E6, 0x3B19, 0xF7D5]
      let threshold = Float(pattern[y & 3] >> UInt16(12 - 4 * (x & 3)) & 15) / 16 + 1 / 32
      return UInt8(min(max((value + threshold).rounded(.down), 0), 255))
    }
    for row in 0..<height {
      for column in 0..<width {
        y[row * strideY + column] = round(colour(Float(column) + 0.5, Float(row) + 0.5).0, column, row)
      }
    }
    for row in 0..<chromaHeight {
      for column in 0..<chromaWidth {
        let (_, blue, red) = colour(Float(column * 2 + 1), Float(row * 2 + 1))
        u[row * strideUV + column] = round(blue, column, row)
        v[row * strideUV + column] = round(red, column, row)
      }
    }
  }
}
