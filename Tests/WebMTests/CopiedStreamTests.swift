import MediaCore
import TestKit
import Testing

@testable import WebM

/// Streams that are put into files as they came.
@Suite struct CopiedStreamTests {
  let directory = TemporaryDirectory()

  private static let h264: [UInt8] =
    [0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x1f, 0x8c, 0, 0, 0, 1, 0x68, 0xce, 0x3c, 0x80, 0, 0, 1, 0x65, 1, 2, 3]

  private func stream(_ codec: Codec, _ bytes: [UInt8]) -> CopiedStream? {
    bytes.withUnsafeBytes { CopiedStream(codec, firstFrame: $0) }
  }

  private func stored(_ stream: CopiedStream?, _ bytes: [UInt8]) -> [UInt8]? {
    bytes.withUnsafeBytes { bytes in
      var stream = stream
      return stream?.stored(bytes)
    }
  }

  @Test func unitsOfH264StandBehindTheirLengths() throws {
    let stream = self.stream(.h264, Self.h264)
    // The last byte of the first set is not zero, the zero behind the second belongs to the next start code.
    #expect(
      stored(stream, Self.h264) == [0, 0, 0, 5, 0x67, 0x42, 0xc0, 0x1f, 0x8c, 0, 0, 0, 4, 0x68, 0xce, 0x3c, 0x80]
        + [0, 0, 0, 4, 0x65, 1, 2, 3])
    #expect(
      stream?.codecPrivate == [1, 0x42, 0xc0, 0x1f, 0xff, 0xe1, 0, 5, 0x67, 0x42, 0xc0, 0x1f, 0x8c, 1, 0, 4]
        + [0x68, 0xce, 0x3c, 0x80])
    #expect(stream?.fileEnding == "mkv" && stream?.codecID == "V_MPEG4/ISO/AVC")
    // Without its parameter sets it cannot be described.
    #expect(self.stream(.h264, Array(Self.h264.suffix(8))) == nil && self.stream(.h264, []) == nil)
  }

  @Test func av1HasNoDelimitersInFiles() {
    // A sequence header (profile 0, level 5, 640x360) and a frame of three bytes.
    let header: [UInt8] = [0x0a, 0x0b, 0x00, 0x00, 0x00, 0x2d, 0x4c, 0xff, 0xb3, 0xdf, 0xff, 0x98, 0x04]
    let frame: [UInt8] = [0x32, 3, 9, 9, 9]
    let stream = self.stream(.av1, [0x12, 0] + header + frame)
    #expect(stored(stream, [0x12, 0] + header + frame) == header + frame)
    #expect(stream?.codecPrivate.map { Array($0.prefix(1) + $0.dropFirst(4)) } == [0x81] + header)
    #expect(stream?.fileEnding == "webm")
    #expect(self.stream(.av1, [0x12, 0] + frame) == nil)
  }

  @Test func telephonesAreMatroska() throws {
    let stream = try #require(self.stream(.pcmu, [0xff]))
    #expect(stream.codecPrivate == [7, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0, 0, 0])
    let path = directory.path("a.mkv")
    let writer = try WebMWriter(
      path: path, configuration: WebMConfiguration(video: nil, audio: .init(stream)), syncs: false)
    for index in 0..<50 {
      try [UInt8](repeating: 0xff, count: 160).withUnsafeBytes {
        try writer.addAudio(at: .milliseconds(Int64(3000 + index * 20)), $0)
      }
    }
    #expect(try writer.finish().duration == .milliseconds(4000))
    let report = try WebMProbe.probe(path)
    #expect(report.container == "matroska" && report.endedCleanly && report.problems.isEmpty)
    #expect(report.tracks.first?.codec == "A_MS/ACM" && report.tracks.first?.sampleRate == 8000)
    if Tool.judgesAreThere { #expect(Tool.decode(path, in: directory) == "") }
  }

  @Test func whateverTheBytesNothingTraps() {
    var random = SeededRandom(seed: 77)
    for _ in 0..<20_000 {
      var bytes = (0..<Int(random.next() % 64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      for place in bytes.indices where random.next() % 3 == 0 { bytes[place] = [0, 0, 1, 0x67, 0x42, 0x0a][place % 6] }
      for codec in Codec.allCases {
        let stream = self.stream(codec, bytes)
        #expect((stored(stream, bytes) ?? []).count <= 2 * bytes.count + 40)
      }
    }
  }
}
