import CPango

/// Owns a Cairo surface and its context: transparent pixels to draw a stamp on.
final class Drawing {
  let context: OpaquePointer
  private let surface: OpaquePointer
  /// Even.
  let width: Int
  /// Even.
  let height: Int

  /// Sides are rounded up to even numbers of at least 2. Nil when there is no memory.
  init?(width: Int, height: Int) {
    self.width = max(2, (width + 1) & ~1)
    self.height = max(2, (height + 1) & ~1)
    guard let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(self.width), Int32(self.height)) else {
      return nil
    }
    guard cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS, let context = cairo_create(surface) else {
      cairo_surface_destroy(surface)
      return nil
    }
    self.surface = surface
    self.context = context
  }

  deinit {
    cairo_destroy(context)
    cairo_surface_destroy(surface)
  }

  /// What has been drawn, as a stamp.
  func stamp() -> Stamp? {
    cairo_surface_flush(surface)
    guard let pixels = cairo_image_surface_get_data(surface) else { return nil }
    return Stamp(
      premultiplied: pixels, stride: Int(cairo_image_surface_get_stride(surface)), width: width, height: height)
  }

  func setColour(_ colour: Colour, alpha: Double = 1) {
    cairo_set_source_rgba(
      context, Double(colour.red) / 255, Double(colour.green) / 255, Double(colour.blue) / 255, alpha)
  }

  /// Adds a rectangle with rounded corners to the path.
  func addRoundedRectangle(x: Double, y: Double, width: Double, height: Double, radius: Double) {
    let radius = max(0, min(radius, min(width, height) / 2))
    cairo_new_sub_path(context)
    cairo_arc(context, x + width - radius, y + radius, radius, -.pi / 2, 0)
    cairo_arc(context, x + width - radius, y + height - radius, radius, 0, .pi / 2)
    cairo_arc(context, x + radius, y + height - radius, radius, .pi / 2, .pi)
    cairo_arc(context, x + radius, y + radius, radius, .pi, 3 * .pi / 2)
    cairo_close_path(context)
  }

  /// A microphone with a stroke through it, in a square of `side`.
  func drawMutedMicrophone(x: Double, y: Double, side: Double, colour: Colour) {
    cairo_save(context)
    defer { cairo_restore(context) }
    cairo_translate(context, x, y)
    cairo_scale(context, side / 24, side / 24)
    setColour(colour)
    cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND)
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

  /// Head and shoulders, for somebody without a letter in their name, in a square of `side`.
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
}
