import CJPEG
import CPango
import CYUV
import Layouts
import MediaCore

/// An image that cannot be used, with the reason for people.
struct ImageError: Error, Hashable, CustomStringConvertible {
  var description: String
}

/// Decodes PNG and JPEG. Nothing is decoded before its size is known to be within bounds.
struct ImageDecoder {
  /// Larger pictures are refused: their pixels would take more than 64 MiB.
  static let maximumPixels = 4096 * 4096
  static let maximumSide = 16_384

  /// The pixels of a PNG or JPEG file, as it is to be seen (a JPEG's orientation is applied), on a Cairo surface.
  ///
  /// - Parameter smallestSide: JPEG is decoded at a half, quarter or eighth as long as both sides stay at least so long.
  func decode(_ bytes: [UInt8], smallestSide: Int) throws(ImageError) -> Drawing {
    if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) { return try png(bytes) }
    if bytes.starts(with: [0xff, 0xd8, 0xff]) { return try jpeg(bytes, smallestSide: smallestSide) }
    throw ImageError(description: "is neither PNG nor JPEG")
  }

  private func check(width: Int, height: Int) throws(ImageError) {
    guard width > 0, height > 0 else { throw ImageError(description: "has no pixels") }
    guard width <= Self.maximumSide, height <= Self.maximumSide, width * height <= Self.maximumPixels else {
      throw ImageError(
        description: "is too large: \(width)x\(height), at most \(Self.maximumPixels) pixels are allowed")
    }
  }

  private func png(_ bytes: [UInt8]) throws(ImageError) -> Drawing {
    // The size stands at a fixed place: the IHDR chunk is the first (PNG, section 5.6).
    guard bytes.count >= 33, bytes[12..<16].elementsEqual("IHDR".utf8) else {
      throw ImageError(description: "is a damaged PNG")
    }
    try check(width: Self.number(bytes, 16), height: Self.number(bytes, 20))
    guard let bytes = Self.pictureChunks(of: bytes) else { throw ImageError(description: "is a damaged PNG") }
    final class Source {
      let bytes: [UInt8]
      var position = 0
      init(_ bytes: [UInt8]) { self.bytes = bytes }
    }
    let source = Source(bytes)
    let surface = withExtendedLifetime(source) {
      cairo_image_surface_create_from_png_stream(
        { closure, target, count in
          guard let closure, let target else { return CAIRO_STATUS_READ_ERROR }
          let source = Unmanaged<Source>.fromOpaque(closure).takeUnretainedValue()
          guard source.position + Int(count) <= source.bytes.count else { return CAIRO_STATUS_READ_ERROR }
          source.bytes.withUnsafeBufferPointer { buffer in
            if let base = buffer.baseAddress { target.update(from: base + source.position, count: Int(count)) }
          }
          source.position += Int(count)
          return CAIRO_STATUS_SUCCESS
        }, Unmanaged.passUnretained(source).toOpaque())
    }
    guard let surface, let drawing = Drawing(adopting: surface) else {
      throw ImageError(description: "is a damaged PNG")
    }
    return drawing
  }

  /// A PNG of only the chunks that make the picture; nil when they are cut off. Texts and profiles are left out: libpng
  /// would unpack a thousand of them, to 8 MB each, and keep them (PNG, sections 4.7 and 11.3).
  static func pictureChunks(of bytes: [UInt8]) -> [UInt8]? {
    var result = Array(bytes.prefix(8))
    result.reserveCapacity(bytes.count)
    var at = 8
    while bytes.count - at >= 12 {
      let length = number(bytes, at)
      guard length <= bytes.count - at - 12 else { return nil }
      let chunk = bytes[at..<(at + 12 + length)]
      let type = chunk.dropFirst(4).prefix(4)
      // A capital letter at the beginning: nothing can be seen without it.
      let isCritical = type.first.map { $0 & 0x20 == 0 } ?? false
      if isCritical || type.elementsEqual("tRNS".utf8) { result += chunk }
      if type.elementsEqual("IEND".utf8) { return result }
      at += 12 + length
    }
    return nil
  }

  private static func number(_ bytes: [UInt8], _ at: Int) -> Int {
    bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private func jpeg(_ bytes: [UInt8], smallestSide: Int) throws(ImageError) -> Drawing {
    var (width, height) = (Int32(0), Int32(0))
    guard recbot_jpeg_size(bytes, bytes.count, &width, &height) else {
      throw ImageError(description: "is a damaged JPEG")
    }
    try check(width: Int(width), height: Int(height))
    var divisor: Int32 = 1
    while divisor < 8, Int(min(width, height) / (2 * divisor)) >= smallestSide { divisor *= 2 }
    let (columns, rows) = ((width + divisor - 1) / divisor, (height + divisor - 1) / divisor)
    guard let drawing = Drawing(exactWidth: Int(columns), height: Int(rows)), let pixels = drawing.pixels else {
      throw ImageError(description: "needs more memory than there is")
    }
    guard recbot_jpeg_decode(bytes, bytes.count, divisor, pixels, drawing.stride, columns, rows) else {
      throw ImageError(description: "is a damaged JPEG")
    }
    drawing.markDirty()
    let orientation = JPEGOrientation(bytes)
    return orientation == .upright ? drawing : orientation.applied(to: drawing) ?? drawing
  }
}
