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

  /// Two decoders must see the same. They differ in what a lower quantizer of a block means that is below zero with the picture's:
  /// whether what is added for one kind of coefficient is added to zero, or to what is below it.
  @Test func everyDecoderReadsTheSameQuantizers() throws {
    let encoder = try VPXEncoder(.vp8, width: width, height: height, framesPerSecond: 30, bitrate: 300_000)
    let picture = Picture(width: width, height: height)
    let screen = SyntheticScreen(seed: 1, width: width, height: height, framesPerSecond: 10)
    screen.draw(frame: 60, into: picture)
    var lowest = Int.max
    for index in 0..<120 {
      // A keyframe is coarser than the pictures around it: after it the picture's quantizer falls faster than that of what is still
      // is known.
      let frame = try encoder.frame(picture, pts: Int64(index) * 3000, forceKeyframe: index == 90)
      let head = Quantizers(frame.bytes, isKeyframe: frame.key)
      #expect(!head.isAmbiguous, "frame \(index): \(head)")
      lowest = min(lowest, head.base + (head.segments.min() ?? 0))
    }
    #expect(lowest < 0, "the case does not come up: \(lowest)")
  }
}

/// The quantizers of a frame's header (RFC 6386 sections 9.3 and 9.6).
private struct Quantizers {
  var base = 0
  var segments: [Int] = []
  /// Of Y1's DC, Y2's DC and AC, and the DC and AC of the colours.
  var differences: [Int] = []

  var isAmbiguous: Bool { differences.contains { $0 != 0 } && segments.contains { base + $0 < 0 } }

  init(_ frame: [UInt8], isKeyframe: Bool) {
    var reader = BoolReader(Array(frame.dropFirst(isKeyframe ? 10 : 3)))
    if isKeyframe { _ = reader.number(2) }
    if reader.flag() {
      let (hasMap, hasData) = (reader.flag(), reader.flag())
      if hasData {
        _ = reader.flag()
        segments = (0..<4).map { _ in reader.flag() ? reader.signed(7) : 0 }
        for _ in 0..<4 where reader.flag() { _ = reader.signed(6) }
      }
      if hasMap { for _ in 0..<3 where reader.flag() { _ = reader.number(8) } }
    }
    _ = reader.number(10)
    if reader.flag(), reader.flag() { for _ in 0..<8 where reader.flag() { _ = reader.signed(6) } }
    _ = reader.number(2)
    base = reader.number(7)
    differences = (0..<5).map { _ in reader.flag() ? reader.signed(4) : 0 }
  }
}

/// Reads the header's numbers (RFC 6386 section 7).
private struct BoolReader {
  private let bytes: [UInt8]
  private var next = 2
  private var value: Int
  private var range = 255
  private var shifts = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    value = Int(bytes[0]) << 8 | Int(bytes[1])
  }

  mutating func flag() -> Bool {
    let split = 1 + ((range - 1) * 128) >> 8
    let isSet = value >= split << 8
    if isSet { (range, value) = (range - split, value - split << 8) } else { range = split }
    while range < 128 {
      (value, range, shifts) = (value << 1, range << 1, shifts + 1)
      guard shifts == 8 else { continue }
      value |= next < bytes.count ? Int(bytes[next]) : 0
      (next, shifts) = (next + 1, 0)
    }
    return isSet
  }

  mutating func number(_ bits: Int) -> Int { (0..<bits).reduce(0) { value, _ in value << 1 | (flag() ? 1 : 0) } }

  mutating func signed(_ bits: Int) -> Int {
    let magnitude = number(bits)
    return flag() ? -magnitude : magnitude
  }
}
