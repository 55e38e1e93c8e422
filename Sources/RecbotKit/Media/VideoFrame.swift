import MediaCore

/// A size in pixels.
public struct Dimensions: Hashable, Sendable, CustomStringConvertible {
  /// Columns.
  public var width: Int
  /// Rows.
  public var height: Int

  /// Makes a size; both sides are at least 1.
  public init(width: Int, height: Int) { (self.width, self.height) = (max(1, width), max(1, height)) }

  /// `640x360`.
  public var description: String { "\(width)x\(height)" }
}

/// One picture: I420 (planar YUV 4:2:0, 8 bits, limited range BT.601), with its time and rotation. A value that may be kept, and
/// read on any thread.
public struct VideoFrame: Sendable {
  /// What can be wrong with planes that somebody gives.
  public enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// A side is below 1 or above `maximumSide`.
    case size(width: Int, height: Int)
    /// A row has fewer bytes than the picture is wide.
    case stride(Int, atLeast: Int)
    /// A plane, or all of the picture, has fewer bytes than its rows.
    case bytes(Int, atLeast: Int)

    /// What is wrong, and what to do.
    public var description: String {
      switch self {
      case .size(let width, let height):
        "A picture of \(width)x\(height) cannot be used. Give sides of 1 to \(VideoFrame.maximumSide) pixels."
      case .stride(let bytes, let least): "A row of \(bytes) bytes is too short. Give at least \(least)."
      case .bytes(let bytes, let least):
        "\(bytes) bytes are too few for a picture of this size. Give at least \(least)."
      }
    }
  }

  /// A plane of a picture in memory of the caller.
  public struct Plane {
    /// The bytes, row after row.
    public var bytes: UnsafeRawBufferPointer
    /// Bytes from one row to the next.
    public var stride: Int

    /// Makes a plane; see the properties.
    public init(_ bytes: UnsafeRawBufferPointer, stride: Int) { (self.bytes, self.stride) = (bytes, stride) }
  }

  /// The longest side of a picture, pixels.
  public static let maximumSide = Picture.maximumSide

  /// The picture itself; nobody writes into it.
  package let picture: Picture
  /// When it was captured, on its source's own clock: since the first picture of a received track, since anything that the maker
  /// likes for one's own. Of one's own, nil: now.
  public var time: Duration?
  /// Clockwise degrees by which the picture must be turned for display: 0, 90, 180 or 270.
  public var rotation: Int

  /// Wraps a picture that nobody writes into any more.
  package init(_ picture: Picture, time: Duration?) {
    (self.picture, self.time, rotation) = (picture, time, picture.rotation)
  }

  /// Copies planes of luma, blue-difference and red-difference chroma; those of chroma have half the sides, rounded up. Throws
  /// when they are too small for the size.
  public init(
    width: Int, height: Int, y: Plane, u: Plane, v: Plane, time: Duration? = nil, rotation: Int = 0
  ) throws(Fault) {
    try Self.check(width: width, height: height)
    let picture = Picture(width: width, height: height)
    try Self.copy(y, width, height, to: picture.y, picture.strideY)
    try Self.copy(u, picture.chromaWidth, picture.chromaHeight, to: picture.u, picture.strideUV)
    try Self.copy(v, picture.chromaWidth, picture.chromaHeight, to: picture.v, picture.strideUV)
    picture.rotation = Self.quarter(rotation)
    self.init(picture, time: time)
  }

  /// A picture of one colour (limited range YUV).
  public init(_ dimensions: Dimensions, y: UInt8, u: UInt8, v: UInt8, time: Duration? = nil) {
    let picture = Picture(width: dimensions.width, height: dimensions.height)
    picture.fill(y: y, u: u, v: v)
    self.init(picture, time: time)
  }

  /// Its size, before it is turned.
  public var dimensions: Dimensions { Dimensions(width: picture.width, height: picture.height) }

  /// Reads the planes: luma, then blue-difference and red-difference chroma. They are valid during the call.
  public func withPlanes<Result>(_ body: (_ y: Plane, _ u: Plane, _ v: Plane) throws -> Result) rethrows -> Result {
    func plane(_ base: UnsafeMutablePointer<UInt8>, _ stride: Int, _ rows: Int, _ width: Int) -> Plane {
      // A decoder's last row may end with the picture.
      Plane(UnsafeRawBufferPointer(start: base, count: stride * (rows - 1) + width), stride: stride)
    }
    return try withExtendedLifetime(picture) {
      try body(
        plane(picture.y, picture.strideY, picture.height, picture.width),
        plane(picture.u, picture.strideUV, picture.chromaHeight, picture.chromaWidth),
        plane(picture.v, picture.strideUV, picture.chromaHeight, picture.chromaWidth))
    }
  }

  private static func copy(
    _ plane: Plane, _ width: Int, _ rows: Int, to target: UnsafeMutablePointer<UInt8>, _ stride: Int
  ) throws(Fault) {
    guard plane.stride >= width else { throw .stride(plane.stride, atLeast: width) }
    let (body, overflow) = plane.stride.multipliedReportingOverflow(by: rows - 1)
    guard !overflow, body <= Int.max - width, let base = plane.bytes.baseAddress, plane.bytes.count >= body + width
    else { throw .bytes(plane.bytes.count, atLeast: overflow || body > Int.max - width ? Int.max : body + width) }
    for row in 0..<rows {
      UnsafeMutableRawPointer(target + row * stride).copyMemory(from: base + row * plane.stride, byteCount: width)
    }
  }

  /// Throws when there can be no picture of this size.
  static func check(width: Int, height: Int) throws(Fault) {
    guard (1...maximumSide).contains(width), (1...maximumSide).contains(height) else {
      throw .size(width: width, height: height)
    }
  }

  /// The nearest of the four rotations that a picture can have.
  static func quarter(_ degrees: Int) -> Int { ((degrees % 360 + 360) % 360 + 45) / 90 % 4 * 90 }
}
