import Foundation
import Layouts
import MediaCore
import Session
import Testing
import WebM

@testable import Recording

/// Pictures that are the same as the one before are not encoded again.
@Suite struct RepetitionTests {
  /// What becomes of pictures, a letter for each: `k` keyframe, `e` encoded, `-` repeated.
  private func verdicts(_ changes: [PictureChange], due: Set<Int> = [], canRepeat: Bool = true) -> String {
    var stillness = Stillness(framesPerSecond: 4, keyframeInterval: .seconds(5))
    var text = ""
    for (index, change) in changes.enumerated() {
      let time = SessionTime.milliseconds(Int64(index) * 250)
      let verdict = stillness.next(
        change, isDue: index == 0 || due.contains(index), canRepeat: canRepeat && index > 0, at: time)
      switch verdict {
      case .repeat: text += "-"
      case .encode(let isKeyframe):
        stillness.encoded(isKeyframe: isKeyframe, at: time)
        text += isKeyframe ? "k" : "e"
      }
    }
    return text
  }

  private func changes(_ count: Int, at changed: Set<Int>, details: Set<Int> = []) -> [PictureChange] {
    (0..<count).map { changed.contains($0) ? .anything : details.contains($0) ? .detail : .nothing }
  }

  @Test func aSecondAfterAChangeNothingIsEncodedButKeyframes() {
    #expect(verdicts(changes(46, at: [0])) == "keee----------------ke------------------ke----")
    #expect(verdicts(changes(24, at: [0, 8, 10])) == "keee----eeeeee------ke--")
    #expect(verdicts(changes(22, at: Set(0..<22))) == "keeeeeeeeeeeeeeeeeeeke")
    #expect(verdicts(changes(12, at: [0]), due: [7]) == "keee---ke---")
    #expect(verdicts(changes(9, at: [0]), canRepeat: false) == "keeeeeeee")
  }

  @Test func ringsAreEncodedWhenTheyChangeAndABitAfterwards() {
    // Somebody talks: a ring that changes with each third picture.
    #expect(
      verdicts(changes(19, at: [0], details: Set(stride(from: 6, to: 19, by: 3)))) == "keee--e--e--e--e--e")
    // The last ring gets its quality bit by bit.
    #expect(verdicts(changes(20, at: [0], details: [5])) == "keee-e--e--e--e--e--")
  }

  @Test(arguments: [RecordingCodec.vp8, .vp9, .av1]) func aStillFileHasAllItsPictures(codec: RecordingCodec) throws {
    let path = NSTemporaryDirectory() + "still-\(UUID().uuidString).webm"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var settings = RecordingSettings(
      session: .init(canvas: CanvasSize(width: 320, height: 180), layout: .grid, framesPerSecond: 10, startDate: 0),
      output: path)
    settings.codec = codec
    let output = try FileOutput(settings)
    let picture = Picture(width: 320, height: 180)
    picture.fill(y: 90, u: 100, v: 150)
    for slot in Int64(0)..<120 {
      try output.picture(picture, change: slot == 0 ? .anything : .nothing, slot: slot, at: .milliseconds(slot * 100))
    }
    _ = try output.finish()
    let report = try WebMProbe.probe(path)
    let video = try #require(report.tracks.first)
    #expect(video.frames == 120 && report.problems.isEmpty && report.endedCleanly)
    #expect(video.longestKeyframeInterval <= settings.keyframeInterval)
    #expect((2...3).contains(video.keyframes))
  }
}
