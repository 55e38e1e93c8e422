import CPango
import Glibc
import Layouts

/// The words of overlays.
extension StampRenderer {
  /// Columns between an overlay's words and the edges of its plate.
  static func padding(_ style: OverlayStyle) -> Int { style.hasPlate ? (style.fontSize * 5 / 8 + 1) & ~1 : 0 }

  /// Rows of an overlay's words.
  static func height(_ style: OverlayStyle) -> Int { (style.fontSize * (style.hasPlate ? 17 : 14) / 10 + 1) & ~1 }

  /// Words in one line, with their plate, shortened to fit.
  func overlay(_ words: String, _ style: OverlayStyle, maximumWidth: Int) -> Stamp? {
    let padding = StampRenderer.padding(style)
    guard let text, maximumWidth - 2 * padding >= style.fontSize else { return nil }
    guard
      let line = text.line(
        text.drawable(words), fontSize: style.fontSize, weight: .medium, maximumWidth: maximumWidth - 2 * padding),
      line.width > 0, let drawing = Drawing(width: line.width + 2 * padding, height: StampRenderer.height(style))
    else { return nil }
    if style.hasPlate { drawPlate(on: drawing, radius: Double(style.fontSize) * 0.5) }
    draw(line, on: drawing, x: Double(padding), style)
    return drawing.stamp(opacity: style.opacity)
  }

  /// A digit, or what stands between digits. Every run of a style has the same height, and its width is the columns to
  /// the next run.
  func run(_ words: String, _ style: OverlayStyle) -> Stamp? {
    guard
      let line = text?.line(
        words, fontSize: style.fontSize, weight: .medium, maximumWidth: nil, hasEvenDigits: true),
      line.exactWidth > 0
    else { return nil }
    let width = max(2, 2 * Int((line.exactWidth / 2).rounded()))
    guard let drawing = Drawing(width: width, height: StampRenderer.height(style)) else { return nil }
    draw(line, on: drawing, x: (Double(width) - line.exactWidth) / 2, style)
    return drawing.stamp(opacity: style.opacity)
  }

  /// The plate behind runs.
  func plate(width: Int, height: Int, fontSize: Int, opacity: UInt8) -> Stamp? {
    guard let drawing = Drawing(width: width, height: height) else { return nil }
    drawPlate(on: drawing, radius: Double(fontSize) * 0.5)
    return drawing.stamp(opacity: opacity)
  }

  private func draw(_ line: TextRenderer.Line, on drawing: Drawing, x: Double, _ style: OverlayStyle) {
    let y = (Double(drawing.height) - Double(line.height)) / 2
    if !style.hasPlate {
      // A soft edge in the opposite tone, so that the words can be read on any picture.
      let isLight = style.colour.yuv.y > 125
      line.drawOutline(
        on: drawing, x: x, y: y, colour: Colour(isLight ? 0x000000 : 0xffffff), alpha: 0.5,
        width: max(2, Double(style.fontSize) * 0.16))
    }
    line.draw(on: drawing, x: x, y: y, colour: style.colour)
  }
}
