/// A level of VP9: what a decoder must be able to do (VP9 bitstream specification, Annex A).
public struct VP9Level: RawRepresentable, Hashable, Sendable {
  /// The level times ten: 31 is level 3.1.
  public let rawValue: UInt8

  /// A level by its number; nil when there is none of it.
  public init?(rawValue: UInt8) {
    guard Self.limits.contains(where: { $0.level == rawValue }) else { return nil }
    self.rawValue = rawValue
  }

  /// The lowest level that allows a stream; nil when it is beyond all of them.
  ///
  /// - Parameters:
  ///   - width: pixels.
  ///   - height: pixels.
  ///   - framesPerSecond: pictures a second.
  ///   - bitrate: bits a second.
  public init?(width: Int, height: Int, framesPerSecond: Double, bitrate: Double) {
    let picture = Double(width) * Double(height)
    let lowest = Self.limits.first { limit in
      max(width, height) <= limit.side && picture <= limit.picture && picture * framesPerSecond <= limit.samples
        && bitrate <= limit.bitrate * 1000
    }
    guard let lowest else { return nil }
    rawValue = lowest.level
  }

  /// Luma samples a second, luma samples of a picture, thousand bits a second, and pixels of the longer side at most.
  private static let limits: [(level: UInt8, samples: Double, picture: Double, bitrate: Double, side: Int)] = [
    (10, 829_440, 36_864, 200, 512),
    (11, 2_764_800, 73_728, 800, 768),
    (20, 4_608_000, 122_880, 1_800, 960),
    (21, 9_216_000, 245_760, 3_600, 1_344),
    (30, 20_736_000, 552_960, 7_200, 2_048),
    (31, 36_864_000, 983_040, 12_000, 2_752),
    (40, 83_558_400, 2_228_224, 18_000, 4_160),
    (41, 160_432_128, 2_228_224, 30_000, 4_160),
    (50, 311_951_360, 8_912_896, 60_000, 8_384),
    (51, 588_251_136, 8_912_896, 120_000, 8_384),
    (52, 1_176_502_272, 8_912_896, 180_000, 8_384),
    (60, 1_176_502_272, 35_651_584, 180_000, 16_832),
    (61, 2_353_004_544, 35_651_584, 240_000, 16_832),
    (62, 4_706_009_088, 35_651_584, 480_000, 16_832),
  ]
}
