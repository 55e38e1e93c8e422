import Glibc
import MediaCore
import TestKit
import Testing

@testable import WebM

/// What the writer puts where.
@Suite struct WriterTests {
  let directory = TemporaryDirectory()

  private func recording(
    _ configuration: WebMConfiguration = Clip.configuration, _ body: (WebMWriter) throws -> Void
  ) throws -> Contents {
    let path = directory.path("recording.webm")
    let writer = try WebMWriter(path: path, configuration: configuration)
    try body(writer)
    _ = try writer.finish()
    let contents = try Contents.of(path)
    #expect(contents.status == 0)
    return contents
  }

  @Test func soundGoesBeforeAPictureOfTheSameTime() throws {
    let contents = try recording { writer in
      try writer.addPicture(0, isKeyframe: true)
      try writer.addAudio(0)
      try writer.addPicture(33)
      try writer.addAudio(20)
      try writer.addAudio(40)
      try writer.addPicture(67)
      try writer.addAudio(60)
    }
    #expect(contents.order == "A0 V0k A20 V33 A40 A60 V67")
  }

  @Test func aClusterEndsAfterHalfASecond() throws {
    let contents = try recording(WebMConfiguration(video: nil, audio: .init())) { writer in
      for index in 0..<100 { try writer.addAudio(Int64(index) * 20) }
    }
    #expect(contents.clusters.map(\.ticks) == [0, 500, 1000, 1500])
    #expect(contents.clusters.map(\.blocks.count) == [25, 25, 25, 25])
    #expect(contents.clusters.allSatisfy { $0.size != nil })
    #expect(contents.cues.map(\.ticks) == [0, 1000])
  }

  @Test func aKeyframeBeginsAClusterTogetherWithTheSoundItFallsInto() throws {
    let contents = try recording { writer in
      for index in 0..<12 { try writer.addAudio(Int64(index) * 20) }
      for index in 0..<7 { try writer.addPicture(Int64(index * 100 + 1) / 3, isKeyframe: index % 4 == 0) }
    }
    // The keyframe at 133 ms falls into the sound from 120 to 140 ms (WebM muxer guidelines).
    #expect(
      contents.order == "A0 V0k A20 V33 A40 A60 V67 A80 A100 V100 | A120 V133k A140 A160 V167 A180 A200 V200 A220")
  }

  @Test func cuesAreAtLeastASecondApartAndPointToClusters() throws {
    let contents = try recording { writer in
      for index in 0..<100 { try writer.addPicture(Int64(index) * 40, isKeyframe: index % 10 == 0) }
    }
    #expect(contents.cues.map(\.ticks) == [0, 1200, 2400, 3600])
    let clusters = Set(contents.clusters.map(\.position))
    for cue in contents.cues { #expect(clusters.contains(contents.segmentStart + cue.position)) }
  }

  @Test func aSilentTrackHoldsTheOtherUpForAQuarterOfASecondOnly() throws {
    let path = directory.path("recording.webm")
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    for index in 0..<50 { try writer.addAudio(Int64(index) * 20) }
    // Not finished: what is in the file now would be there after a kill.
    let times = try Contents.of(path).frames.map(\.ticks)
    #expect(times == (0..<times.count).map { Int64($0) * 20 })
    #expect(times.last.map { 980 - $0 < 250 + 20 } == true)
    try writer.flush()
    #expect(try Contents.of(path).frames.count == 50)
  }

  @Test func lateFramesKeepTheirTimes() throws {
    let contents = try recording { writer in
      try writer.addPicture(0, isKeyframe: true)
      for index in 1..<20 { try writer.addPicture(Int64(index) * 40) }
      try writer.addAudio(400)
      try writer.addPicture(800, isKeyframe: true)
      try writer.addAudio(780)
    }
    #expect(contents.frames.filter { $0.track == 2 }.map(\.ticks) == [400, 780])
    #expect(contents.frames.filter { $0.track == 1 }.map(\.ticks) == (0...20).map { Int64($0) * 40 })
  }

  @Test func timesNeverGoBackOnATrack() throws {
    let contents = try recording { writer in
      try writer.addPicture(100, isKeyframe: true)
      try writer.addPicture(100)
      try writer.addPicture(50)
      try writer.addAudio(-5)
      try writer.addAudio(90)
      try writer.addAudio(80)
    }
    #expect(contents.frames.filter { $0.track == 1 }.map(\.ticks) == [100, 101, 102])
    #expect(contents.frames.filter { $0.track == 2 }.map(\.ticks) == [0, 90, 91])
  }

  @Test func aLongSilenceStaysInsideThe16BitsOfABlock() throws {
    let contents = try recording { writer in
      try writer.addPicture(0, isKeyframe: true)
      try writer.addAudio(0)
      try writer.addPicture(3_600_000)
      try writer.addAudio(100_000)
      try writer.addPicture(3_600_033)
      try writer.addAudio(100_020)
    }
    #expect(contents.frames.filter { $0.track == 1 }.map(\.ticks) == [0, 3_600_000, 3_600_033])
    #expect(contents.frames.filter { $0.track == 2 }.map(\.ticks) == [0, 100_000, 100_020])
  }

  @Test func picturesBeforeTheFirstKeyframeAreDropped() throws {
    let path = directory.path("recording.webm")
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    try writer.addPicture(0)
    try writer.addPicture(33)
    try writer.addPicture(67, isKeyframe: true)
    #expect(writer.framesBeforeKeyframe == 2)
    #expect(try writer.finish().videoFrames == 1)
  }

  @Test func payloadsComeBackAsTheyWere() throws {
    let sizes = [1, 2, 122, 123, 124, 126, 127, 128, 16_378, 16_379, 16_380, 16_384, 100_000, 2_097_150, 3_000_000]
    var random = SeededRandom(seed: 11)
    let payloads = sizes.map { size in (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
    let contents = try recording { writer in
      for (index, payload) in payloads.enumerated() {
        try writer.addVideo(at: .milliseconds(Int64(index) * 40), payload, isKeyframe: index == 0)
      }
    }
    #expect(zip(contents.frames, payloads).allSatisfy { $0.bytes == $1 })
  }

  @Test func theFileIsPrivateAndNewAndNotALink() throws {
    let path = directory.path("recording.webm")
    _ = try WebMWriter(path: path, configuration: Clip.configuration).finish()
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    let before = Files.read(path)
    let again = #expect(throws: WebMError.self) { try WebMWriter(path: path, configuration: Clip.configuration) }
    #expect(again?.code == .exists)
    #expect(again?.description == "\(path): exists already and is not overwritten; choose another name or move it away")
    #expect(Files.read(path) == before)
    let link = directory.path("link.webm")
    symlink(directory.path("elsewhere.webm"), link)
    let throughLink = #expect(throws: WebMError.self) { try WebMWriter(path: link, configuration: Clip.configuration) }
    #expect(throughLink?.code == .exists)
    #expect(!Files.exists(directory.path("elsewhere.webm")))
    let nowhere = directory.path("missing/recording.webm")
    let missing = #expect(throws: WebMError.self) {
      try WebMWriter(path: nowhere, configuration: Clip.configuration)
    }
    #expect(missing?.description == "\(nowhere): cannot create it: No such file or directory")
  }

  @Test func impossibleConfigurationsLeaveNoFile() throws {
    let path = directory.path("recording.webm")
    let wrong = [
      WebMConfiguration(video: nil, audio: nil),
      WebMConfiguration(video: .init(width: 0, height: 180, framesPerSecond: 30), audio: nil),
      WebMConfiguration(video: .init(width: 320, height: 16_384, framesPerSecond: 30), audio: nil),
      WebMConfiguration(video: nil, audio: .init(channels: 6)),
      WebMConfiguration(video: nil, audio: .init(preSkip: -1)),
    ]
    for configuration in wrong {
      let error = #expect(throws: WebMError.self) { try WebMWriter(path: path, configuration: configuration) }
      #expect(error?.code == .invalid)
    }
    #expect(!Files.exists(path))
  }

  @Test func anOpenDescriptorIsTakenOver() throws {
    let path = directory.path("recording.webm")
    let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR, 0o600)
    let writer = try WebMWriter(descriptor: descriptor, path: path, configuration: Clip.configuration)
    try writer.addPicture(0, isKeyframe: true)
    _ = try writer.finish()
    #expect(!isOpen(descriptor, on: path))
    #expect(try WebMProbe.probe(path).endedCleanly)
    let full = open(path, O_RDWR)
    let refused = #expect(throws: WebMError.self) {
      try WebMWriter(descriptor: full, path: path, configuration: Clip.configuration)
    }
    #expect(refused?.code == .exists)
  }

  @Test func nothingIsTakenAfterTheEnd() throws {
    let path = directory.path("recording.webm")
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    _ = try writer.finish()
    #expect(throws: WebMError.self) { try writer.addPicture(0, isKeyframe: true) }
    #expect(throws: WebMError.self) { try writer.flush() }
    let error = #expect(throws: WebMError.self) { try writer.finish() }
    #expect(error?.code == .closed)
    writer.abandon()
  }

  @Test func chaptersAndTagsAreWritten() throws {
    let path = directory.path("recording.webm")
    let date: Int64 = 1_700_000_000_000_000_000
    let writer = try WebMWriter(
      path: path,
      configuration: WebMConfiguration(
        video: .init(width: 320, height: 180, framesPerSecond: 25), audio: .init(), title: "Besprechung \u{1F3A5}",
        date: date))
    writer.addChapter(start: .seconds(1), title: "second")
    writer.addChapter(start: .zero, title: "first")
    writer.addChapter(start: .milliseconds(1500), end: .milliseconds(1700), title: "third \"quoted\"")
    writer.setTag("ROOM", "old")
    writer.setTag("ROOM", "standup")
    writer.setTag("GONE", "x")
    writer.setTag("GONE", "")
    for index in 0..<50 { try writer.addPicture(Int64(index) * 40, isKeyframe: index == 0) }
    let summary = try writer.finish()
    #expect(summary.duration == .seconds(2) && summary.videoFrames == 50 && summary.cues == 1)
    let report = try WebMProbe.probe(path)
    #expect(report.title == "Besprechung \u{1F3A5}")
    #expect(report.date == date)
    #expect(
      report.chapters == [
        .init(start: .zero, end: .seconds(1), title: "first"),
        .init(start: .seconds(1), end: .milliseconds(1500), title: "second"),
        .init(start: .milliseconds(1500), end: .milliseconds(1700), title: "third \"quoted\""),
      ])
    #expect(report.tags == [.init(name: "ROOM", value: "standup")])
    #expect(report.seekEntries == 5)
    #expect(report.endedCleanly && report.problems.isEmpty)
  }

  @Test func anOverlongTitleIsCutAtACharacter() throws {
    let path = directory.path("recording.webm")
    let title = String(repeating: "\u{00e9}", count: 3000)
    let writer = try WebMWriter(
      path: path, configuration: WebMConfiguration(video: nil, audio: .init(), title: title, application: title))
    try writer.addAudio(0)
    _ = try writer.finish()
    let report = try WebMProbe.probe(path)
    #expect(report.title == String(repeating: "\u{00e9}", count: 256))
    #expect(report.problems.isEmpty)
  }

  @Test func aRecordingWithoutAnyFrameIsStillAFile() throws {
    let path = directory.path("recording.webm")
    _ = try WebMWriter(path: path, configuration: Clip.configuration).finish()
    let report = try WebMProbe.probe(path)
    #expect(report.endedCleanly && report.duration == .zero && report.problems.isEmpty)
  }

  @Test func sixHoursStayBoundedAndEndQuickly() throws {
    let path = directory.path("recording.webm")
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    let packet: [UInt8] = [0xff, 0x06, 0, 0]  // six frames of 20 ms
    let picture: [UInt8] = [0, 1, 2, 3]
    for index in 0..<Int64(180_000) {
      try writer.addAudio(at: .milliseconds(index * 120), packet)
      if index % 4 == 0 {
        try writer.addVideo(at: .milliseconds(index * 120), picture, isKeyframe: index % 40 == 0)
      }
    }
    let start = ContinuousClock.now
    let summary = try writer.finish()
    #expect(ContinuousClock.now - start < .seconds(10))
    #expect(summary.duration == .seconds(6 * 3600))
    #expect(summary.cues == 4500)
    let report = try WebMProbe.probe(path)
    #expect(report.endedCleanly && report.problems.isEmpty)
    #expect(report.cues == 4500 && report.end == .seconds(6 * 3600))
    #expect(report.clusters == 36_000)
  }
}
