import CPango

/// Symbols, each in a square of `side` whose upper left corner is at (`x`, `y`), drawn on a grid of 24 x 24.
extension Drawing {
  private func inGrid(x: Double, y: Double, side: Double, _ draw: () -> Void) {
    cairo_save(context)
    cairo_translate(context, x, y)
    cairo_scale(context, side / 24, side / 24)
    cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND)
    cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND)
    draw()
    cairo_restore(context)
  }

  /// A microphone with a stroke through it.
  func drawMutedMicrophone(x: Double, y: Double, side: Double, colour: Colour) {
    inGrid(x: x, y: y, side: side) {
      // The stroke leaves a clear line beside it, so the whole is drawn as a group from which that line is cut.
      cairo_push_group(context)
      setColour(colour)
      addRoundedRectangle(x: 8.4, y: 2, width: 7.2, height: 12.4, radius: 3.6)
      cairo_fill(context)
      cairo_set_line_width(context, 2)
      cairo_arc(context, 12, 10.8, 6.6, 0, .pi)
      cairo_stroke(context)
      cairo_move_to(context, 12, 17.6)
      cairo_line_to(context, 12, 21.6)
      cairo_stroke(context)
      cairo_set_operator(context, CAIRO_OPERATOR_CLEAR)
      cairo_set_line_width(context, 6)
      cairo_move_to(context, 3.4, 2.6)
      cairo_line_to(context, 21, 20.2)
      cairo_stroke(context)
      cairo_set_operator(context, CAIRO_OPERATOR_OVER)
      cairo_set_line_width(context, 2.2)
      cairo_move_to(context, 3, 3)
      cairo_line_to(context, 21, 21)
      cairo_stroke(context)
      cairo_pop_group_to_source(context)
      cairo_paint(context)
    }
  }

  /// A screen on its stand.
  func drawScreen(x: Double, y: Double, side: Double, colour: Colour) {
    inGrid(x: x, y: y, side: side) {
      setColour(colour)
      cairo_set_line_width(context, 2)
      addRoundedRectangle(x: 2, y: 4, width: 20, height: 13, radius: 2.4)
      cairo_stroke(context)
      cairo_move_to(context, 8, 21)
      cairo_line_to(context, 16, 21)
      cairo_stroke(context)
    }
  }

  /// A drawing pin, leaning to the left.
  func drawPin(x: Double, y: Double, side: Double, colour: Colour) {
    inGrid(x: x, y: y, side: side) {
      setColour(colour)
      cairo_translate(context, 12, 12)
      cairo_rotate(context, .pi / 5)
      cairo_translate(context, -12, -12)
      addRoundedRectangle(x: 7, y: 1.6, width: 10, height: 2.8, radius: 1.4)
      cairo_fill(context)
      for (index, (px, py)) in [
        (9.0, 4.0), (15, 4), (15.6, 10.2), (18.2, 13.4), (18.2, 15), (5.8, 15), (5.8, 13.4), (8.4, 10.2),
      ]
      .enumerated() {
        if index == 0 { cairo_move_to(context, px, py) } else { cairo_line_to(context, px, py) }
      }
      cairo_close_path(context)
      cairo_fill(context)
      cairo_set_line_width(context, 1.8)
      cairo_move_to(context, 12, 15)
      cairo_line_to(context, 12, 22)
      cairo_stroke(context)
    }
  }

  /// Four bars of a narrow connection: one of them full.
  func drawLowBandwidth(x: Double, y: Double, side: Double, colour: Colour, faint: Colour) {
    inGrid(x: x, y: y, side: side) {
      for bar in 0..<4 {
        let height = 6 + 4.6 * Double(bar)
        setColour(bar == 0 ? colour : faint, alpha: bar == 0 ? 1 : 0.38)
        addRoundedRectangle(x: 1.6 + 5.5 * Double(bar), y: 21.6 - height, width: 4, height: height, radius: 1.3)
        cairo_fill(context)
      }
    }
  }

  /// Head and shoulders, for somebody without a letter in their name.
  func drawFigure(x: Double, y: Double, side: Double, colour: Colour) {
    setColour(colour)
    cairo_new_sub_path(context)
    cairo_arc(context, x + side / 2, y + side * 0.36, side * 0.19, 0, 2 * .pi)
    cairo_fill(context)
    cairo_new_sub_path(context)
    cairo_arc(context, x + side / 2, y + side * 0.98, side * 0.36, .pi, 2 * .pi)
    cairo_close_path(context)
    cairo_fill(context)
  }

  /// Two bars in a circle.
  func drawPause(x: Double, y: Double, side: Double, colour: Colour) {
    inGrid(x: x, y: y, side: side) {
      setColour(colour)
      cairo_set_line_width(context, 1.4)
      cairo_arc(context, 12, 12, 10.6, 0, 2 * .pi)
      cairo_stroke(context)
      for left in [8.4, 13.2] {
        addRoundedRectangle(x: left, y: 7.6, width: 2.4, height: 8.8, radius: 0.9)
        cairo_fill(context)
      }
    }
  }

  /// Two arrows that follow each other round: trying again.
  func drawAgain(x: Double, y: Double, side: Double, colour: Colour) {
    inGrid(x: x, y: y, side: side) {
      setColour(colour)
      cairo_set_line_width(context, 1.8)
      for half in 0..<2 {
        cairo_save(context)
        cairo_translate(context, 12, 12)
        cairo_rotate(context, Double(half) * .pi)
        cairo_arc(context, 0, 0, 8.4, -.pi * 0.92, -.pi * 0.2)
        cairo_stroke(context)
        let (tipX, tipY) = (8.4 * 0.809, -8.4 * 0.588)
        cairo_move_to(context, tipX + 1.4, tipY - 4.6)
        cairo_line_to(context, tipX + 0.5, tipY + 0.5)
        cairo_line_to(context, tipX - 4.6, tipY + 0.2)
        cairo_stroke(context)
        cairo_restore(context)
      }
    }
  }

  /// Three people side by side, the outer ones fainter.
  func drawPeople(x: Double, y: Double, side: Double, colour: Colour) {
    cairo_save(context)
    cairo_rectangle(context, x, y, side, side * 0.76)
    cairo_clip(context)
    for (left, size, alpha) in [(-0.06, 0.62, 0.45), (0.44, 0.62, 0.45), (0.12, 0.76, 1.0)] {
      cairo_push_group(context)
      drawFigure(x: x + side * left, y: y + side * (0.76 - size), side: side * size, colour: colour)
      cairo_pop_group_to_source(context)
      cairo_paint_with_alpha(context, alpha)
    }
    cairo_restore(context)
  }
}
