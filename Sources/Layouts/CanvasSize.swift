/// The size of the recorded picture in pixels. Both sides are even, because chroma has half the resolution in I420.
public struct CanvasSize: Hashable, Sendable, CustomStringConvertible {
  /// Columns of luma; even, within `sides`.
  public let width: Int
  /// Rows of luma; even, within `sides`.
  public let height: Int

  /// The lengths that a side may have.
  public static let sides = 64...4096

  /// Makes a size; each side is rounded down to an even number and brought into `sides`.
  public init(width: Int, height: Int) {
    self.width = min(max(width, CanvasSize.sides.lowerBound), CanvasSize.sides.upperBound) & ~1
    self.height = min(max(height, CanvasSize.sides.lowerBound), CanvasSize.sides.upperBound) & ~1
  }

  /// Reads `1280x720`. Nil when it isn't two decimal numbers, or one of them is odd or outside `sides`: a recording
  /// never silently gets another size than the one that was asked for.
  public init?(text: some StringProtocol) {
    let sides = text.split(separator: "x", omittingEmptySubsequences: false)
    guard sides.count == 2, let width = CanvasSize.side(sides[0]), let height = CanvasSize.side(sides[1]) else {
      return nil
    }
    self.init(width: width, height: height)
  }

  private static func side(_ text: some StringProtocol) -> Int? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let side = Int(text),
      sides.contains(side), side.isMultiple(of: 2)
    else { return nil }
    return side
  }

  /// True when the canvas is higher than wide.
  public var isPortrait: Bool { height > width }
  /// `1280x720`, as `init(text:)` reads it.
  public var description: String { "\(width)x\(height)" }
}
