import CPango

/// Owns a Cairo surface and its context: transparent pixels to draw on.
final class Drawing {
  let context: OpaquePointer
  private let surface: OpaquePointer
  let width: Int
  let height: Int

  /// For a stamp: sides are rounded up to even numbers of at least 2. Nil when there is no memory.
  convenience init?(width: Int, height: Int) {
    self.init(exactWidth: max(2, (width &+ 1) & ~1), height: max(2, (height &+ 1) & ~1))
  }

  /// Of exactly that size. Nil when there is no memory, or the size is none.
  convenience init?(exactWidth width: Int, height: Int) {
    guard
      let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(clamping: width), Int32(clamping: height))
    else { return nil }
    self.init(adopting: surface)
  }

  /// Takes over an image surface, and destroys it when that fails.
  init?(adopting surface: OpaquePointer) {
    guard cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS, let context = cairo_create(surface) else {
      cairo_surface_destroy(surface)
      return nil
    }
    self.surface = surface
    self.context = context
    width = Int(cairo_image_surface_get_width(surface))
    height = Int(cairo_image_surface_get_height(surface))
  }

  deinit {
    cairo_destroy(context)
    cairo_surface_destroy(surface)
  }

  /// Bytes from one row to the next.
  var stride: Int { Int(cairo_image_surface_get_stride(surface)) }

  /// The pixels, up to date: in memory blue, green, red, alpha; colour is premultiplied. Whoever writes calls `markDirty`.
  var pixels: UnsafeMutablePointer<UInt8>? {
    cairo_surface_flush(surface)
    return cairo_image_surface_get_data(surface)
  }

  /// Says that `pixels` were written.
  func markDirty() { cairo_surface_mark_dirty(surface) }

  /// What has been drawn, as a stamp; `opacity` (of 255) makes it more transparent.
  func stamp(opacity: UInt8 = 255) -> Stamp? {
    guard let pixels else { return nil }
    return Stamp(premultiplied: pixels, stride: stride, width: width, height: height, opacity: opacity)
  }

  /// Paints all of it in one colour.
  func fill(_ colour: Colour, alpha: Double = 1) {
    setColour(colour, alpha: alpha)
    cairo_paint(context)
  }

  /// Paints another drawing over this one, in the units of the context.
  func paint(_ other: Drawing) {
    cairo_surface_flush(other.surface)
    cairo_set_source_surface(context, other.surface, 0, 0)
    cairo_paint(context)
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
}
