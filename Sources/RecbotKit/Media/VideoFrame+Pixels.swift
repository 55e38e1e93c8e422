import Compositor
import MediaCore

/// Pictures as other libraries and programs have them: a block of bytes.
extension VideoFrame {
  /// Copies three planes that follow one another without gaps: luma, blue-difference and red-difference chroma, as in ffmpeg's
  /// `yuv420p`. `(width * height)` bytes, and twice `(width + 1) / 2 * ((height + 1) / 2)`. Throws when there are fewer.
  public init(width: Int, height: Int, i420: [UInt8], time: Duration? = nil, rotation: Int = 0) throws(Fault) {
    try Self.check(width: width, height: height)
    let (luma, across) = (width * height, (width + 1) / 2)
    let chroma = across * ((height + 1) / 2)
    guard i420.count >= luma + 2 * chroma else { throw .bytes(i420.count, atLeast: luma + 2 * chroma) }
    let made = i420.withUnsafeBytes { bytes in
      Result { () throws(Fault) in
        func plane(_ begin: Int, _ count: Int, _ stride: Int) -> Plane {
          Plane(UnsafeRawBufferPointer(rebasing: bytes[begin..<begin + count]), stride: stride)
        }
        return try VideoFrame(
          width: width, height: height, y: plane(0, luma, width), u: plane(luma, chroma, across),
          v: plane(luma + chroma, chroma, across), time: time, rotation: rotation)
      }
    }
    self = try made.get()
  }

  /// Converts pixels of four bytes: red, green, blue, and one that is passed over, row after row without gaps, as images have them.
  /// Throws when there are fewer than `4 * width * height` bytes.
  public init(width: Int, height: Int, rgba: [UInt8], time: Duration? = nil, rotation: Int = 0) throws(Fault) {
    try Self.check(width: width, height: height)
    guard rgba.count >= 4 * width * height else { throw .bytes(rgba.count, atLeast: 4 * width * height) }
    let picture = rgba.withUnsafeBytes { Picture(width: width, height: height, rgba: $0, stride: 4 * width) }
    picture.rotation = Self.quarter(rotation)
    self.init(picture, time: time)
  }

  /// Its planes, one behind the other without gaps, as ffmpeg's `yuv420p` has them. Not turned.
  public var i420: [UInt8] {
    withPlanes { y, u, v in
      var bytes: [UInt8] = []
      let (across, down) = ((dimensions.width + 1) / 2, (dimensions.height + 1) / 2)
      bytes.reserveCapacity(dimensions.width * dimensions.height + 2 * across * down)
      for (plane, width, rows) in [(y, dimensions.width, dimensions.height), (u, across, down), (v, across, down)] {
        for row in 0..<rows { bytes += plane.bytes[row * plane.stride..<row * plane.stride + width] }
      }
      return bytes
    }
  }

  /// Its pixels: red, green, blue and 255, row after row without gaps; `4 * width * height` bytes. Not turned.
  public var rgba: [UInt8] { picture.rgba }
}
