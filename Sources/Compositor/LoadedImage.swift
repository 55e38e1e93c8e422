import CPango
import CYUV
import Glibc
import Layouts
import MediaCore

/// What an image is made into when it is loaded.
enum ImageForm: Hashable, Sendable {
  /// The middle square, that many pixels wide.
  case square(Int)
  /// The whole, so high, and as wide as it then is, but no wider than the second number.
  case high(Int, maximumWidth: Int)
  /// A picture of the canvas' size on a ground of one colour.
  case canvas(width: Int, height: Int, fit: Fit, ground: Colour)

  /// Decodes and scales.
  func load(_ bytes: [UInt8]) throws(ImageError) -> LoadedImage {
    let decoder = ImageDecoder()
    let memory = ImageError(description: "needs more memory than there is")
    switch self {
    case .square(let side):
      let image = try decoder.decode(bytes, smallestSide: 2 * side)
      let scale = Double(side) / Double(min(image.width, image.height))
      guard let drawing = Drawing(exactWidth: side, height: side) else { throw memory }
      drawing.paint(image, scale: scale)
      return LoadedImage(drawing: drawing)
    case .high(let height, let maximumWidth):
      let image = try decoder.decode(bytes, smallestSide: 2 * height)
      let scale = min(Double(height) / Double(image.height), Double(maximumWidth) / Double(image.width))
      let width = max(1, Int((Double(image.width) * scale).rounded()))
      guard let drawing = Drawing(width: width, height: max(1, Int((Double(image.height) * scale).rounded()))) else {
        throw memory
      }
      drawing.paint(image, scale: scale)
      return LoadedImage(drawing: drawing)
    case .canvas(let width, let height, let fit, let ground):
      let image = try decoder.decode(bytes, smallestSide: max(width, height))
      let (x, y) = (Double(width) / Double(image.width), Double(height) / Double(image.height))
      guard let drawing = Drawing(exactWidth: width, height: height) else { throw memory }
      drawing.fill(ground)
      drawing.paint(image, scale: fit == .cover ? max(x, y) : min(x, y))
      guard let picture = drawing.picture() else { throw memory }
      return LoadedImage(picture: picture)
    }
  }
}

// Sendable by the rule below: the drawing is written before the reference crosses a thread, and only read afterwards.
/// An image as its form asked for it.
final class LoadedImage: @unchecked Sendable {
  /// For stamps. Only the thread of the compositor reads it.
  let drawing: Drawing?
  /// For the background.
  let picture: Picture?

  init(drawing: Drawing) {
    (self.drawing, picture) = (drawing, nil)
  }

  init(picture: Picture) {
    (drawing, self.picture) = (nil, picture)
  }

  /// Memory that it takes.
  var byteCount: Int {
    (drawing.map { $0.stride * $0.height } ?? 0) + (picture.map { $0.strideY * $0.height * 3 / 2 } ?? 0)
  }
}

extension Drawing {
  /// Paints another drawing in the middle of this one.
  fileprivate func paint(_ image: Drawing, scale: Double) {
    cairo_save(context)
    cairo_translate(context, Double(width) / 2, Double(height) / 2)
    cairo_scale(context, scale, scale)
    cairo_translate(context, -Double(image.width) / 2, -Double(image.height) / 2)
    paint(image)
    cairo_restore(context)
  }

  /// The pixels as an I420 picture; transparency is lost.
  fileprivate func picture() -> Picture? {
    guard let pixels else { return nil }
    let picture = Picture(width: width, height: height)
    ARGBToI420(
      pixels, Int32(stride), picture.y, Int32(picture.strideY), picture.u, Int32(picture.strideUV), picture.v,
      Int32(picture.strideUV), Int32(width), Int32(height))
    return picture
  }
}

/// Reads files that hold images.
enum ImageFile {
  /// The bytes of a file of at most `ImageStore.maximumBytes`.
  ///
  /// - Parameter folder: nothing outside of it is read, whatever links lead there.
  static func read(_ path: String, below folder: String?) throws(ImageError) -> [UInt8] {
    var path = path
    if let folder {
      guard let root = resolved(folder) else { throw ImageError(description: "\(folder): \(systemMessage())") }
      // The same words whether or not there is such a file outside: nobody in the room learns what is on this disk.
      guard let full = resolved("\(root)/\(path)"), full.hasPrefix(root == "/" ? "/" : root + "/") else {
        throw ImageError(description: "is not in the folder of avatars")
      }
      path = full
    }
    // A pipe or a device must not block.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (folder == nil ? 0 : O_NOFOLLOW))
    guard descriptor >= 0 else { throw ImageError(description: "cannot be read: \(systemMessage())") }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw ImageError(description: "is not a file")
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      guard count >= 0 else { throw ImageError(description: "cannot be read: \(systemMessage())") }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
      guard bytes.count <= ImageStore.maximumBytes else {
        throw ImageError(description: "is larger than \(ImageStore.maximumBytes >> 20) MiB")
      }
    }
  }

  private static func resolved(_ path: String) -> String? {
    guard !path.utf8.contains(0), let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func systemMessage() -> String { String(cString: strerror(errno)) }
}
