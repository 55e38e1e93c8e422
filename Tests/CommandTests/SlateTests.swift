import MediaCore
import Testing

@testable import WebM
@testable import recbot

@Suite struct SlateTests {
  private let gap = Concatenation.Gap(start: .seconds(1), end: .seconds(3), dates: nil)

  @Test(arguments: RecordingCodec.allCases) func aGapIsFilledInEachCodec(codec: RecordingCodec) throws {
    let frames = try Slate.frames(
      for: gap, video: .init(codec: codec, width: 320, height: 180, framesPerSecond: 10))
    #expect(frames.map(\.isKeyframe) == [true] + Array(repeating: false, count: 20))
    #expect(frames.allSatisfy { $0.codec == codec.codec && $0.width == 320 && $0.payload.count > 0 })
  }

  @Test(arguments: [(16_383, 16_383), (5_000, 720), (1_280, 5_000), (321, 180), (320, 181), (16, 16)])
  func aSizeThatRecordingsDoNotHaveIsRefusedAtOnce(width: Int, height: Int) {
    let error = #expect(throws: Failure.self) {
      try Slate.frames(for: gap, video: .init(codec: .av1, width: width, height: height, framesPerSecond: 30))
    }
    #expect(error?.exitCode == .inputUnusable && error?.message.contains("\(width)x\(height)") == true)
  }

  @Test func lengthsAreWholeSecondsAndReadAsClocksDo() {
    #expect(Slate.length(.milliseconds(4_999)) == "5 s")
    #expect(Slate.length(.milliseconds(5_400)) == "5 s")
    #expect(Slate.length(.zero) == "1 s")
    #expect(Slate.length(.milliseconds(59_600)) == "1:00 min")
    #expect(Slate.length(.seconds(125)) == "2:05 min")
    #expect(Slate.length(.seconds(3_725)) == "1:02:05 h")
  }
}
