import CPango

/// How a JPEG must be turned and mirrored to be seen as it was taken: the Exif tag 0x0112.
struct JPEGOrientation: Equatable {
  /// 1 to 8, as Exif counts them.
  let value: Int

  static let upright = JPEGOrientation(value: 1)

  init(value: Int) { self.value = (1...8).contains(value) ? value : 1 }

  /// Looks for the tag; upright when there is none.
  init(_ bytes: [UInt8]) { self.init(value: JPEGOrientation.find(bytes[...]) ?? 1) }

  private static func find(_ file: ArraySlice<UInt8>) -> Int? {
    var position = 2
    // Segments up to the first scan.
    while position + 4 <= file.count, file[position] == 0xff, file[position + 1] != 0xda {
      let length = Int(file[position + 2]) << 8 | Int(file[position + 3])
      let end = position + 2 + length
      guard length >= 2, end <= file.count else { return nil }
      let body = file[(position + 4)..<end]
      if file[position + 1] == 0xe1, body.starts(with: Array("Exif\0\0".utf8)) {
        return tag(Array(body.dropFirst(6)))
      }
      position = end
    }
    return nil
  }

  /// Reads the first directory of a TIFF structure.
  private static func tag(_ tiff: [UInt8]) -> Int? {
    guard tiff.count >= 8 else { return nil }
    let isLittle = tiff[0] == 0x49
    func number(_ at: Int, _ count: Int) -> Int? {
      guard at >= 0, at + count <= tiff.count else { return nil }
      let bytes = tiff[at..<at + count]
      return isLittle ? bytes.reversed().reduce(0) { $0 << 8 | Int($1) } : bytes.reduce(0) { $0 << 8 | Int($1) }
    }
    guard let start = number(4, 4), let count = number(start, 2) else { return nil }
    for index in 0..<count {
      let entry = start + 2 + 12 * index
      guard let tag = number(entry, 2) else { return nil }
      if tag == 0x0112 { return number(entry + 8, 2) }
    }
    return nil
  }

  /// The picture turned upright.
  func applied(to drawing: Drawing) -> Drawing? {
    let (width, height) = (drawing.width, drawing.height)
    let isTurned = value >= 5
    guard let result = Drawing(exactWidth: isTurned ? height : width, height: isTurned ? width : height) else {
      return nil
    }
    let (w, h) = (Double(width), Double(height))
    // Rows of the matrix that takes a stored pixel to where it is seen.
    var matrix = cairo_matrix_t(xx: 1, yx: 0, xy: 0, yy: 1, x0: 0, y0: 0)
    switch value {
    case 2: matrix = cairo_matrix_t(xx: -1, yx: 0, xy: 0, yy: 1, x0: w, y0: 0)
    case 3: matrix = cairo_matrix_t(xx: -1, yx: 0, xy: 0, yy: -1, x0: w, y0: h)
    case 4: matrix = cairo_matrix_t(xx: 1, yx: 0, xy: 0, yy: -1, x0: 0, y0: h)
    case 5: matrix = cairo_matrix_t(xx: 0, yx: 1, xy: 1, yy: 0, x0: 0, y0: 0)
    case 6: matrix = cairo_matrix_t(xx: 0, yx: 1, xy: -1, yy: 0, x0: h, y0: 0)
    case 7: matrix = cairo_matrix_t(xx: 0, yx: -1, xy: -1, yy: 0, x0: h, y0: w)
    case 8: matrix = cairo_matrix_t(xx: 0, yx: -1, xy: 1, yy: 0, x0: 0, y0: w)
    default: break
    }
    cairo_transform(result.context, &matrix)
    result.paint(drawing)
    return result
  }
}
