import MediaCore
import TestKit
import Testing

@testable import WebM

/// Files with AV1: what their heads say, what is read from them, and how parts of them are joined.
@Suite struct AV1FileTests {
  let directory = TemporaryDirectory()
  /// A sequence header of 320x180 at level 2.0, main profile (AV1 specification section 5.5), as libaom makes it.
  static let sequence: [UInt8] = [0x0a, 0x0a, 0, 0, 0, 0x04, 0x3c, 0xfe, 0xcc, 0xd9, 0xa0, 0x08]
  /// A frame unit of three bytes whose first byte says: shown now, a keyframe.
  static let keyframe: [UInt8] = sequence + [0x32, 3, 0x10, 0, 0]
  /// The same of a frame that refers to others.
  static let other: [UInt8] = [0x32, 3, 0x30, 0, 0]

  /// A file of bare heads at 25 frames a second; keyframes at each of the given times.
  private func part(_ name: String, keyframes: [Int64] = [0], header: [UInt8]? = sequence) throws -> String {
    let path = directory.path(name)
    let writer = try WebMWriter(
      path: path,
      configuration: WebMConfiguration(
        video: .init(codec: .av1, width: 320, height: 180, framesPerSecond: 25, sequenceHeader: header), audio: nil))
    for time in stride(from: Int64(0), to: 200, by: 40) {
      let isKeyframe = keyframes.contains(time)
      try writer.addVideo(at: .milliseconds(time), isKeyframe ? Self.keyframe : Self.other, isKeyframe: isKeyframe)
    }
    _ = try writer.finish()
    return path
  }

  @Test func theHeadHasTheCodecAndItsConfiguration() throws {
    let bytes = Files.read(try part("a.webm"))
    func contains(_ wanted: [UInt8]) -> Bool {
      bytes.indices.contains { bytes[$0...].starts(with: wanted) }
    }
    #expect(contains([0x86, 0x85] + Array("V_AV1".utf8)))
    // Version 1; main profile, level 2.0; main tier, 8 bits, 4:2:0; no delay told; the unit.
    #expect(contains([0x63, 0xa2, UInt8(0x80 + 4 + Self.sequence.count), 0x81, 0, 0x0c, 0] + Self.sequence))
  }

  @Test func withoutASequenceHeaderThereIsNoFile() {
    let error = #expect(throws: WebMError.self) { try part("a.webm", header: nil) }
    #expect(error?.description.contains("AV1 without a sequence header") == true)
    #expect(throws: WebMError.self) { try part("b.webm", header: [0x0a, 1, 0]) }
  }

  @Test func theReportHasTheCodecString() throws {
    let report = try WebMProbe.probe(try part("a.webm"))
    let track = try #require(report.tracks.first)
    #expect(track.codec == "V_AV1" && track.codecString == "av01.0.00M.08")
    #expect(report.text.contains("V_AV1  av01.0.00M.08  320x180"))
    #expect(report.problems == [] && track.keyframes == 1 && track.frames == 5)
  }

  @Test(
    arguments: [
      ([0x81, 0x05, 0x0c, 0], "av01.0.05M.08"), ([0x81, 0x2d, 0xcc, 0], "av01.1.13H.10"),
      ([0x81, 0x5f, 0x6c, 0, 1, 2], "av01.2.31M.12"), ([], nil), ([0x81, 5, 0x0c], nil), ([0x01, 5, 0x0c, 0], nil),
    ] as [([UInt8], String?)])
  func codecStringsOfOtherForms(record: [UInt8], string: String?) {
    #expect(record.withUnsafeBytes { AV1Features(codecPrivate: $0)?.codecString } == string)
  }

  @Test func aConfigurationGivesItsSequenceHeader() {
    func header(_ units: [UInt8]) -> [UInt8]? { AV1Features.sequenceHeader(codecPrivate: [0x81, 0, 0x0c, 0] + units) }
    #expect(header(Self.sequence) == Self.sequence)
    // Behind padding; without a size it takes the rest.
    #expect(header([0x7a, 1, 0x80] + Self.sequence) == Self.sequence)
    #expect(header([0x08] + Self.sequence.dropFirst(2)) == Self.sequence)
    #expect(
      header([]) == nil && header([0x0a]) == nil && header([0x0a, 100, 0]) == nil && header([0x0a, 1, 0]) == nil)
  }

  private static let units: [(unit: [UInt8], isKeyframe: Bool)] = {
    var all: [(unit: [UInt8], isKeyframe: Bool)] = [(keyframe, true), (other, false), (sequence, false), ([], false)]
    all.append((sequence + other, false))
    all.append(([0x12, 0] + keyframe, true))
    // A frame header unit, a keyframe without a sequence header, one that shows an older frame, and damage.
    all.append((sequence + [0x1a, 1, 0x10], true))
    all.append(([0x32, 1, 0x10], false))
    all.append((sequence + [0x32, 1, 0x80], false))
    all.append((sequence + [0x32], false))
    all.append(([0xff, 0xff], false))
    return all
  }()

  @Test(arguments: units)
  func decodingBeginsAtAKeyframeWithItsSequence(unit: [UInt8], isKeyframe: Bool) {
    #expect(unit.withUnsafeBytes { AV1Features.isKeyframe($0) } == isKeyframe)
  }

  @Test func partsAreJoinedAtTheirKeyframes() throws {
    let first = try part("1.webm")
    // A picture that refers to others cannot begin a part: the first is left out.
    let second = try part("2.webm", keyframes: [80])
    let joined = directory.path("joined.webm")
    let concatenation = try Concatenation([.init(path: first), .init(path: second)], spacing: .fixed(.zero))
    #expect(concatenation.configuration.video?.codec == .av1)
    #expect(concatenation.configuration.video?.sequenceHeader == Self.sequence)
    _ = try concatenation.write(to: joined, slate: { _ in [] })
    let report = try WebMProbe.probe(joined)
    #expect(report.tracks.map(\.codec) == ["V_AV1"] && report.problems == [])
    #expect(report.tracks.first?.codecString == "av01.0.00M.08")
    #expect(report.tracks.first?.keyframes == 2 && report.tracks.first?.frames == 8)
  }

  @Test func aPartThatDoesNotSayItsSequenceIsRefused() throws {
    let path = try part("1.webm")
    var bytes = Files.read(path)
    let record = try #require(bytes.indices.first { bytes[$0...].starts(with: [0x81, 0, 0x0c, 0]) })
    bytes[record + 4] = 0x7a
    let damaged = directory.path("2.webm")
    Files.write(bytes, to: damaged)
    let error = #expect(throws: WebMError.self) {
      try Concatenation([.init(path: path), .init(path: damaged)], spacing: .fixed(.zero))
    }
    #expect(error?.description.contains("its CodecPrivate has no sequence header") == true)
  }
}
