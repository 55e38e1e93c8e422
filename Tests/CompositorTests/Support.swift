import Layouts
import MediaCore

@testable import Compositor

/// A colour of a picture, limited-range BT.601.
struct Sample: Equatable, CustomStringConvertible {
  var y: Int
  var u: Int
  var v: Int

  init(_ y: Int, _ u: Int, _ v: Int) { (self.y, self.u, self.v) = (y, u, v) }

  init(_ colour: Colour) {
    let (y, u, v) = colour.yuv
    self.init(Int(y), Int(u), Int(v))
  }

  func isNear(_ other: Sample, by tolerance: Int = 3) -> Bool {
    abs(y - other.y) <= tolerance && abs(u - other.u) <= tolerance && abs(v - other.v) <= tolerance
  }

  var description: String { "(\(y), \(u), \(v))" }
}

extension Picture {
  func sample(_ x: Int, _ y: Int) -> Sample {
    let chroma = y / 2 * strideUV + x / 2
    return Sample(Int(self.y[y * strideY + x]), Int(u[chroma]), Int(v[chroma]))
  }

  /// The smallest and the greatest luma in a rectangle.
  func lumaRange(_ rect: PixelRect) -> ClosedRange<Int> {
    var (low, high) = (255, 0)
    for row in rect.y..<rect.y + rect.height {
      for column in rect.x..<rect.x + rect.width {
        low = min(low, Int(y[row * strideY + column]))
        high = max(high, Int(y[row * strideY + column]))
      }
    }
    return min(low, high)...high
  }

  /// Everything but the padding of rows, for exact comparison.
  var bytes: [UInt8] {
    var result: [UInt8] = []
    for row in 0..<height { result += UnsafeBufferPointer(start: y + row * strideY, count: width) }
    for plane in [u, v] {
      for row in 0..<chromaHeight { result += UnsafeBufferPointer(start: plane + row * strideUV, count: chromaWidth) }
    }
    return result
  }

  static func plain(_ sample: Sample, width: Int = 640, height: Int = 360) -> Picture {
    let picture = Picture(width: width, height: height)
    picture.fill(y: UInt8(clamping: sample.y), u: UInt8(clamping: sample.u), v: UInt8(clamping: sample.v))
    return picture
  }
}

let hd = CanvasSize(width: 1280, height: 720)
let red = Sample(81, 90, 240)
let green = Sample(145, 54, 34)
let blue = Sample(41, 240, 110)
let background = Sample(Theme.dark.background)

func camera(_ number: Int) -> TileKey { .camera(ParticipantIdentity("p\(number)")) }

/// A tile of `rect` without label.
func tile(
  _ content: TileContent, _ rect: PixelRect, fit: Fit = .cover, radius: Int = 12, name: String = "", id: UInt64 = 0
) -> TilePaint {
  TilePaint(
    layer: VideoLayer(key: camera(1), rect: rect, fit: fit, cornerRadius: radius), content: content, name: name,
    pictureID: id)
}

let middleRect = PixelRect(x: 320, y: 180, width: 640, height: 360)

/// Where a built-in layout puts these sources.
func arranged(_ layout: Layout, _ canvas: CanvasSize, _ sources: [LayoutSource]) -> [VideoLayer] {
  var arranger = Arranger(layout: layout, canvas: canvas)
  return arranger.arrange(RoomView(sources: sources)).layers
}

/// Red, green and blue side by side.
func thirds(width: Int, height: Int) -> Picture {
  let picture = Picture(width: width, height: height)
  for (index, colour) in [red, green, blue].enumerated() {
    let rect = PixelRect(x: index * width / 3, y: 0, width: width / 3, height: height)
    picture.fill(rect, (UInt8(clamping: colour.y), UInt8(clamping: colour.u), UInt8(clamping: colour.v)))
  }
  return picture
}
