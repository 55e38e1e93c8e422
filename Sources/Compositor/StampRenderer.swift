import CPango
import Glibc  // rounding is in libm, which only this import links
import Layouts

/// Draws stamps in the theme's look. Used only when something new appears; its works are cached.
final class StampRenderer {
  let theme: Theme
  let text: TextRenderer?
  private let images: ImageStore?
  /// The side of portraits as they are loaded.
  let portraitSide: Int

  init(theme: Theme, images: ImageStore? = nil, portraitSide: Int = 180) {
    self.theme = theme
    self.images = images
    self.portraitSide = portraitSide
    text = TextRenderer(families: theme.fontFamilies)
  }

  func draw(_ key: StampKey) -> Stamp? {
    switch key {
    case .label(let text, let fallback, let icon, let fontSize, let maximumWidth):
      label(readable(text, fallback), icon, fontSize: fontSize, maximumWidth: maximumWidth)
    case .lowerThird(let text, let fallback, let icon, let accent, let fontSize, let maximumWidth):
      lowerThird(readable(text, fallback), icon, accent: accent, fontSize: fontSize, maximumWidth: maximumWidth)
    case .name(let text, let fallback, let icon, let fontSize, let maximumWidth):
      name(readable(text, fallback), icon, fontSize: fontSize, maximumWidth: maximumWidth)
    case .marks(let isPinned, let isLowBandwidth, let size):
      marks(isPinned: isPinned, isLowBandwidth: isLowBandwidth, size: size)
    case .initials(let initials, let colour, let diameter): disc(initials, colour: colour, diameter: diameter)
    case .portrait(let source, let diameter): portrait(source, diameter: diameter)
    case .levelRing(let colour, let diameter, let step): levelRing(colour, diameter: diameter, step: step)
    case .text(let text, let tone, let fontSize, let maximumWidth):
      line(text, tone: tone, fontSize: fontSize, maximumWidth: maximumWidth)
    case .overlay(let text, let style, let maximumWidth): overlay(text, style, maximumWidth: maximumWidth)
    case .run(let text, let style): run(text, style)
    case .plate(let width, let height, let fontSize, let opacity):
      plate(width: width, height: height, fontSize: fontSize, opacity: opacity)
    case .image(let source, let form, let opacity):
      images?.image(source, form)?.drawing?.stamp(opacity: opacity)
    case .symbol(let symbol, let size): self.symbol(symbol, size: size)
    }
  }

  /// The name without what no font can show; when none of its letters is left, the fallback.
  private func readable(_ name: String, _ fallback: String) -> String {
    guard !name.isEmpty, let text else { return name }
    let drawable = text.drawable(name)
    if drawable == name || drawable.contains(where: { $0.isLetter || $0.isNumber }) { return drawable }
    return text.drawable(fallback)
  }

  /// Name and icon in one line, and how to draw it; nil when there is nothing to say or no room to say it.
  private func caption(
    _ name: String, _ icon: LabelIcon?, fontSize: Int, weight: TextRenderer.Weight, maximumWidth: Double
  ) -> (width: Double, draw: (_ drawing: Drawing, _ x: Double, _ middle: Double) -> Void)? {
    let size = Double(fontSize)
    let iconWidth = icon == nil ? 0 : (size * 1.25).rounded()
    let space = icon == nil || name.isEmpty ? 0 : (size * 0.3).rounded()
    let room = maximumWidth - iconWidth - space
    let line =
      name.isEmpty || room < size ? nil : text?.line(name, fontSize: fontSize, weight: weight, maximumWidth: Int(room))
    let textWidth = Double(line?.width ?? 0)
    guard line != nil || icon != nil, iconWidth <= maximumWidth else { return nil }
    let theme = theme
    return (
      iconWidth + (textWidth > 0 ? space + textWidth : 0),
      { drawing, x, middle in
        let y = middle - iconWidth / 2
        switch icon {
        case .muted: drawing.drawMutedMicrophone(x: x - size * 0.1, y: y, side: iconWidth, colour: theme.muted)
        case .screen: drawing.drawScreen(x: x, y: y, side: iconWidth, colour: theme.text)
        case nil: break
        }
        line?.draw(on: drawing, x: x + iconWidth + space, y: middle - Double(line?.height ?? 0) / 2, colour: theme.text)
      }
    )
  }

  private func label(_ name: String, _ icon: LabelIcon?, fontSize: Int, maximumWidth: Int) -> Stamp? {
    let size = Double(fontSize)
    let padding = (size * 0.55).rounded()
    guard
      let caption = caption(
        name, icon, fontSize: fontSize, weight: .medium, maximumWidth: Double(maximumWidth) - 2 * padding),
      let drawing = Drawing(width: Int(caption.width + 2 * padding), height: Int((size * 1.7).rounded()))
    else { return nil }
    drawPlate(on: drawing, radius: (size * 0.5).rounded())
    caption.draw(drawing, padding, Double(drawing.height) / 2)
    return drawing.stamp()
  }

  private func lowerThird(
    _ name: String, _ icon: LabelIcon?, accent: Colour, fontSize: Int, maximumWidth: Int
  ) -> Stamp? {
    let size = Double(fontSize)
    let stripe = max(4, (size * 0.28).rounded())
    let padding = (size * 0.8).rounded()
    guard
      let caption = caption(
        name, icon, fontSize: fontSize, weight: .semibold, maximumWidth: Double(maximumWidth) - 2 * padding - stripe),
      let drawing = Drawing(width: Int(caption.width + 2 * padding + stripe), height: Int((size * 2.1).rounded()))
    else { return nil }
    let (width, height) = (Double(drawing.width), Double(drawing.height))
    let radius = (size * 0.3).rounded()
    drawing.addRoundedRectangle(x: 0, y: 0, width: width, height: height, radius: radius)
    cairo_clip(drawing.context)
    drawing.fill(theme.label, alpha: min(1, theme.labelAlpha + 0.2))
    drawing.setColour(accent)
    cairo_rectangle(drawing.context, 0, 0, stripe, height)
    cairo_fill(drawing.context)
    caption.draw(drawing, stripe + padding, height / 2)
    return drawing.stamp()
  }

  private func name(_ name: String, _ icon: LabelIcon?, fontSize: Int, maximumWidth: Int) -> Stamp? {
    guard
      let caption = caption(name, icon, fontSize: fontSize, weight: .medium, maximumWidth: Double(maximumWidth)),
      let drawing = Drawing(width: Int(caption.width.rounded(.up)), height: fontSize * 8 / 5)
    else { return nil }
    caption.draw(drawing, 0, Double(drawing.height) / 2)
    return drawing.stamp()
  }

  private func marks(isPinned: Bool, isLowBandwidth: Bool, size: Int) -> Stamp? {
    let side = Double(size)
    let padding = (side * 0.3).rounded()
    let count = (isPinned ? 1 : 0) + (isLowBandwidth ? 1 : 0)
    let width = Double(count) * side + Double(count - 1) * padding + 2 * padding
    guard count > 0, let drawing = Drawing(width: Int(width), height: Int(side + 2 * padding)) else { return nil }
    drawPlate(on: drawing, radius: (side * 0.4).rounded())
    let y = (Double(drawing.height) - side) / 2
    var x = padding
    if isPinned {
      drawing.drawPin(x: x, y: y, side: side, colour: theme.text)
      x += side + padding
    }
    if isLowBandwidth { drawing.drawLowBandwidth(x: x, y: y, side: side, colour: theme.warning, faint: theme.text) }
    return drawing.stamp()
  }

  private func disc(_ initials: String, colour: Colour, diameter: Int) -> Stamp? {
    guard let drawing = Drawing(width: diameter, height: diameter) else { return nil }
    let middle = Double(drawing.width) / 2
    drawing.setColour(colour)
    cairo_arc(drawing.context, middle, middle, middle, 0, 2 * .pi)
    cairo_fill(drawing.context)
    let size = max(6, diameter * (initials.count > 1 ? 38 : 44) / 100)
    let line = initials.isEmpty ? nil : text?.line(initials, fontSize: size, weight: .semibold, maximumWidth: nil)
    if let line, line.isComplete {
      line.drawInkCentred(on: drawing, x: middle, y: middle, colour: theme.initials)
    } else {
      cairo_arc(drawing.context, middle, middle, middle, 0, 2 * .pi)
      cairo_clip(drawing.context)
      drawing.drawFigure(x: 0, y: 0, side: Double(drawing.width), colour: theme.initials)
    }
    return drawing.stamp()
  }

  private func portrait(_ source: ImageSource, diameter: Int) -> Stamp? {
    guard let image = images?.image(source, .square(portraitSide))?.drawing,
      let drawing = Drawing(width: diameter, height: diameter)
    else { return nil }
    let side = Double(drawing.width)
    cairo_arc(drawing.context, side / 2, side / 2, side / 2, 0, 2 * .pi)
    cairo_clip(drawing.context)
    // Images with transparency stand on the card's colour.
    drawing.fill(theme.tile)
    cairo_scale(drawing.context, side / Double(image.width), side / Double(image.height))
    drawing.paint(image)
    return drawing.stamp()
  }

  /// Two rings, the outer one fainter; the louder, the wider.
  private func levelRing(_ colour: Colour, diameter: Int, step: Int) -> Stamp? {
    // The widest is 5/16 wider than the disc.
    let share = Double(step) / Double(TileDesign.levelSteps)
    let outer = Double(diameter) * (1 + 5.0 / 16 * share)
    guard step > 0, let drawing = Drawing(width: Int(outer.rounded(.up)) + 2, height: Int(outer.rounded(.up)) + 2)
    else { return nil }
    let middle = Double(drawing.width) / 2
    for (radius, alpha) in [(outer / 2, 0.3), (Double(diameter) / 2 * (1 + 5.0 / 32 * share), 0.55)] {
      drawing.setColour(colour, alpha: alpha)
      cairo_arc(drawing.context, middle, middle, radius, 0, 2 * .pi)
      cairo_fill(drawing.context)
    }
    return drawing.stamp()
  }

  private func line(_ words: String, tone: TextTone, fontSize: Int, maximumWidth: Int) -> Stamp? {
    let padding = tone == .overlay ? fontSize * 3 / 4 : 0
    let weight: TextRenderer.Weight = tone == .count ? .semibold : .medium
    let isSecondary = tone == .reason || tone == .notice || tone == .detail
    let words = tone == .detail ? text?.drawable(words) ?? words : words
    guard maximumWidth - 2 * padding >= fontSize,
      let line = text?.line(words, fontSize: fontSize, weight: weight, maximumWidth: maximumWidth - 2 * padding),
      line.width > 0, let drawing = Drawing(width: line.width + 2 * padding, height: line.height + padding)
    else { return nil }
    if tone == .overlay { drawPlate(on: drawing, radius: Double(fontSize) / 2) }
    line.draw(
      on: drawing, x: Double(padding), y: Double(padding) / 2, colour: isSecondary ? theme.secondaryText : theme.text)
    return drawing.stamp()
  }

  private func symbol(_ symbol: Notice.Symbol, size: Int) -> Stamp? {
    guard symbol != .none, let drawing = Drawing(width: size, height: symbol == .people ? size * 3 / 4 : size) else {
      return nil
    }
    let side = Double(drawing.width)
    let colour = theme.secondaryText.mixed(with: theme.background, share: 64)
    switch symbol {
    case .none: break
    case .people: drawing.drawPeople(x: 0, y: 0, side: side, colour: colour)
    case .pause: drawing.drawPause(x: 0, y: 0, side: side, colour: colour)
    case .reconnecting: drawing.drawAgain(x: 0, y: 0, side: side, colour: colour)
    }
    return drawing.stamp()
  }

  /// Fills the drawing with a translucent plate.
  func drawPlate(on drawing: Drawing, radius: Double) {
    drawing.setColour(theme.label, alpha: theme.labelAlpha)
    drawing.addRoundedRectangle(
      x: 0, y: 0, width: Double(drawing.width), height: Double(drawing.height), radius: radius)
    cairo_fill(drawing.context)
  }
}
