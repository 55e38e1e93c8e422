import Layouts
import MediaCore
import Testing

@testable import Compositor

@Suite struct ScalerTests {
  @Test func interpolationIsThatOfTheDefinition() {
    var scaler = BilinearScaler()
    for seed in UInt64(1)...60 {
      var random = SeededRandom(seed: seed)
      let (width, height) = (Int.random(in: 32...200, using: &random), Int.random(in: 1...60, using: &random))
      let target = PixelRect(
        x: 2, y: 4, width: 2 * Int.random(in: (width + 3) / 4...150, using: &random),
        height: 2 * Int.random(in: 1...50, using: &random))
      let source = noise(width: width, height: height, &random)
      let canvas = Picture(width: 320, height: 120)
      canvas.fill(y: 7, u: 8, v: 9)
      let part = PixelRect(x: 0, y: 0, width: width, height: height)
      guard scaler.scale(source, part, canvas, target) else { continue }
      var (written, wrong) = (0, 0)
      for y in 0..<canvas.height {
        for x in 0..<canvas.width {
          let value = Int(canvas.y[y * canvas.strideY + x])
          let (column, row) = (x - target.x, y - target.y)
          guard (0..<target.width).contains(column), (0..<target.height).contains(row) else {
            written += value == 7 ? 0 : 1
            continue
          }
          wrong += abs(Double(value) - interpolated(source, column, row, target)) > 3 ? 1 : 0
        }
      }
      #expect(written == 0, "outside: seed \(seed)")
      #expect(wrong == 0, "seed \(seed)")
      let chroma = (0..<canvas.chromaHeight).map { row in
        (0..<canvas.chromaWidth).filter { canvas.u[row * canvas.strideUV + $0] != 8 }.count
      }
      #expect(chroma.reduce(0, +) == target.width * target.height / 4, "chroma outside: seed \(seed)")
    }
  }

  @Test func tablesStayInsideTheRow() {
    for source in 16...700 {
      for target in Set([(source + 1) / 2, source / 2 + 1, source * 2 / 3, source, source + 7, 3 * source]) {
        for columns in BilinearScaler.columns(source: source, target: target) {
          #expect(columns.base >= 0 && Int(columns.base) + 16 <= source, "\(source) to \(target)")
          withUnsafeBytes(of: columns.offsets) { #expect($0.allSatisfy { $0 < 16 }, "\(source) to \(target)") }
        }
      }
    }
  }

  private func noise(width: Int, height: Int, _ random: inout SeededRandom) -> Picture {
    let picture = Picture(width: width, height: height)
    picture.fill(y: 128, u: 128, v: 128)
    for y in 0..<height {
      for x in 0..<width { picture.y[y * picture.strideY + x] = UInt8.random(in: 0...255, using: &random) }
    }
    return picture
  }

  private func interpolated(_ source: Picture, _ column: Int, _ row: Int, _ target: PixelRect) -> Double {
    let x = (Double(column) + 0.5) * Double(source.width) / Double(target.width) - 0.5
    let y = (Double(row) + 0.5) * Double(source.height) / Double(target.height) - 0.5
    func pixel(_ x: Int, _ y: Int) -> Double {
      Double(source.y[min(max(y, 0), source.height - 1) * source.strideY + min(max(x, 0), source.width - 1)])
    }
    let (left, top) = (Int(x.rounded(.down)), Int(y.rounded(.down)))
    let (right, bottom) = (x - Double(left), y - Double(top))
    let upper = pixel(left, top) * (1 - right) + pixel(left + 1, top) * right
    let lower = pixel(left, top + 1) * (1 - right) + pixel(left + 1, top + 1) * right
    return upper * (1 - bottom) + lower * bottom
  }
}
