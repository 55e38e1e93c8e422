import CPango
import Glibc  // rounding is in libm, which only this import links

/// Draws stamps in the theme's look. Used only when something new appears; its works are cached.
final class Artist {
  let theme: Theme
  private let text: TextRenderer?

  init(theme: Theme) {
    self.theme = theme
    text = TextRenderer(families: theme.fontFamilies)
  }

  func draw(_ key: StampKey) -> Stamp? {
    switch key {
    case .label(let text, let isMuted, let fontSize, let maximumWidth):
      label(text, isMuted: isMuted, fontSize: fontSize, maximumWidth: maximumWidth)
    case .avatar(let initials, let colour, let diameter):
      avatar(initials, colour: colour, diameter: diameter)
    case .text(let text, let tone, let fontSize, let maximumWidth):
      line(text, tone: tone, fontSize: fontSize, maximumWidth: maximumWidth)
    case .corner(let corner, let radius, let ring):
      self.corner(corner, radius: radius, ring: ring)
    }
  }

  private func label(_ name: String, isMuted: Bool, fontSize: Int, maximumWidth: Int) -> Stamp? {
    let size = Double(fontSize)
    let padding = (size * 0.55).rounded()
    let icon = isMuted ? (size * 1.25).rounded() : 0
    let space = isMuted && !name.isEmpty ? (size * 0.3).rounded() : 0
    let room = Double(maximumWidth) - 2 * padding - icon - space
    let line =
      name.isEmpty || room < size
      ? nil : text?.line(name, fontSize: fontSize, weight: .medium, maximumWidth: Int(room))
    guard line != nil || isMuted else { return nil }
    let width = 2 * padding + icon + (line.map { space + Double($0.width) } ?? 0)
    let height = (size * 1.7).rounded()
    guard width <= Double(maximumWidth), let drawing = Drawing(width: Int(width), height: Int(height)) else {
      return nil
    }
    drawing.setColour(theme.label, alpha: 0.62)
    drawing.addRoundedRectangle(
      x: 0, y: 0, width: Double(drawing.width), height: Double(drawing.height), radius: (size * 0.5).rounded())
    cairo_fill(drawing.context)
    if isMuted {
      let y = (Double(drawing.height) - icon) / 2
      drawing.drawMutedMicrophone(x: padding - icon * 0.08, y: y, side: icon, colour: theme.muted)
    }
    line?.draw(
      on: drawing, x: padding + icon + space, y: (Double(drawing.height) - Double(line?.height ?? 0)) / 2,
      colour: theme.text)
    return drawing.stamp()
  }

  private func avatar(_ initials: String, colour: Colour, diameter: Int) -> Stamp? {
    guard let drawing = Drawing(width: diameter, height: diameter) else { return nil }
    let middle = Double(drawing.width) / 2
    drawing.setColour(colour)
    cairo_arc(drawing.context, middle, middle, middle, 0, 2 * .pi)
    cairo_fill(drawing.context)
    let size = max(6, diameter * (initials.count > 1 ? 38 : 44) / 100)
    let line = initials.isEmpty ? nil : text?.line(initials, fontSize: size, weight: .semibold, maximumWidth: nil)
    if let line, line.isComplete {
      line.drawInkCentred(on: drawing, x: middle, y: middle, colour: theme.text)
    } else {
      cairo_arc(drawing.context, middle, middle, middle, 0, 2 * .pi)
      cairo_clip(drawing.context)
      drawing.drawFigure(x: 0, y: 0, side: Double(drawing.width), colour: theme.text)
    }
    return drawing.stamp()
  }

  private func line(_ words: String, tone: TextTone, fontSize: Int, maximumWidth: Int) -> Stamp? {
    let padding = tone == .overlay ? fontSize * 3 / 4 : 0
    let weight: TextRenderer.Weight = tone == .count ? .semibold : .medium
    let colour = tone == .reason || tone == .notice ? theme.secondaryText : theme.text
    guard maximumWidth - 2 * padding >= fontSize,
      let line = text?.line(words, fontSize: fontSize, weight: weight, maximumWidth: maximumWidth - 2 * padding),
      line.width > 0, let drawing = Drawing(width: line.width + 2 * padding, height: line.height + padding)
    else { return nil }
    if tone == .overlay {
      drawing.setColour(theme.label, alpha: 0.62)
      drawing.addRoundedRectangle(
        x: 0, y: 0, width: Double(drawing.width), height: Double(drawing.height), radius: Double(fontSize) / 2)
      cairo_fill(drawing.context)
    }
    line.draw(on: drawing, x: Double(padding), y: Double(padding) / 2, colour: colour)
    return drawing.stamp()
  }

  /// The background outside the rounding, the outline along it, and nothing inside. Every pixel of the edge is a mix
  /// of its two neighbours, never of three.
  private func corner(_ corner: Corner, radius: Int, ring: Int) -> Stamp? {
    let side = max(radius, ring)
    guard side > 0, let drawing = Drawing(width: side, height: side) else { return nil }
    // A tile so large that only the wanted corner lies on the stamp.
    let tile = Double(4 * drawing.width)
    let x = corner.isLeft ? 0 : Double(drawing.width) - tile
    let y = corner.isUpper ? 0 : Double(drawing.height) - tile
    drawing.setColour(theme.background)
    cairo_paint(drawing.context)
    if ring > 0 {
      drawing.setColour(theme.talker)
      drawing.addRoundedRectangle(x: x, y: y, width: tile, height: tile, radius: Double(radius))
      cairo_fill(drawing.context)
    }
    let inset = Double(ring)
    cairo_set_operator(drawing.context, CAIRO_OPERATOR_DEST_OUT)
    drawing.addRoundedRectangle(
      x: x + inset, y: y + inset, width: tile - 2 * inset, height: tile - 2 * inset,
      radius: Double(radius) - inset)
    cairo_fill(drawing.context)
    return drawing.stamp()
  }
}
