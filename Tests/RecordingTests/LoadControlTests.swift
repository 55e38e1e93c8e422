import Foundation
import Layouts
import MediaCore
import Testing
import WebM

@testable import Recording
@testable import Session

/// What a recording does without when it takes more of the processor than it may, or falls behind.
@Suite struct LoadControlTests {
  /// Looks at a load again and again; gives the look and the step of each change, such as `3 encoder-speed`.
  private func changes(
    _ control: inout LoadControl, _ looks: Int, share: Double = 0, behind: (Int) -> Int64 = { _ in 0 }
  ) -> [String] {
    (1...looks).compactMap { look in
      control.look(at: .init(share: share, behind: .milliseconds(behind(look)))).map { "\(look) \($0.name)" }
    }
  }

  @Test func aStepEveryThreeSecondsUntilTheBudgetIsKept() {
    var control = LoadControl(budget: 0.25)
    #expect(changes(&control, 60, share: 0.25) == [])
    #expect(changes(&control, 10, share: 0.26) == ["3 encoder-speed", "6 still-scenes", "9 layers"])
    #expect(changes(&control, 60, share: 0.24) == [])
    #expect(
      changes(&control, 12, share: 0.9) == ["3 half-rate", "6 third-rate", "9 half-size"])
    #expect(control.isExhausted)
    // One look is no load.
    var other = LoadControl(budget: 0.25)
    for _ in 0..<20 { #expect(changes(&other, 2, share: 0.9) + changes(&other, 1, share: 0.2) == []) }
    #expect(!other.isExhausted)
  }

  @Test func aStepBackAfterTenSecondsWithRoom() {
    var control = LoadControl(budget: 0.5)
    _ = changes(&control, 9, share: 0.6)
    #expect(control.step == .layers)
    #expect(changes(&control, 100, share: 0.45) == [])
    #expect(changes(&control, 30, share: 0.3) == ["10 still-scenes", "20 encoder-speed", "30 none"])
    #expect(changes(&control, 60, share: 0.3) == [])
  }

  @Test func whatDidNotLastIsTriedLessAndLessOften() {
    var control = LoadControl(budget: 0.5)
    _ = changes(&control, 3, share: 0.6)
    var waits: [Int] = []
    for _ in 0..<7 {
      var wait = 0
      while control.step == .encoderSpeed, wait < 1000 {
        wait += 1
        _ = control.look(at: .init(share: 0.3, behind: .zero))
      }
      waits.append(wait)
      _ = changes(&control, 3, share: 0.6)
      #expect(control.step == .encoderSpeed)
    }
    #expect(waits == [10, 20, 40, 80, 160, 160, 160])
    // A load that comes much later is another one.
    _ = changes(&control, 160, share: 0.3)
    #expect(control.step == .none)
    _ = changes(&control, 500, share: 0.3)
    _ = changes(&control, 3, share: 0.6)
    #expect(changes(&control, 20, share: 0.3) == ["10 none"])
  }

  @Test func whoIsBehindAndDoesNotCatchUpIsStrainedWithoutABudget() {
    var control = LoadControl(budget: nil)
    // A second in which nothing ran is caught up with.
    #expect(changes(&control, 10, share: 9) { 1500 - Int64($0) * 200 } == [])
    #expect(changes(&control, 6) { _ in 900 } == ["3 encoder-speed", "6 still-scenes"])
    #expect(changes(&control, 3) { 900 + Int64($0) * 100 } == ["3 layers"])
    #expect(
      changes(&control, 40) { max(0, 1000 - Int64($0) * 100) } == ["14 still-scenes", "24 encoder-speed", "34 none"])
  }

  @Test func whoLosesPicturesTakesAStepEachSecond() {
    var control = LoadControl(budget: nil)
    var steps: [String] = []
    // Losing them lets it catch up now and then.
    for look in 1...8 {
      let load = LoadControl.Load(share: 0, behind: .milliseconds(look % 2 * 2000), losesPictures: true)
      if let step = control.look(at: load) { steps.append(step.name) }
    }
    #expect(steps == DegradationStep.allCases.dropFirst().map(\.name) && control.isExhausted)
    #expect(changes(&control, 10) == ["10 third-rate"])
  }

  @Test func theShareIsThatOfTheTimeBetweenTwoLooks() {
    var used = Duration.zero
    var degradation = Degradation(
      .init(canvas: CanvasSize(width: 64, height: 48), layout: .grid), budget: 0.5, processorTime: { used })
    var steps: [String] = []
    for slot in Int64(0)..<400 {
      // Forty milliseconds in each of a hundred: 0.4 of a core, and from the second 10 on 0.6.
      used += .milliseconds(slot < 100 ? 40 : 60)
      if let step = degradation.look(at: .milliseconds(slot * 100), lag: .milliseconds(600)) {
        steps.append("\(slot / 10) \(step.name)")
      }
    }
    #expect(steps.first == "13 encoder-speed" && steps.count == 6 && steps.last == "28 half-size")
  }

  @Test func ofHowManySlotsOneIsWritten() {
    func intervals(_ framesPerSecond: Int, isStill: Bool) -> [Int64] {
      DegradationStep.allCases.map { $0.interval(isStill: isStill, framesPerSecond: framesPerSecond) }
    }
    #expect(intervals(30, isStill: false) == [1, 1, 1, 1, 2, 3, 3])
    #expect(intervals(30, isStill: true) == [1, 1, 3, 3, 3, 3, 3])
    #expect(intervals(10, isStill: true) == [1, 1, 1, 1, 2, 3, 3])
    #expect(intervals(5, isStill: true) == [1, 1, 1, 1, 2, 3, 3])
    #expect(intervals(60, isStill: true) == [1, 1, 6, 6, 6, 6, 6])
  }

  /// A file that is written while steps are taken: each frame is decoded, and has the size that it should have.
  @Test(arguments: [RecordingCodec.vp8, .vp9, .av1]) func aFileGoesOnThroughAllSteps(codec: RecordingCodec) throws {
    let path = NSTemporaryDirectory() + "degraded-\(UUID().uuidString).webm"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var settings = RecordingSettings(
      session: .init(canvas: CanvasSize(width: 320, height: 182), layout: .grid, framesPerSecond: 10, startDate: 0),
      output: path)
    settings.codec = codec
    let output = try FileOutput(settings)
    let picture = Picture(width: 320, height: 182)
    for slot in Int64(0)..<60 {
      if slot == 20 { for step in DegradationStep.allCases { try output.degrade(to: step) } }
      if slot == 40 { for step in DegradationStep.allCases.reversed() { try output.degrade(to: step) } }
      picture.fill(y: UInt8(60 + slot * 2), u: 100, v: 150)
      try output.picture(picture, change: .anything, slot: slot, at: .milliseconds(slot * 100))
    }
    _ = try output.finish()
    let report = try WebMProbe.probe(path)
    #expect(report.problems.isEmpty && report.tracks.first?.frames == 60)
    let sizes = try Self.sizes(path)
    let middle = codec == .av1 ? "320x182" : "160x92"
    #expect(
      sizes == Array(repeating: "320x182", count: 20) + Array(repeating: middle, count: 20)
        + Array(repeating: "320x182", count: 20))
  }

  /// The size of each frame, as ffprobe decodes it.
  private static func sizes(_ path: String) throws -> [String] {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/ffprobe")
    process.arguments = [
      "-v", "error", "-select_streams", "v", "-show_entries", "frame=width,height", "-of", "csv=p=0:s=x", path,
    ]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
