import CYUV
import Layouts
import MediaCore

/// Makes pictures in which less can be told than in those they are made of. Total: there is no picture that it gives back as it
/// was.
public struct PictureProcessing {
  /// Blocks along the longer side. A face that fills half of it is six blocks wide, and nobody is known by six.
  private static let blocks = 12
  /// The longer side of what blocks are enlarged to before they are scaled into the tile, pixels.
  private static let enlarged = 16 * blocks

  private var painter = VideoPainter()
  private var means = PicturePool(limit: 1)
  private var made = PicturePool(limit: 1)

  /// Has not processed anything.
  public init() {}

  /// What is shown in the place of a picture: of the same shape and rotation. Valid until the next call.
  public mutating func process(_ picture: Picture, by processor: VideoProcessor) -> Picture {
    let made =
      switch processor {
      case .pixelate: blocks(of: picture, filter: kFilterNone)
      case .blur: blocks(of: picture, filter: kFilterBilinear)
      case .grayscale: gray(picture)
      case .mask: black(picture)
      }
    made.rotation = picture.rotation
    return made
  }

  /// A picture of blocks, each of which is the mean of what it covers, in chroma as in luma.
  private mutating func blocks(of picture: Picture, filter: FilterMode) -> Picture {
    func sides(_ length: Int) -> (width: Int, height: Int) {
      (Self.side(picture.width, picture, length), Self.side(picture.height, picture, length))
    }
    let (count, size) = (sides(Self.blocks), sides(Self.enlarged))
    // A sample for each block in every plane: those of chroma are half as large as that of luma, which fills a quarter of its own.
    let means = means.take(width: 2 * count.width, height: 2 * count.height)
    let made = made.take(width: size.width, height: size.height)
    // In two steps: what scales any size quickly weighs its edges otherwise.
    painter.stretch(picture, over: made)
    let (width, height) = (Int32(size.width), Int32(size.height))
    /// Brings a plane to a sample for each block, and back to its size.
    func average(
      _ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int32, _ height: Int32,
      over blocks: UnsafeMutablePointer<UInt8>, _ blocksStride: Int
    ) {
      let (across, down) = (Int32(count.width), Int32(count.height))
      ScalePlane(plane, Int32(stride), width, height, blocks, Int32(blocksStride), across, down, kFilterBox)
      ScalePlane(blocks, Int32(blocksStride), across, down, plane, Int32(stride), width, height, filter)
    }
    average(made.y, made.strideY, width, height, over: means.y, means.strideY)
    average(made.u, made.strideUV, width / 2, height / 2, over: means.u, means.strideUV)
    average(made.v, made.strideUV, width / 2, height / 2, over: means.v, means.strideUV)
    return made
  }

  /// A side of a picture that has the shape of another and this length along its longer side: even.
  private static func side(_ side: Int, _ picture: Picture, _ length: Int) -> Int {
    max(2, (side * length / max(picture.width, picture.height) + 1) & ~1)
  }

  private mutating func gray(_ picture: Picture) -> Picture {
    let gray = made.take(width: picture.width, height: picture.height)
    CopyPlane(
      picture.y, Int32(picture.strideY), gray.y, Int32(gray.strideY), Int32(picture.width), Int32(picture.height))
    gray.u.update(repeating: 128, count: gray.strideUV * gray.chromaHeight)
    gray.v.update(repeating: 128, count: gray.strideUV * gray.chromaHeight)
    return gray
  }

  private mutating func black(_ picture: Picture) -> Picture {
    let black = made.take(width: picture.width, height: picture.height)
    black.fill(y: 16, u: 128, v: 128)
    return black
  }
}
