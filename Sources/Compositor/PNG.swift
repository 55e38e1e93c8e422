import CPango
import CYUV
import Glibc
import MediaCore

/// Writes a picture as a PNG file (an existing one is replaced). Slow: for posters and previews.
///
/// - Parameter mode: who may read and write a new file; by default only its owner, as with a recording.
public func writePNG(_ picture: Picture, path: String, mode: mode_t = 0o600) throws(CompositorError) {
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
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
  guard descriptor >= 0 else {
    throw CompositorError(description: "cannot write \(path): \(String(cString: strerror(errno)))")
  }
  var output = PNGOutput(descriptor: descriptor)
  let status = cairo_surface_write_to_png_stream(surface, { PNGOutput.take($0, $1, $2) }, &output)
  if close(descriptor) != 0, output.error == 0 { output.error = errno }
  guard status == CAIRO_STATUS_SUCCESS, output.error == 0 else {
    let reason = output.error != 0 ? String(cString: strerror(output.error)) : cairoMessage(status)
    throw CompositorError(description: "cannot write \(path): \(reason)")
  }
}

/// Where Cairo's bytes go.
private struct PNGOutput {
  let descriptor: Int32
  /// What made writing fail; 0: nothing did.
  var error: Int32 = 0

  static func take(
    _ closure: UnsafeMutableRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ count: UInt32
  ) -> cairo_status_t {
    guard let output = closure?.assumingMemoryBound(to: PNGOutput.self), let bytes else {
      return CAIRO_STATUS_WRITE_ERROR
    }
    var sent = 0
    while sent < Int(count) {
      let written = write(output.pointee.descriptor, bytes + sent, Int(count) - sent)
      if written < 0, errno == EINTR { continue }
      guard written > 0 else {
        output.pointee.error = errno
        return CAIRO_STATUS_WRITE_ERROR
      }
      sent += written
    }
    return CAIRO_STATUS_SUCCESS
  }
}

func cairoMessage(_ status: cairo_status_t) -> String {
  cairo_status_to_string(status).map { String(cString: $0) } ?? "unknown error"
}
