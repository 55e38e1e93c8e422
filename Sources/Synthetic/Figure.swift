/// Head and shoulders, drawn from the back to the front. Lengths are in units of the picture's shorter side.
struct Figure {
  let appearance: Appearance
  let pose: Pose
  let unit: Float
  let centre: Float
  let middle: Float

  private func ellipse(_ x: Float, _ y: Float, _ rx: Float, _ ry: Float) -> Shape {
    .ellipse(x: centre + x * unit, y: middle + y * unit, rx: max(0.01, rx * unit), ry: max(0.01, ry * unit))
  }

  private func box(_ x: Float, _ y: Float, _ width: Float, _ height: Float, _ radius: Float) -> Shape {
    .box(
      x: centre + x * unit, y: middle + y * unit, width: width * unit, height: height * unit,
      radius: max(0.01, min(radius, width / 2, height / 2) * unit))
  }

  private var headX: Float { pose.headX }
  private var headY: Float { pose.headY - 0.04 }
  private var head: Shape { ellipse(headX, headY, 0.135, 0.175) }

  func draw(_ painter: Painter, bottom: Float) {
    drawBackHair(painter)
    drawBody(painter, bottom: (bottom - middle) / unit)
    drawHead(painter)
    drawFrontHair(painter)
    drawFace(painter)
  }

  private func drawBackHair(_ painter: Painter) {
    switch appearance.hair {
    case .long:
      painter.fill(box(headX - 0.175, headY - 0.205, 0.35, 0.44, 0.17), appearance.hairColour)
    case .bun:
      painter.fill(ellipse(headX + 0.01, headY - 0.215, 0.062, 0.058), appearance.hairColour)
      painter.fill(ellipse(headX, headY - 0.03, 0.148, 0.168), appearance.hairColour)
    case .short:
      painter.fill(ellipse(headX, headY - 0.035, 0.147, 0.165), appearance.hairColour)
    case .curly:
      for index in 0..<11 {
        let turns = 0.48 + Float(index) * 0.054
        let x = headX + 0.14 * cosine(turns: turns)
        let y = headY - 0.05 + 0.15 * sine(turns: turns)
        painter.fill(ellipse(x, y, 0.052, 0.05), appearance.hairColour)
      }
    case .none:
      break
    }
  }

  private func drawBody(_ painter: Painter, bottom: Float) {
    let sway = pose.headX * 0.3
    let top = 0.215 + pose.breath
    // The neck, in the shadow of the head.
    painter.fill(box(sway * 1.5 - 0.06, 0.06, 0.12, 0.24, 0.05), appearance.skinShade)
    let shoulders = box(sway - 0.33, top, 0.66, max(0.5, bottom - top + 0.2), 0.17)
    painter.fill(shoulders, appearance.shirt)
    // A darker far side and the arms' edges.
    painter.fill(ellipse(sway + 0.32, top + 0.36, 0.13, 0.36), appearance.shirtShade, opacity: 150, inside: shoulders)
    painter.fill(ellipse(sway - 0.37, top + 0.4, 0.11, 0.3), appearance.shirtShade, opacity: 110, inside: shoulders)
    // The collar and what shows of the neck in it.
    painter.fill(ellipse(sway, top + 0.008, 0.098, 0.062), appearance.shirtShade, inside: shoulders)
    painter.fill(ellipse(sway, top, 0.083, 0.05), appearance.skin)
    painter.fill(box(sway * 1.5 - 0.06, 0.1, 0.12, top - 0.1, 0.01), appearance.skin)
    painter.fill(
      ellipse(headX, headY + 0.055, 0.12, 0.165), appearance.skinShade,
      inside: box(sway * 1.5 - 0.06, 0.0, 0.12, 0.3, 0.01))
  }

  private func drawHead(_ painter: Painter) {
    let ears = headX - pose.turn * 0.5
    painter.fill(ellipse(ears - 0.134, headY + 0.01, 0.024, 0.036), appearance.skinShade)
    painter.fill(ellipse(ears + 0.134, headY + 0.01, 0.024, 0.036), appearance.skinShade)
    painter.fill(head, appearance.skin)
    // The side away from the light.
    painter.fill(ellipse(headX + 0.165, headY + 0.03, 0.085, 0.2), appearance.skinShade, opacity: 70, inside: head)
    if appearance.hasBeard {
      painter.fill(
        ellipse(headX + pose.turn, headY + 0.15, 0.15, 0.105), appearance.hairColour, opacity: 235, inside: head)
      painter.fill(
        ellipse(headX + pose.turn, headY + 0.062, 0.088, 0.05), appearance.skin, inside: head)
    }
  }

  private func drawFrontHair(_ painter: Painter) {
    let turn = pose.turn
    switch appearance.hair {
    case .long:
      painter.fill(ellipse(headX - 0.09 + turn * 0.5, headY - 0.165, 0.15, 0.1), appearance.hairColour, inside: head)
      painter.fill(ellipse(headX + 0.11 + turn * 0.5, headY - 0.15, 0.075, 0.13), appearance.hairColour, inside: head)
    case .bun:
      painter.fill(ellipse(headX + turn * 0.5, headY - 0.18, 0.16, 0.085), appearance.hairColour, inside: head)
    case .short:
      painter.fill(ellipse(headX - 0.04 + turn * 0.5, headY - 0.175, 0.15, 0.095), appearance.hairColour, inside: head)
      painter.fill(ellipse(headX + 0.1 + turn * 0.5, headY - 0.155, 0.06, 0.08), appearance.hairColour, inside: head)
    case .curly:
      for index in 0..<5 {
        let x = headX - 0.1 + Float(index) * 0.05 + turn * 0.5
        let rise: Float = index == 0 || index == 4 ? 0.03 : 0
        painter.fill(ellipse(x, headY - 0.15 + rise, 0.045, 0.045), appearance.hairColour)
      }
    case .none:
      break
    }
  }

  private func drawFace(_ painter: Painter) {
    let x = headX + pose.turn
    let y = headY + pose.nod
    let dark = YUVColour(hex: 0x2a2026)
    let white = YUVColour(hex: 0xf7f4f2)
    painter.fill(ellipse(x - 0.075, y + 0.05, 0.03, 0.022), YUVColour(hex: 0xe0705f), opacity: 46)
    painter.fill(ellipse(x + 0.075, y + 0.05, 0.03, 0.022), YUVColour(hex: 0xe0705f), opacity: 46)
    if appearance.hasGlasses {
      let frame = YUVColour(hex: 0x30333b)
      painter.fill(box(x - 0.02, y - 0.012, 0.04, 0.007, 0.003), frame)
      for side: Float in [-0.053, 0.053] {
        painter.fill(box(x + side - 0.04, y - 0.034, 0.08, 0.064, 0.026), frame)
        painter.fill(box(x + side - 0.033, y - 0.027, 0.066, 0.05, 0.021), appearance.skin)
        painter.fill(box(x + side - 0.033, y - 0.027, 0.066, 0.05, 0.021), white, opacity: 40)
      }
    }
    for side: Float in [-0.052, 0.052] {
      let height = 0.0145 * pose.eyes
      let eye = ellipse(x + side, y - 0.003, 0.0195, height)
      painter.fill(eye, white)
      painter.fill(ellipse(x + side + pose.turn * 0.3, y - 0.002, 0.0115, 0.0125), dark, inside: eye)
      painter.fill(ellipse(x + side + 0.004, y - 0.007, 0.0035, 0.0035), white, inside: eye)
      let brow = appearance.hair == .none ? dark : appearance.hairColour
      painter.fill(box(x + side - 0.026, y - 0.05 - pose.brows, 0.052, 0.0095, 0.005), brow, opacity: 215)
    }
    painter.fill(ellipse(x + pose.turn * 0.4, y + 0.044, 0.0165, 0.0115), appearance.skinShade, opacity: 190)
    drawMouth(painter, x: x, y: y + 0.093)
  }

  private func drawMouth(_ painter: Painter, x: Float, y: Float) {
    let open = pose.mouth * 0.8
    let inside = YUVColour(hex: 0x5b1f27)
    // A smile: the lower edge of one ellipse, above which the skin lies again.
    if open < 0.06 {
      let smile = ellipse(x, y - 0.012, 0.046, 0.023)
      painter.fill(smile, YUVColour(hex: 0x8c3b3d))
      painter.fill(ellipse(x, y - 0.019, 0.05, 0.0235), appearance.skin, inside: smile)
      return
    }
    let mouth = ellipse(x, y, 0.037 + 0.006 * open, 0.006 + 0.03 * open)
    painter.fill(ellipse(x, y, 0.043 + 0.006 * open, 0.012 + 0.03 * open), YUVColour(hex: 0xa8514f), opacity: 200)
    painter.fill(mouth, inside)
    painter.fill(ellipse(x, y + 0.03 * open + 0.004, 0.026, 0.016 * open), YUVColour(hex: 0xc76a68), inside: mouth)
    painter.fill(
      box(x - 0.03, y - 0.012 - 0.03 * open, 0.06, 0.012 + 0.012 * open, 0.003), YUVColour(hex: 0xf3efec),
      inside: mouth)
  }
}
