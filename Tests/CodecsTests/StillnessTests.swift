import Codecs
import Foundation
import MediaCore
import Synthetic
import Testing

/// What is still has full quality, its colours too, half a second after it changed. Measured against the pictures that were
/// given to the encoder.
@Suite struct StillnessTests {
  private let width = 640
  private let height = 368

  /// Decibels of Y, U and V in the still part.
  private struct Quality: CustomStringConvertible {
    var y = 0.0
    var u = 0.0
    var v = 0.0
    var worst: Double { min(y, u, v) }
    var description: String { "\(y) \(u) \(v)" }
  }

  private func fill(_ picture: Picture, x: Int, width: Int, _ y: UInt8, _ u: UInt8, _ v: UInt8) {
    for row in 0..<picture.height { (picture.y + row * picture.strideY + x).update(repeating: y, count: width) }
    for row in 0..<picture.chromaHeight {
      (picture.u + row * picture.strideUV + x / 2).update(repeating: u, count: width / 2)
      (picture.v + row * picture.strideUV + x / 2).update(repeating: v, count: width / 2)
    }
  }

  /// A tile at the left in which everything moves: it takes what bits there are.
  private func move(_ picture: Picture, _ random: inout SeededRandom) {
    for row in 0..<picture.height {
      for column in stride(from: 0, to: 320, by: 8) {
        let bits = random.next()
        for at in 0..<8 {
          picture.y[row * picture.strideY + column + at] = UInt8(100 + (bits >> UInt64(at * 8)) & 31)
        }
      }
    }
  }

  private func measure(
    _ settings: VPXEncoderSettings, framesPerSecond: Int = 30, bitrate: Int, change: Int, x: Int,
    _ draw: (Int, Picture) -> Void
  ) throws -> Quality {
    let encoder = try VPXEncoder(
      .vp8, width: width, height: height, framesPerSecond: framesPerSecond, bitrate: bitrate, settings: settings)
    let decoder = VP8Decoder()
    var pool = PicturePool()
    let picture = Picture(width: width, height: height)
    for index in 0...(change + framesPerSecond / 2) {
      draw(index, picture)
      let frame = try encoder.frame(picture, pts: Int64(index) * 90_000 / Int64(framesPerSecond))
      let decoded = try #require(try decoder.picture(frame.bytes, &pool))
      guard index == change + framesPerSecond / 2 else { continue }
      func decibels(
        _ a: UnsafeMutablePointer<UInt8>, _ b: UnsafeMutablePointer<UInt8>, _ strides: (Int, Int), _ from: Int,
        _ columns: Int, _ rows: Int
      ) -> Double {
        var sum = 0
        for row in 0..<rows {
          for column in from..<columns {
            let d = Int(a[row * strides.0 + column]) - Int(b[row * strides.1 + column])
            sum += d * d
          }
        }
        return 10 * log10(65_025 / max(0.001, Double(sum) / Double(rows * (columns - from))))
      }
      let chroma = (picture.strideUV, decoded.strideUV)
      return Quality(
        y: decibels(picture.y, decoded.y, (picture.strideY, decoded.strideY), x, width, height),
        u: decibels(picture.u, decoded.u, chroma, x / 2, width / 2, height / 2),
        v: decibels(picture.v, decoded.v, chroma, x / 2, width / 2, height / 2))
    }
    return Quality()
  }

  /// With a second of buffer, and without a care for what is still, it was worse: the limits are between.
  private func compare(
    framesPerSecond: Int = 30, bitrate: Int, change: Int, x: Int, atLeast: Double,
    _ draw: (Int, Picture, inout SeededRandom) -> Void
  ) throws {
    var qualities: [Quality] = []
    for settings in [VPXEncoderSettings(.vp8), .live(.vp8)] {
      var random = SeededRandom(seed: 9)
      qualities.append(
        try measure(settings, framesPerSecond: framesPerSecond, bitrate: bitrate, change: change, x: x) {
          draw($0, $1, &random)
        })
    }
    #expect(qualities[0].worst >= atLeast, "now \(qualities[0]), before \(qualities[1])")
    #expect(qualities[1].worst < atLeast, "the limit holds nothing back: before \(qualities[1])")
  }

  @Test func aSlideThatAppears() throws {
    let screen = SyntheticScreen(seed: 1, width: width, height: height, framesPerSecond: 10)
    try compare(framesPerSecond: 10, bitrate: 350_000, change: 0, x: 0, atLeast: 44) { index, picture, _ in
      screen.draw(frame: 70 + index, into: picture)
    }
  }

  @Test func aFlatBackgroundAfterAFlash() throws {
    try compare(bitrate: 700_000, change: 20, x: 320, atLeast: 52) { index, picture, random in
      let isFlash = index == 18 || index == 19
      fill(picture, x: 0, width: width, isFlash ? 235 : 60, isFlash ? 128 : 118, isFlash ? 128 : 136)
      if !isFlash { move(picture, &random) }
    }
  }

  @Test func aCardThatAppears() throws {
    let screen = SyntheticScreen(seed: 2, width: 320, height: height, framesPerSecond: 10)
    let card = Picture(width: 320, height: height)
    screen.draw(frame: 60, into: card)
    try compare(bitrate: 700_000, change: 15, x: 320, atLeast: 46) { index, picture, random in
      if index < 15 {
        fill(picture, x: 0, width: width, UInt8(60 + index), 118, 136)
      } else {
        for row in 0..<height {
          (picture.y + row * picture.strideY + 320).update(from: card.y + row * card.strideY, count: 320)
        }
        for row in 0..<(height / 2) {
          let at = row * picture.strideUV + 160
          (picture.u + at).update(from: card.u + row * card.strideUV, count: 160)
          (picture.v + at).update(from: card.v + row * card.strideUV, count: 160)
        }
      }
      move(picture, &random)
    }
  }
}
