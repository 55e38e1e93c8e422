import CYUV
import MediaCore

extension Picture {
  /// A picture of pixels of four bytes: red, green, blue, and one that is passed over; `stride` bytes from one row to the next.
  ///
  /// - Precondition: sides of 1...`maximumSide`, and as many bytes as its rows have.
  package convenience init(width: Int, height: Int, rgba: UnsafeRawBufferPointer, stride: Int) {
    precondition(stride >= 4 * width && rgba.count >= stride * (height - 1) + 4 * width)
    self.init(width: width, height: height)
    // libyuv names formats as words of a little-endian machine: its ABGR is red, green, blue, alpha in memory.
    ABGRToI420(
      rgba.bindMemory(to: UInt8.self).baseAddress, Int32(stride), y, Int32(strideY), u, Int32(strideUV), v,
      Int32(strideUV), Int32(width), Int32(height))
  }

  /// Its pixels: red, green, blue and 255, row after row, `4 * width * height` bytes. It is not turned.
  package var rgba: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 4 * width * height) { pixels, count in
      I420ToABGR(
        y, Int32(strideY), u, Int32(strideUV), v, Int32(strideUV), pixels.baseAddress, Int32(4 * width), Int32(width),
        Int32(height))
      count = 4 * width * height
    }
  }
}
