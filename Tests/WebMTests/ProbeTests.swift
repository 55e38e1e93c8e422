import FuzzTargets
import MediaCore
import TestKit
import Testing

@testable import WebM

/// The examiner, on good files, on files of others, and on no files at all.
@Suite struct ProbeTests {
  let directory = TemporaryDirectory()

  private func write(_ frames: [Clip.Frame], finishes: Bool = true) throws -> String {
    let path = directory.path("recording.webm")
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    for frame in frames { try writer.add(frame) }
    if finishes { _ = try writer.finish() } else { writer.abandon() }
    return path
  }

  @Test func aRecordingIsMeasured() throws {
    let report = try WebMProbe.probe(try write(Clip.shared.frames))
    #expect(report.container == "webm" && report.containerVersion == 4)
    #expect(report.muxingApp == "recbot" && report.writingApp == "recbot")
    #expect(report.endedCleanly && report.problems == [] && report.gaps == [])
    #expect(report.cues == 3 && report.seekEntries == 3)
    let video = try #require(report.tracks.first)
    #expect(video.kind == .video && video.codec == "V_VP8" && video.width == 320 && video.height == 180)
    #expect(video.codecString == "vp8")
    #expect(video.frames == 120 && video.keyframes == 3 && video.start == .zero)
    #expect(video.longestKeyframeInterval == .milliseconds(1500))
    #expect(abs(video.framesPerSecond - 30) < 0.05)
    #expect(video.end.milliseconds == 4000)
    let audio = try #require(report.tracks.last)
    #expect(audio.kind == .audio && audio.codec == "A_OPUS" && audio.sampleRate == 48_000 && audio.channels == 2)
    #expect(audio.codecDelay == .microseconds(6500))
    #expect(audio.frames == Clip.shared.frames.count { !$0.isVideo } && audio.largestGap == .zero)
    #expect(report.duration == max(video.end, audio.end).sinceBeginning)
  }

  @Test func anUnfinishedRecordingIsTold() throws {
    let report = try WebMProbe.probe(try write(Clip.shared.frames, finishes: false))
    #expect(!report.endedCleanly && report.declaredDuration == nil && !report.hasSegmentSize)
    #expect(report.problems == [] && report.duration.milliseconds > 3900)
    #expect(report.text.contains("not cleanly: no Duration, Cues, SeekHead, Segment size; it plays, seeks slowly"))
  }

  @Test func gapsAreFound() throws {
    let frames = Clip.shared.frames.filter {
      $0.isVideo
        ? !(SessionTime.milliseconds(1000)..<SessionTime.milliseconds(1100)).contains($0.time)
        : !(SessionTime.milliseconds(2000)..<SessionTime.milliseconds(2100)).contains($0.time)
    }
    let report = try WebMProbe.probe(try write(frames))
    #expect(
      report.gaps == [
        .init(track: 1, start: SessionTime(nanoseconds: 1_000_333_333), end: .milliseconds(1100)),
        .init(track: 2, start: .milliseconds(2000), end: .milliseconds(2100)),
      ])
    #expect(report.tracks.last?.largestGap == .milliseconds(100))
    #expect(report.text.contains("gap       track 2: nothing for 0.100 s from 00:00:02.000"))
  }

  @Test func oneMissingPictureIsNoGap() throws {
    var frames = Clip.shared.frames
    frames.remove(at: try #require(frames.lastIndex { $0.isVideo && !$0.isKeyframe && $0.time < .seconds(2) }))
    let report = try WebMProbe.probe(try write(frames))
    #expect(report.gaps == [])
  }

  @Test func filesOfOthersAreRead() throws {
    let report = try Clip.shared.file.withUnsafeBytes { try WebMProbe.probe($0, name: "clip.webm") }
    #expect(report.endedCleanly && report.problems == [])
    #expect(report.muxingApp.hasPrefix("Lavf"))
    #expect(report.tracks.map(\.codec) == ["V_VP8", "A_OPUS"])
    #expect(report.tracks.first?.frames == 120)
  }

  @Test func otherFilesAreRefusedWithAReason() throws {
    func reason(_ bytes: [UInt8]) -> String? {
      let path = directory.path("other")
      Files.write(bytes, to: path)
      do {
        _ = try WebMProbe.probe(path)
        return nil
      } catch { return error.description.replacing(path, with: "F") }
    }
    #expect(reason([]) == "F: not a WebM or Matroska file (it is empty)")
    #expect(reason(Array("hello, world".utf8)) == "F: not a WebM or Matroska file (it has no EBML head)")
    #expect(reason(Array("RIFF\0\0\0\0WAVE".utf8)) == "F: not a WebM or Matroska file (it has no EBML head)")
    let missing = #expect(throws: WebMError.self) { try WebMProbe.probe(directory.path("nothing")) }
    #expect(missing?.code == .open)
    let folder = #expect(throws: WebMError.self) { try WebMProbe.probe("/tmp") }
    #expect(folder?.description == "/tmp: not a WebM or Matroska file (it is not a regular file)")
  }

  @Test func damageIsToldAndWhatCameBeforeIsMeasured() throws {
    var bytes = Files.read(try write(Clip.shared.frames))
    let middle = bytes.count / 2
    for index in middle..<middle + 6000 { bytes[index] = 0xff }
    let report = try bytes.withUnsafeBytes { try WebMProbe.probe($0, name: "damaged") }
    #expect(!report.problems.isEmpty)
    #expect(report.tracks.reduce(0) { $0 + $1.frames } > 50)
  }

  @Test func jsonIsWellFormedAndEscaped() throws {
    var report = ProbeReport(path: "a\"b\\c\n\u{1}")
    #expect(report.json.contains(#""path": "a\"b\\c\n\u0001""#))
    report.tags = [.init(name: "N", value: "\u{1F3A5} \u{7f}")]
    report.tracks = [.init(number: 1, kind: .video, codec: "V_VP8")]
    report.problems = ["one", "two"]
    let path = directory.path("report.json")
    Files.write(Array(report.json.utf8), to: path)
    // Any JSON reader will do.
    if Tool.find("python3") != nil {
      let script =
        "import json,sys; d=json.load(open(sys.argv[1])); print(d['tags'][0]['value'], len(d['tracks']), d['problems'])"
      let result = Tool.run(["python3", "-c", script, path], in: directory)
      #expect(result.output.hasSuffix(" 1 ['one', 'two']\n"), "\(result.errors)")
    }
  }

  @Test func textShowsNoControlCharacters() {
    var report = ProbeReport(path: "x")
    report.title = "\u{1b}[31mred\u{9b}"
    #expect(report.text.contains("␛[31mred\u{FFFD}"))
    #expect(!report.text.unicodeScalars.contains("\u{1b}"))
  }

  @Test func datesAreRight() {
    #expect(ProbeReport.utc(0) == "1970-01-01T00:00:00Z")
    #expect(ProbeReport.utc(1_709_164_800_000_000_000) == "2024-02-29T00:00:00Z")
    #expect(ProbeReport.utc(4_102_444_799_999_999_999) == "2099-12-31T23:59:59Z")
    #expect(ProbeReport.utc(-1) == "1969-12-31T23:59:59Z")
    #expect(ProbeReport.utc(.max) == "2262-04-11T23:47:16Z")
    #expect(ProbeReport.utc(.min) == "1677-09-21T00:12:43Z")
  }

  @Test func arbitraryBytesNeverTrap() throws {
    // Real files with seeded damage; the libFuzzer target goes on from here.
    let good = Files.read(try write(Array(Clip.shared.frames.prefix(40))))
    for seed in 0..<400 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      var bytes = seed % 2 == 0 ? good : Array(good.prefix(6000))
      for _ in 0...Int(random.next() % 12) {
        // Mostly in the heads, where the structure is.
        let place = Int(random.next() % UInt64(random.next() % 2 == 0 ? 480 : bytes.count))
        bytes[place] = UInt8(truncatingIfNeeded: random.next())
      }
      bytes.withUnsafeBytes { fuzzWebM($0) }
    }
    for seed in 0..<400 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      let bytes = good.prefix(48) + (0..<Int(random.next() % 300)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      Array(bytes).withUnsafeBytes { fuzzWebM($0) }
    }
    fuzzWebM(UnsafeRawBufferPointer(start: nil, count: 0))
  }
}
