public import MediaCore

/// A shared screen: a presentation whose slides fill up line by line, with charts that grow and a pointer that moves.
/// For demos and tests. The same seed and frame give the same picture on every machine. Confined to one thread at a
/// time.
public final class SyntheticScreen {
  /// Width of the pictures, pixels.
  public let width: Int
  /// Height of the pictures, pixels.
  public let height: Int
  /// Frames per second that the motion is made for.
  public let framesPerSecond: Int
  /// Seconds that a slide stays.
  public static let slideSeconds = 7

  private let seed: UInt64
  private let base: Picture
  private var slide = -1

  private static let ink = YUVColour(hex: 0x2b3242)
  private static let faint = YUVColour(hex: 0xd5dae3)
  private static let paper = YUVColour(hex: 0xfcfcfd)
  private static let accents = [0x3b82f6, 0x10a37f, 0xe0792b, 0x8b5cf6].map { YUVColour(hex: $0) }

  /// Makes a screen; `framesPerSecond` is brought into 1...120.
  public init(seed: UInt64, width: Int = 1280, height: Int = 720, framesPerSecond: Int = 15) {
    self.seed = seed
    base = Picture(width: width, height: height)
    self.width = base.width
    self.height = base.height
    self.framesPerSecond = min(max(framesPerSecond, 1), 120)
  }

  /// Draws a frame. `picture` is overwritten; it must have the screen's size, else nothing is drawn.
  public func draw(frame: Int, into picture: Picture) {
    guard picture.width == width, picture.height == height else { return }
    let perSlide = framesPerSecond * Self.slideSeconds
    let number = max(0, frame) / perSlide
    if number != slide {
      paintBase(slide: number)
      slide = number
    }
    picture.copyPlanes(of: base)
    let time = Float(max(0, frame) % perSlide) / Float(framesPerSecond)
    let painter = Canvas(painter: Painter(picture: picture), unit: Float(height) / 720, width: Float(width))
    drawContent(painter, slide: number, time: time)
    drawPointer(painter, seconds: Float(max(0, frame) % (framesPerSecond * 3600)) / Float(framesPerSecond))
  }

  /// Draws in units of 1/720 of the height; the page is `pageWidth` units wide.
  private struct Canvas {
    let painter: Painter
    let unit: Float
    let width: Float
    var pageWidth: Float { width / unit }
    func box(_ x: Float, _ y: Float, _ w: Float, _ h: Float, _ r: Float, _ colour: YUVColour, opacity: Int = 256) {
      guard w > 0, h > 0 else { return }
      painter.fill(
        .box(x: x * unit, y: y * unit, width: w * unit, height: h * unit, radius: min(r, w / 2, h / 2) * unit), colour,
        opacity: opacity)
    }
    func circle(_ x: Float, _ y: Float, _ r: Float, _ colour: YUVColour) {
      painter.fill(.ellipse(x: x * unit, y: y * unit, rx: r * unit, ry: r * unit), colour)
    }
  }

  /// What stays the same for as long as the slide does.
  private func paintBase(slide: Int) {
    let height = Float(base.height)
    base.paint { x, y in
      let t = smoothStep(y / height)
      return YUVColour.components(0.17 - 0.06 * t, 0.21 - 0.07 * t, 0.31 - 0.1 * t)
    }
    let c = Canvas(painter: Painter(picture: base), unit: Float(base.height) / 720, width: Float(base.width))
    let page = c.pageWidth
    // The window: a shadow, a title bar with its buttons, the strip of slides.
    c.box(24, 30, page - 48, 670, 16, YUVColour(hex: 0x05070b), opacity: 90)
    c.box(28, 24, page - 56, 668, 14, YUVColour(hex: 0xeceff4))
    c.circle(54, 46, 7, YUVColour(hex: 0xee6a5f))
    c.circle(78, 46, 7, YUVColour(hex: 0xf5bd4f))
    c.circle(102, 46, 7, YUVColour(hex: 0x61c454))
    c.box(page / 2 - 90, 40, 180, 12, 6, YUVColour(hex: 0xaeb6c4))
    for index in 0..<5 {
      let top = 84 + Float(index) * 112
      if index == slide % 5 { c.box(44, top - 5, 158, 98, 10, Self.accents[slide % Self.accents.count]) }
      c.box(48, top, 150, 88, 7, Self.paper)
      c.box(60, top + 14, 64 + Float(index * 17 % 50), 9, 4, Self.faint)
      c.box(60, top + 34, 110, 5, 2, Self.faint)
      c.box(60, top + 46, 92, 5, 2, Self.faint)
      c.box(60, top + 58, 104, 5, 2, Self.faint)
    }
    // The slide itself.
    c.box(224, 78, page - 272, 588, 10, Self.paper)
  }

  private func drawContent(_ c: Canvas, slide: Int, time: Float) {
    var random = SeededRandom(seed: seed &+ UInt64(truncatingIfNeeded: slide) &* 0x1234_5677)
    func number(_ low: Float, _ high: Float) -> Float { low + (high - low) * Float(random.next() % 1024) / 1024 }
    let accent = Self.accents[slide % Self.accents.count]
    let left: Float = 268
    let right = c.pageWidth - 92
    let span = max(200, right - left)
    // Title and its underline.
    words(c, x: left, y: 122, limit: left + span * 0.62, height: 26, colour: Self.ink, shown: 1, &random)
    c.box(left, 166, 84 * smoothStep(time * 2), 6, 3, accent)
    // Points, one after another, each written from left to right.
    for line in 0..<5 {
      let shown = min(max((time - 0.5 - Float(line) * 0.9) / 0.8, 0), 1)
      let y = 214 + Float(line) * 84
      if shown > 0 { c.circle(left + 8, y + 8, 7, accent) }
      let limit = left + span * 0.54
      words(c, x: left + 34, y: y, limit: limit, height: 15, colour: Self.ink, shown: shown, &random)
      let rest = min(max((time - 0.9 - Float(line) * 0.9) / 0.8, 0), 1)
      words(
        c, x: left + 34, y: y + 28, limit: left + span * number(0.36, 0.5), height: 12,
        colour: YUVColour(hex: 0x9aa3b5), shown: rest, &random)
    }
    drawChart(c, x: left + span * 0.62, y: 214, width: span * 0.38, height: 380, accent: accent, time: time, &random)
  }

  /// A line of bars that look like words from afar; `shown` of it, 0...1.
  private func words(
    _ c: Canvas, x: Float, y: Float, limit: Float, height: Float, colour: YUVColour, shown: Float,
    _ random: inout SeededRandom
  ) {
    var at = x
    let stop = x + (limit - x) * shown
    while at < limit - height {
      let length = height * (1.6 + Float(random.next() % 1024) / 1024 * 4.2)
      let end = min(at + length, limit, stop)
      if end > at { c.box(at, y, end - at, height, height * 0.45, colour) }
      at += length + height * 0.7
    }
  }

  private func drawChart(
    _ c: Canvas, x: Float, y: Float, width: Float, height: Float, accent: YUVColour, time: Float,
    _ random: inout SeededRandom
  ) {
    c.box(x, y, width, height, 14, YUVColour(hex: 0xf1f4f9))
    for line in 1..<4 {
      c.box(x + 22, y + height * Float(line) / 4, width - 44, 2, 1, Self.faint)
    }
    let bars = 6
    let step = (width - 44) / Float(bars)
    for bar in 0..<bars {
      let value = 0.25 + 0.62 * Float(random.next() % 1024) / 1024
      let grown = smoothStep((time - 0.6 - Float(bar) * 0.22) / 1.1)
      let length = (height - 62) * value * grown
      let isLast = bar == bars - 1
      c.box(
        x + 22 + Float(bar) * step + step * 0.16, y + height - 30 - length, step * 0.68, length, 7, accent,
        opacity: isLast ? 256 : 150)
    }
    c.box(x + 22, y + height - 29, width - 44, 3, 1, YUVColour(hex: 0x9aa3b5))
  }

  /// The pointer goes from place to place and rests there.
  private func drawPointer(_ c: Canvas, seconds: Float) {
    let stay: Float = 2.6
    let leg = Int(seconds / stay)
    func place(_ index: Int) -> (Float, Float) {
      var random = SeededRandom(seed: seed ^ (UInt64(truncatingIfNeeded: index) &* 0x51ed_270b))
      let x = 300 + Float(random.next() % 1024) / 1024 * max(100, c.pageWidth - 480)
      return (x, 150 + Float(random.next() % 1024) / 1024 * 460)
    }
    let from = place(leg)
    let to = place(leg + 1)
    let t = smoothStep((seconds - Float(leg) * stay) / 1.1)
    let x = (from.0 + (to.0 - from.0) * t) * c.unit
    let y = (from.1 + (to.1 - from.1) * t) * c.unit
    let s = c.unit * 25
    arrow(c, x: x - s * 0.05, y: y - s * 0.09, size: s * 1.18, Self.paper)
    arrow(c, x: x, y: y, size: s, Self.ink)
  }

  private func arrow(_ c: Canvas, x: Float, y: Float, size s: Float, _ colour: YUVColour) {
    c.painter.fill(.triangle(x0: x, y0: y, x1: x, y1: y + s, x2: x + s * 0.72, y2: y + s * 0.72), colour)
  }
}
