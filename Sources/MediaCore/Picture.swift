// Sendable by the rule below: the writer finishes before the reference crosses a thread, nobody writes afterwards.
/// An uncompressed picture: I420 (planar YUV 4:2:0, 8 bits, limited range BT.601 as WebRTC sends it).
/// Written by the one that took it from its pool, read-only once it has been handed on.
public final class Picture: @unchecked Sendable {
  /// Width of the luma plane in pixels; at least 1.
  public let width: Int
  /// Height of the luma plane in pixels; at least 1.
  public let height: Int
  /// Bytes from one row of luma to the next; a multiple of 32 where the picture owns its planes.
  public let strideY: Int
  /// Bytes from one row of chroma to the next, for both chroma planes; half of `strideY` where the picture owns its planes.
  public let strideUV: Int
  /// Luma, `height` rows of `strideY` bytes.
  public let y: UnsafeMutablePointer<UInt8>
  /// Blue-difference chroma, `chromaHeight` rows of `strideUV` bytes.
  public let u: UnsafeMutablePointer<UInt8>
  /// Red-difference chroma, as `u`.
  public let v: UnsafeMutablePointer<UInt8>
  /// Who owns the planes; nil when the picture itself does.
  private let owner: AnyObject?
  /// Clockwise degrees by which the picture must be turned for display: 0, 90, 180 or 270.
  public var rotation = 0

  /// The largest side that is ever allocated: VP8's own limit (RFC 6386 section 9.1).
  public static let maximumSide = 16_383

  /// Allocates a picture; sides are brought into 1...`maximumSide`. The content is undefined.
  public init(width: Int, height: Int) {
    self.width = min(max(1, width), Picture.maximumSide)
    self.height = min(max(1, height), Picture.maximumSide)
    strideY = (self.width + 31) / 32 * 32
    strideUV = strideY / 2
    owner = nil
    let chromaRows = (self.height + 1) / 2
    let luma = strideY * self.height
    let chroma = strideUV * chromaRows
    let storage = UnsafeMutableRawPointer.allocate(byteCount: luma + 2 * chroma, alignment: 64)
    y = storage.bindMemory(to: UInt8.self, capacity: luma + 2 * chroma)
    u = y + luma
    v = u + chroma
  }

  /// A picture in the memory of somebody else, such as a decoder's library; nobody writes into it. `owner` is let go with the
  /// picture, on any thread, and until then the planes stay where and as they are. Sides of 1...`maximumSide`; a row of
  /// luma has at least `width` bytes, one of chroma half of it, rounded up.
  public init(
    width: Int, height: Int, y: UnsafeMutablePointer<UInt8>, strideY: Int, u: UnsafeMutablePointer<UInt8>,
    v: UnsafeMutablePointer<UInt8>, strideUV: Int, owner: AnyObject
  ) {
    (self.width, self.height) = (width, height)
    (self.y, self.strideY) = (y, strideY)
    (self.u, self.v, self.strideUV) = (u, v, strideUV)
    self.owner = owner
  }

  deinit { if owner == nil { UnsafeMutableRawPointer(y).deallocate() } }

  /// Columns of the chroma planes: half the width, rounded up.
  public var chromaWidth: Int { (width + 1) / 2 }
  /// Rows of the chroma planes: half the height, rounded up.
  public var chromaHeight: Int { (height + 1) / 2 }

  /// Fills the picture with one colour (limited range YUV).
  public func fill(y luma: UInt8, u blue: UInt8, v red: UInt8) {
    y.update(repeating: luma, count: strideY * height)
    u.update(repeating: blue, count: strideUV * chromaHeight)
    v.update(repeating: red, count: strideUV * chromaHeight)
  }
}

/// Hands out pictures of one size and takes them back by itself: a picture is free again when nobody but the pool
/// refers to it. Confined to one thread (the one that takes); pictures may be let go on any thread.
public struct PicturePool {
  private var pictures: [Picture] = []
  private let limit: Int

  /// A pool that keeps at most `limit` pictures.
  public init(limit: Int = 8) { self.limit = limit }

  /// A picture of the given size with undefined content. Allocates only while all kept ones are in use or when
  /// the size changes.
  public mutating func take(width: Int, height: Int) -> Picture {
    for index in pictures.indices where isKnownUniquelyReferenced(&pictures[index]) {
      if pictures[index].width == width, pictures[index].height == height {
        pictures[index].rotation = 0
        return pictures[index]
      }
      pictures[index] = Picture(width: width, height: height)
      return pictures[index]
    }
    let picture = Picture(width: width, height: height)
    if pictures.count < limit { pictures.append(picture) }
    return picture
  }
}
