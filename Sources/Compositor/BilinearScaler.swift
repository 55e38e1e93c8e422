import CYUV
import Layouts
import MediaCore

/// Scales by interpolation with the kernel of `CYUV`, and keeps the tables of columns that it needs.
struct BilinearScaler {
  /// One table for each pair of widths in use. More are only in use while the layout changes.
  private var tables: [Widths: [RecbotColumns]] = [:]
  private static let maximumTables = 64
  private let isAvailable = recbot_has_bilinear()

  private struct Widths: Hashable {
    var source: Int
    var target: Int
  }

  /// Scales `part` of a picture into `target` of another; both corners are even. False, and nothing done, when this
  /// processor or these sizes call for another way.
  mutating func scale(_ from: Picture, _ part: PixelRect, _ to: Picture, _ target: PixelRect) -> Bool {
    let (chromaWidth, chromaTarget) = ((part.width + 1) / 2, target.width / 2)
    guard isAvailable, Self.isSuitable(part.width, target.width), Self.isSuitable(chromaWidth, chromaTarget),
      target.height > 0, target.width.isMultiple(of: 2), target.height.isMultiple(of: 2)
    else { return false }
    let luma = Widths(source: part.width, target: target.width)
    let chroma = Widths(source: chromaWidth, target: chromaTarget)
    prepare(luma)
    prepare(chroma)
    tables[luma]?.withUnsafeBufferPointer { columns in
      recbot_scale_bilinear(
        from.y + (part.y * from.strideY + part.x), from.strideY, Int32(part.height),
        to.y + (target.y * to.strideY + target.x), to.strideY, Int32(target.width), Int32(target.height),
        columns.baseAddress)
    }
    let source = part.y / 2 * from.strideUV + part.x / 2
    let place = target.y / 2 * to.strideUV + target.x / 2
    tables[chroma]?.withUnsafeBufferPointer { columns in
      recbot_scale_bilinear(
        from.u + source, from.strideUV, Int32((part.height + 1) / 2), to.u + place, to.strideUV, Int32(chromaTarget),
        Int32(target.height / 2), columns.baseAddress)
      recbot_scale_bilinear(
        from.v + source, from.strideUV, Int32((part.height + 1) / 2), to.v + place, to.strideUV, Int32(chromaTarget),
        Int32(target.height / 2), columns.baseAddress)
    }
    return true
  }

  /// The kernel reads 16 columns for eight: enough down to a half.
  private static func isSuitable(_ source: Int, _ target: Int) -> Bool {
    source >= 16 && target >= 1 && source <= 2 * target
  }

  private mutating func prepare(_ widths: Widths) {
    guard tables[widths] == nil else { return }
    if tables.count >= Self.maximumTables { tables.removeAll(keepingCapacity: true) }
    tables[widths] = Self.columns(source: widths.source, target: widths.target)
  }

  /// The table for one pair of widths for which `isSuitable` is true.
  static func columns(source: Int, target: Int) -> [RecbotColumns] {
    let step = (source << 16) / target
    func position(_ column: Int) -> Int {
      min(max(0, step / 2 - 32_768 + min(column, target - 1) * step), (source - 1) << 16)
    }
    return stride(from: 0, to: target, by: 8).map { first in
      var columns = RecbotColumns()
      let base = min(position(first) >> 16, source - 16)
      columns.base = Int32(base)
      withUnsafeMutableBytes(of: &columns.offsets) { offsets in
        for index in 0..<8 {
          let left = position(first + index) >> 16
          offsets[2 * index] = UInt8(clamping: left - base)
          offsets[2 * index + 1] = UInt8(clamping: min(left + 1, source - 1) - base)
        }
      }
      withUnsafeMutableBytes(of: &columns.weights) { weights in
        for index in 0..<8 {
          let right = ((position(first + index) & 0xffff) + 256) >> 9
          weights[2 * index] = UInt8(clamping: 128 - right)
          weights[2 * index + 1] = UInt8(clamping: right)
        }
      }
      return columns
    }
  }
}
