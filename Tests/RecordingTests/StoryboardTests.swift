import Foundation
import Layouts
import MediaCore
import Session
import Testing

@testable import Compositor
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

  @Test func aMomentOverAnIntervalNeedsALongerOne() {
    let plan = StoryboardPlan(length: .seconds(3_600) + .nanoseconds(400_000), width: 1280, height: 720)
    #expect(plan.interval == .seconds(37) && plan.count == 98)
    let cues = StoryboardPlan(length: .seconds(1) + .nanoseconds(1), width: 1280, height: 720).text(
      image: "a.png", shown: [0, 1])
    #expect(cues.contains("00:00:01.000 --> 00:00:01.001\n"))
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

  /// Calls `body` with a folder in which `a.webm` has three seconds, each of another grey, and with the path of a name in it.
  private func withRecording(_ body: (_ folder: URL, _ path: (String) -> String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-storyboard-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func path(_ name: String) -> String { folder.appending(path: name).path }
    let session = SessionCore.Settings(canvas: CanvasSize(width: 320, height: 180), layout: .grid, framesPerSecond: 5)
    let output = try FileOutput(RecordingSettings(session: session, output: path("a.webm")))
    let picture = Picture(width: 320, height: 180)
    for slot in Int64(0)..<15 {
      picture.fill(y: UInt8(40 + slot / 5 * 60), u: 128, v: 128)
      try output.picture(picture, change: .anything, slot: slot, at: .milliseconds(slot * 200))
    }
    _ = try output.finish()
    try body(folder, path)
  }

  /// The grey of a PNG's middle, and its size.
  private func middle(_ path: String) throws -> (size: [Int], grey: UInt8) {
    let image = try ImageDecoder().decode(Array(Data(contentsOf: URL(filePath: path))), smallestSide: 180)
    let pixels = try #require(image.pixels)
    return ([image.width, image.height], pixels[image.stride * (image.height / 2) + image.width / 2 * 4])
  }

  @Test func aPosterIsThePictureOfItsMoment() throws {
    try withRecording { _, path in
      // Of grey in studio range, in full range.
      for (moment, grey) in [(Int64(0), 28), (999, 28), (1_000, 98), (2_999, 168), (99_000, 168)] {
        let image = path("\(moment).png")
        try Poster.write(of: path("a.webm"), at: .zero + .milliseconds(moment), image: image)
        let (size, found) = try middle(image)
        #expect(size == [320, 180] && abs(Int(found) - grey) <= 3, "\(moment) ms: \(size), \(found) for \(grey)")
      }
      try Poster.write(of: path("a.webm"), at: nil, image: path("any.png"))
      #expect(try middle(path("any.png")).size == [320, 180])
      #expect(throws: RecordingError.self) {
        try Poster.write(of: path("a.webm"), at: nil, image: path("0.png"))
      }
      #expect(throws: RecordingError.self) {
        try Poster.write(of: path("none.webm"), at: nil, image: path("none.png"))
      }
      #expect(!FileManager.default.fileExists(atPath: path("none.png")))
    }
  }

  /// Somebody on a dark ground has more of it than the ground, colours count, and one colour has none.
  @Test func contrastIsOfBrightnessAndColours() {
    func contrast(_ grey: UInt8, _ u: UInt8) -> Int {
      let picture = Picture(width: 160, height: 90)
      picture.fill(y: 30, u: 128, v: 128)
      let person = Picture(width: 80, height: 90)
      person.fill(y: grey, u: u, v: 128)
      picture.paint(person, x: 0, y: 0, width: 80, height: 90)
      return Poster.contrast(picture)
    }
    #expect(contrast(30, 128) == 0 && contrast(50, 128) == 100 && contrast(50, 148) == 200)
  }

  @Test func namesThatAreNoURLsAreEncoded() throws {
    try withRecording { _, path in
      try Storyboard.write(of: path("a.webm"), image: path("b.png"), text: path("b.vtt"), name: "a b: --> #?.png")
      let text = try String(contentsOfFile: path("b.vtt"), encoding: .utf8)
      #expect(text.contains("\na%20b%3A%20--%3E%20%23%3F.png#xywh=0,0,160,90\n"))
    }
  }

  @Test func aRecordingHasItsSmallPictures() throws {
    try withRecording { folder, path in
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
}
