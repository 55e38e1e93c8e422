import MediaCore
import TestKit
import Testing

@testable import WebM

/// Files with VP9: what their heads say, what is read from them, and how parts of them are joined.
@Suite struct VP9FileTests {
  let directory = TemporaryDirectory()
  /// The head of a shown keyframe of 320x180 in BT.601, limited range (VP9 bitstream specification section 6.2).
  static let keyframe: [UInt8] = [0x82, 0x49, 0x83, 0x42, 0x20, 0x13, 0xf0, 0x0b, 0x30]
  /// The head of a shown frame that refers to others; as VP8 its first byte would be that of a keyframe.
  static let other: [UInt8] = [0x86, 0x00, 0x40, 0x92, 0x9c]

  /// A file of bare heads at 25 frames a second; keyframes at each of the given times.
  private func part(
    _ name: String, date: Int64? = nil, bitrate: Int = 300_000, keyframes: [Int64] = [0], codec: RecordingCodec = .vp9
  ) throws -> String {
    let path = directory.path(name)
    let writer = try WebMWriter(
      path: path,
      configuration: WebMConfiguration(
        video: .init(codec: codec, width: 320, height: 180, framesPerSecond: 25, bitrate: bitrate), audio: nil,
        date: date)
    )
    for time in stride(from: Int64(0), to: 200, by: 40) {
      let isKeyframe = keyframes.contains(time)
      try writer.addVideo(
        at: .milliseconds(time), isKeyframe ? Self.keyframe : Self.other, isKeyframe: isKeyframe)
    }
    _ = try writer.finish()
    return path
  }

  @Test func theHeadHasTheCodecAndItsFeatures() throws {
    let bytes = Files.read(try part("a.webm"))
    func contains(_ wanted: [UInt8]) -> Bool {
      bytes.indices.contains { bytes[$0...].starts(with: wanted) }
    }
    #expect(contains([0x86, 0x85] + Array("V_VP9".utf8)))
    // CodecPrivate: profile 0, level 1.1, 8 bits, 4:2:0 on luma samples.
    #expect(contains([0x63, 0xa2, 0x8c, 1, 1, 0, 2, 1, 11, 3, 1, 8, 4, 1, 1]))
    // Colour as in files with VP8.
    #expect(
      contains([0x55, 0xb0, 0x90, 0x55, 0xb1, 0x81, 6, 0x55, 0xb9, 0x81, 1, 0x55, 0xba, 0x81, 1, 0x55, 0xbb, 0x81, 1]))
  }

  @Test func theReportHasTheCodecStringOfTheFrames() throws {
    // What the file declares is for 30 Mbit/s, what is in it needs level 1.1.
    let report = try WebMProbe.probe(try part("a.webm", bitrate: 30_000_000))
    let track = try #require(report.tracks.first)
    #expect(track.codec == "V_VP9" && track.codecString == "vp09.00.11.08.01.01.01.06.00")
    #expect(report.text.contains("V_VP9  vp09.00.11.08.01.01.01.06.00  320x180"))
    #expect(report.json.contains("\"codecString\": \"vp09.00.11.08.01.01.01.06.00\""))
    #expect(report.problems == [] && track.keyframes == 1 && track.frames == 5)
  }

  @Test func codecStringsOfOtherForms() throws {
    // Profile 2, 10 bits, BT.2020, full range, 4:2:0.
    let bytes: [UInt8] = [0x92, 0x49, 0x83, 0x42, 0x58, 0x13, 0xf0, 0x0b, 0x30]
    let header = try #require(bytes.withUnsafeBytes { VP9FrameHeader($0) })
    #expect(header.profile == 2 && header.bitDepth == 10 && header.width > 0)
    let level = try #require(VP9Level(rawValue: 31))
    let colour = VP9Features.Colour(primaries: 9, transfer: 16, matrix: 2)
    #expect(VP9Features.codecString(header, level, colour) == "vp09.02.31.10.01.09.16.09.01")
    // Profile 1, RGB: 4:4:4.
    let rgb: [UInt8] = [0xa2, 0x49, 0x83, 0x42, 0xe0, 0x13, 0xf0, 0x0b, 0x30]
    let red = try #require(rgb.withUnsafeBytes { VP9FrameHeader($0) })
    #expect(VP9Features.codecString(red, level, .init()) == "vp09.01.31.08.03.02.02.00.01")
  }

  @Test(arguments: [
    (256, 144, 15.0, 150, 10), (640, 360, 30, 1_000, 21), (1280, 720, 30, 1_500, 31), (1280, 720, 30, 20_000, 41),
    (1920, 1080, 30, 2_500, 40), (1920, 1080, 60, 4_500, 41), (3840, 2160, 30, 10_000, 50), (2816, 64, 30, 100, 40),
  ])
  func theLevelIsTheLowestThatHolds(width: Int, height: Int, rate: Double, kilobits: Int, level: UInt8) {
    let found = VP9Level(width: width, height: height, framesPerSecond: rate, bitrate: Double(kilobits) * 1000)
    #expect(found?.rawValue == level)
  }

  @Test func beyondAllLevelsThereIsNone() {
    #expect(VP9Level(width: 16_384, height: 16_384, framesPerSecond: 30, bitrate: 0) == nil)
    #expect(VP9Level(rawValue: 32) == nil)
  }

  @Test func damagedFeaturesTellNoLevel() {
    func level(_ bytes: [UInt8]) -> UInt8? {
      bytes.withUnsafeBytes { VP9Features.level(codecPrivate: $0)?.rawValue }
    }
    #expect(level([1, 1, 0, 2, 1, 31]) == 31)
    for bytes: [UInt8] in [[], [2], [2, 1], [2, 9, 31], [2, 1, 99], [2, 2, 31, 0], [7, 255, 2, 1, 31]] {
      #expect(level(bytes) == nil, "\(bytes)")
    }
  }

  @Test func partsAreJoinedAtTheirKeyframesWithTheHighestLevel() throws {
    let first = try part("1.webm", bitrate: 300_000)
    // A picture that refers to others cannot begin a part: the first is left out.
    let second = try part("2.webm", bitrate: 2_000_000, keyframes: [80])
    let joined = directory.path("joined.webm")
    let concatenation = try Concatenation([.init(path: first), .init(path: second)], spacing: .fixed(.zero))
    #expect(concatenation.configuration.video?.codec == .vp9)
    #expect(concatenation.configuration.video?.level == VP9Level(rawValue: 21))
    _ = try concatenation.write(to: joined, slate: { _ in [] })
    let report = try WebMProbe.probe(joined)
    #expect(report.tracks.map(\.codec) == ["V_VP9"] && report.problems == [])
    #expect(report.tracks.first?.keyframes == 2 && report.tracks.first?.frames == 8)
  }

  @Test func partsOfTwoCodecsAreRefused() throws {
    let first = try part("1.webm")
    let second = try part("2.webm", codec: .vp8)
    let error = #expect(throws: WebMError.self) {
      try Concatenation([.init(path: first), .init(path: second)], spacing: .fixed(.zero))
    }
    #expect(error?.description.contains("its pictures are VP8, not VP9") == true)
  }
}
