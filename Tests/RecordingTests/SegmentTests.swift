import Codecs
import Foundation
import Layouts
import MediaCore
import Session
import Testing
import WebM

@testable import Recording

/// Recordings that are written in segments beside their file.
@Suite struct SegmentTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-segments-\(UUID())").path

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  private var segments: String { "\(folder)/talk.segments" }

  private func settings(isAudioOnly: Bool = false) -> RecordingSettings {
    let session = SessionCore.Settings(
      canvas: CanvasSize(width: 320, height: 180), layout: .grid, framesPerSecond: 10, title: "talk",
      startDate: 1_790_000_000_000_000_000)
    var settings = RecordingSettings(session: session, output: "\(folder)/talk.webm")
    settings.isAudioOnly = isAudioOnly
    settings.segments = SegmentSettings(folder: segments, length: .seconds(2))
    return settings
  }

  /// Gives an output so many seconds of pictures and sound, which is up to 40 ms ahead of them, as in a recording.
  private func fill(_ output: FileOutput, seconds: Int64, leavingOut slots: Set<Int64> = []) throws {
    let sound = try AudioEncoder(bitrate: 64_000)
    let samples = (0..<1920).map { Float(0.3 * sin(Double($0) / 20)) }
    let picture = Picture(width: 320, height: 180)
    var block = Int64(0)
    func mix(until time: Int64) throws {
      while block * 20 + 20 <= time {
        let packet = try samples.withUnsafeBufferPointer { try sound.encode($0) }
        try output.audio(packet, at: .milliseconds(block * 20))
        block += 1
      }
    }
    for slot in 0..<seconds * 10 {
      try mix(until: slot * 100 + (slot % 3) * 20)
      picture.fill(y: UInt8(50 + slot), u: 80, v: 80)
      if !slots.contains(slot) {
        try output.picture(picture, change: .anything, slot: slot, at: .milliseconds(slot * 100))
      }
      if slot == 25 { output.setTitle("another title") }
    }
    try mix(until: seconds * 1000)
  }

  private struct Frame: Equatable {
    var track: UInt64
    var milliseconds: Int64
    var isKeyframe: Bool
    var bytes: [UInt8]
  }

  private func frames(_ path: String, from start: Int64 = 0) throws -> [Frame] {
    var frames: [Frame] = []
    try WebMReader.forEachFrame(path: path) { frame in
      frames.append(
        Frame(
          track: frame.track, milliseconds: frame.time.milliseconds + start, isKeyframe: frame.isKeyframe,
          bytes: Array(frame.bytes)))
    }
    return frames
  }

  private struct Line: Decodable, Equatable {
    var file: String?
    var start_ms: Int64?
    var end_ms: Int64
    var at: String?
    var bytes: Int?
    var ended: Bool?
    var segments: Int?
  }

  private func index() throws -> [Line] {
    try String(contentsOfFile: "\(segments)/index.jsonl", encoding: .utf8).split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
  }

  @Test func eachFrameIsInOneSegment() throws {
    let output = try FileOutput(settings())
    output.setRoom("standup")
    try fill(output, seconds: 7)
    let size = try output.finish()
    #expect(try WebMProbe.probe("\(folder)/talk.webm").size == size)
    let lines = try index()
    #expect(lines.map(\.file) == ["000001.webm", "000002.webm", "000003.webm", "000004.webm", nil])
    #expect(
      lines.map(\.start_ms) == [0, 2000, 4000, 6000, nil] && lines.map(\.end_ms) == [2000, 4000, 6000, 7000, 7000])
    #expect(lines[1].at == "2026-09-21T14:13:22.000Z" && lines[4].ended == true && lines[4].segments == 4)
    var all: [Frame] = []
    for line in lines {
      guard let file = line.file, let start = line.start_ms else { continue }
      let report = try WebMProbe.probe("\(segments)/\(file)")
      #expect(report.endedCleanly && report.problems == [] && report.cues > 0 && report.gaps == [])
      #expect(report.size == Int64(line.bytes ?? 0) && report.title == (start < 2000 ? "talk" : "another title"))
      #expect(report.date == 1_790_000_000_000_000_000 + start * 1_000_000)
      let tags = Dictionary(report.tags.map { ($0.name, $0.value) }) { first, _ in first }
      let date = "2026-09-21 14:13:\(20 + start / 1000).000"
      #expect(tags["ROOM"] == "standup" && tags["TITLE"] == report.title && tags["DATE_RECORDED"] == date)
      let frames = try frames("\(segments)/\(file)", from: start)
      #expect(frames.allSatisfy { $0.milliseconds < line.end_ms } && frames.first { $0.track == 1 }?.isKeyframe == true)
      all += frames
    }
    #expect(
      try frames("\(folder)/talk.webm").sorted { ($0.milliseconds, $1.track) < ($1.milliseconds, $0.track) }
        == all.sorted { ($0.milliseconds, $1.track) < ($1.milliseconds, $0.track) })
    #expect(output.segments?.closed == 4 && output.segments?.failure == nil)
    #expect(output.segments?.bytes == UInt64(lines.reduce(0) { $0 + ($1.bytes ?? 0) }))
  }

  @Test func aSegmentThatNoPictureBeginsIsLonger() throws {
    let output = try FileOutput(settings())
    try fill(output, seconds: 5, leavingOut: Set(18...22))
    _ = try output.finish()
    #expect(try index().map(\.start_ms) == [0, 2300, 4000, nil])
    for line in try index() {
      guard let file = line.file, let start = line.start_ms else { continue }
      // Sound that begins before the picture is in the old one.
      let frames = try frames("\(segments)/\(file)", from: start)
      #expect(frames.allSatisfy { (start..<line.end_ms).contains($0.milliseconds) })
    }
  }

  @Test func soundAloneIsCutToo() throws {
    let output = try FileOutput(settings(isAudioOnly: true))
    try fill(output, seconds: 5)
    _ = try output.finish()
    #expect(try index().map(\.end_ms) == [2000, 4000, 5000, 5000])
    let all = try ["000001", "000002", "000003"].flatMap { try frames("\(segments)/\($0).webm") }
    #expect(all.map(\.bytes) == (try frames("\(folder)/talk.webm").map(\.bytes)))
  }

  @Test func segmentsThatCannotBeWrittenEndAndTheFileGoesOn() throws {
    let output = try FileOutput(settings())
    try FileManager.default.removeItem(atPath: segments)
    try fill(output, seconds: 3)
    _ = try output.finish()
    #expect(output.segments?.failure?.contains("talk.segments/000001.webm") == true)
    let report = try WebMProbe.probe("\(folder)/talk.webm")
    #expect(report.endedCleanly && report.problems == [] && report.end >= .zero + .seconds(3))
  }

  @Test func whatWaitsForTheDiskIsBounded() throws {
    let thread = try SegmentThread(
      SegmentSettings(folder: segments, length: .seconds(2)),
      WebMConfiguration(video: .init(width: 320, height: 180, framesPerSecond: 10), audio: nil), limit: 10_000)
    // More at once than may wait.
    for index in Int64(0)..<4 {
      thread.put(
        CodedFrame(
          kind: .video, time: .zero + .milliseconds(index), isKeyframe: index == 0,
          payload: MediaBuffer([UInt8](repeating: 1, count: 4000))))
    }
    #expect(thread.progress.failure == "the disk does not take them as fast as they come")
    thread.finish()
  }

  @Test func theFolderMustBeEmpty() throws {
    _ = try FileOutput(settings())
    #expect(throws: RecordingError.self) {
      var again = settings()
      again.output = "\(folder)/other.webm"
      _ = try FileOutput(again)
    }
  }
}
