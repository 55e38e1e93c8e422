import CPango
import CYUV
import MediaCore

/// Writes a picture as a PNG file (an existing one is replaced). Slow: for posters and previews.
public func writePNG(_ picture: Picture, path: String) throws(CompositorError) {
  guard let surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(picture.width), Int32(picture.height)) else {
    throw CompositorError(description: "cannot write \(path): out of memory")
  }
  defer { cairo_surface_destroy(surface) }
  cairo_surface_flush(surface)
  guard let pixels = cairo_image_surface_get_data(surface) else {
    throw CompositorError(description: "cannot write \(path): \(cairoMessage(cairo_surface_status(surface)))")
  }
  // libyuv's ARGB is in memory order B, G, R, A: Cairo's 32-bit word on a little-endian machine.
  I420ToARGB(
    picture.y, Int32(picture.strideY), picture.u, Int32(picture.strideUV), picture.v, Int32(picture.strideUV), pixels,
    cairo_image_surface_get_stride(surface), Int32(picture.width), Int32(picture.height))
  cairo_surface_mark_dirty(surface)
  let status = cairo_surface_write_to_png(surface, path)
  guard status == CAIRO_STATUS_SUCCESS else {
    throw CompositorError(description: "cannot write \(path): \(cairoMessage(status))")
  }
}

func cairoMessage(_ status: cairo_status_t) -> String {
  cairo_status_to_string(status).map { String(cString: $0) } ?? "unknown error"
}
