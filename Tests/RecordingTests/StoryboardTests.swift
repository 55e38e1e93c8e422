import Compositor
import Foundation
import Layouts
import MediaCore
import Session
import Testing

@testable import Recording

@Suite struct StoryboardTests {
  @Test(arguments: [
    (1, 1, 1, false), (15, 1, 15, false), (100, 1, 100, false), (101, 2, 51, false), (121, 5, 25, true),
    (500, 5, 100, true), (501, 6, 84, true), (36_000, 360, 100, true),
  ])
  func lengthsHaveTheirIntervals(length: Int64, interval: Int64, count: Int, keyframesOnly: Bool) {
    let plan = StoryboardPlan(length: .seconds(length), width: 1280, height: 720)
    #expect(plan.interval == .seconds(interval) && plan.count == count && plan.keyframesOnly == keyframesOnly)
    #expect(plan.tileHeight == 90)
  }

  @Test func strangeSizesAreBounded() {
    #expect(StoryboardPlan(length: .zero, width: 0, height: 0).count == 1)
    #expect(StoryboardPlan(length: .zero, width: 1, height: .max).tileHeight == 640)
    #expect(StoryboardPlan(length: .zero, width: .max, height: 1).tileHeight == 2)
  }

  @Test func cuesNameTheirPartOfThePicture() {
    let plan = StoryboardPlan(length: .milliseconds(2_500), width: 1280, height: 720)
    #expect(
      plan.text(image: "a.png", shown: [0, 1, 1]) == """
        WEBVTT

        00:00:00.000 --> 00:00:01.000
        a.png#xywh=0,0,160,90

        00:00:01.000 --> 00:00:02.000
        a.png#xywh=160,0,160,90

        00:00:02.000 --> 00:00:02.500
        a.png#xywh=160,0,160,90

        """)
  }

  @Test func aRecordingHasItsSmallPictures() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-storyboard-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func path(_ name: String) -> String { folder.appending(path: name).path }
    let session = SessionCore.Settings(canvas: CanvasSize(width: 320, height: 180), layout: .grid, framesPerSecond: 5)
    let output = try FileOutput(RecordingSettings(session: session, output: path("a.webm")))
    let picture = Picture(width: 320, height: 180)
    for slot in Int64(0)..<15 {
      picture.fill(y: UInt8(40 + slot / 5 * 60), u: 128, v: 128)
      try output.picture(picture, isChanged: true, slot: slot, at: .milliseconds(slot * 200))
    }
    _ = try output.finish()
    try Storyboard.write(of: path("a.webm"), image: path("a.png"), text: path("a.vtt"), name: "a.png")
    let text = try String(contentsOfFile: path("a.vtt"), encoding: .utf8)
    #expect(text.hasPrefix("WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na.png#xywh=0,0,160,90\n"))
    #expect(text.contains("a.png#xywh=320,0,160,90"))
    let image = try Data(contentsOf: folder.appending(path: "a.png"))
    // The size stands in the header: three small pictures in a row.
    #expect(Array(image[16..<24]) == [0, 0, 1, 224, 0, 0, 0, 90])
    #expect(throws: RecordingError.self) {
      try Storyboard.write(of: path("none.webm"), image: path("b.png"), text: path("b.vtt"), name: "b.png")
    }
  }
}
