import MediaCore
import TestKit
import Testing

@testable import WebM

/// Parts of a recording become one file: nothing of them is lost, nothing is moved, and what lies between is shown.
@Suite struct ConcatenationTests {
  let directory = TemporaryDirectory()
  /// 2026-11-21 14:30:00 UTC.
  static let noon: Int64 = 1_795_271_400_000_000_000

  /// A part of bare frames at 25 frames a second: pictures of one byte, sound of 20 ms.
  private func part(
    _ name: String, length: Int64 = 200, date: Int64? = noon, width: Int = 320, channels: Int = 2,
    firstPicture: Int64 = 0,
    title: String = "", finishes: Bool = true, also: (WebMWriter) -> Void = { _ in }
  ) throws -> String {
    let path = directory.path(name)
    let writer = try WebMWriter(
      path: path,
      configuration: WebMConfiguration(
        video: .init(width: width, height: 180, framesPerSecond: 25), audio: .init(channels: channels), title: title,
        date: date))
    for time in stride(from: Int64(0), to: length, by: 20) {
      try writer.addAudio(time)
      if time % 40 == 0, time >= firstPicture {
        try writer.addVideo(
          at: .milliseconds(time), [time == firstPicture ? 0x10 : 0x11], isKeyframe: time == firstPicture)
      }
    }
    also(writer)
    if finishes { _ = try writer.finish() } else { writer.flushAndAbandon() }
    return path
  }

  private static func slate(count: Int = 3) -> [EncodedFrame] {
    (0..<count).map { index in
      EncodedFrame(
        codec: .vp8, payload: MediaBuffer([index == 0 ? 0x20 : 0x21, UInt8(index)]),
        rtpTime: 0, isKeyframe: index == 0)
    }
  }

  @discardableResult
  private func join(
    _ parts: [Concatenation.Part], spacing: Concatenation.Spacing = .dates, slate: [EncodedFrame] = slate(),
    name: String = "joined.webm"
  ) throws -> (path: String, summary: Concatenation.Summary) {
    let path = directory.path(name)
    let summary = try Concatenation(parts, spacing: spacing).write(to: path, slate: { _ in slate })
    return (path, summary)
  }

  @Test func framesOfALaterPartComeAtItsOwnTimeAndTheGapIsFilled() throws {
    let first = try part("1.webm", length: 80)
    let second = try part("2.webm", length: 80, date: Self.noon + 400_000_000)
    let (path, summary) = try join([.init(path: first), .init(path: second)])
    let contents = try Contents.of(path)
    let blocks = contents.clusters.flatMap(\.blocks)
    // 0-80: first part; 80-400: the slate's three pictures (the first a keyframe) over and over, and silence; then the second.
    #expect(
      blocks.filter { $0.hasPrefix("V") }
        == ["V0k", "V40", "V80k", "V120", "V160", "V200k", "V240", "V280", "V320k", "V360", "V400k", "V440"])
    #expect(blocks.filter { $0.hasPrefix("A") } == stride(from: 0, to: 480, by: 20).map { "A\($0)" })
    #expect(contents.frames.first { $0.track == 2 && $0.ticks == 100 }?.bytes == [0xfc, 0xff, 0xfe])
    #expect(contents.frames.first { $0.track == 2 && $0.ticks == 420 }?.bytes == [0xfc, 0xaa])
    #expect(
      summary.gaps == [
        .init(
          start: .milliseconds(80), end: .milliseconds(400), dates: Self.noon + 80_000_000..<Self.noon + 400_000_000)
      ])
    #expect(summary.parts.map(\.start) == [.zero, .milliseconds(400)])
    #expect(summary.parts.map(\.frames) == [6, 6])
    let report = try WebMProbe.probe(path)
    #expect(report.problems == [] && report.endedCleanly && report.gaps == [])
    #expect(report.date == Self.noon)
    #expect(report.chapters.map(\.title) == ["Recording interrupted", "Recording continued"])
    #expect(report.chapters.map(\.start) == [.milliseconds(80), .milliseconds(400)])
    #expect(report.tags.contains { $0.name == "GAPS" && $0.value == "0.080-0.400" })
    #expect(report.joinedGaps == .milliseconds(320))
  }

  /// A recorder that takes another's place misses some pictures: nothing flickers, and the tag tells it all the same.
  @Test func aShortGapShowsTheLastPicture() throws {
    let first = try part("1.webm", length: 80)
    let second = try part("2.webm", length: 80, date: Self.noon + 200_000_000)
    let (path, summary) = try join([.init(path: first), .init(path: second)])
    let blocks = try Contents.of(path).clusters.flatMap(\.blocks)
    #expect(blocks.filter { $0.hasPrefix("V") } == ["V0k", "V40", "V200k", "V240"])
    #expect(blocks.filter { $0.hasPrefix("A") } == stride(from: 0, to: 280, by: 20).map { "A\($0)" })
    #expect(summary.gaps.map(\.start) == [.milliseconds(80)] && summary.gaps.map(\.end) == [.milliseconds(200)])
    let report = try WebMProbe.probe(path)
    #expect(report.problems == [] && report.chapters.isEmpty)
    #expect(report.tags.contains { $0.name == "GAPS" && $0.value == "0.080-0.200" })
  }

  @Test func silenceIsOfTheGapsLengthToTwoAndAHalfMilliseconds() throws {
    let first = try part("1.webm", length: 80)
    for odd in [Int64(97), 101, 113] {
      let second = try part("\(odd).webm", length: 80, date: Self.noon + odd * 1_000_000)
      let (path, _) = try join([.init(path: first), .init(path: second)], name: "joined-\(odd).webm")
      let report = try WebMProbe.probe(path)
      let sound = try #require(report.tracks.first { $0.kind == .audio })
      #expect(sound.largestGap <= .milliseconds(3), "gap \(odd)")
    }
  }

  @Test func aPartThatBeginsWithoutAKeyframeShowsTheSlateUntilThere() throws {
    let first = try part("1.webm", length: 80)
    let second = try part("2.webm", length: 480, date: Self.noon + 80_000_000, firstPicture: 320)
    let (path, summary) = try join([.init(path: first), .init(path: second)])
    let blocks = try Contents.of(path).clusters.flatMap(\.blocks).filter { $0.hasPrefix("V") }
    #expect(
      blocks == [
        "V0k", "V40", "V80k", "V120", "V160", "V200k", "V240", "V280", "V320k", "V360", "V400k", "V440", "V480", "V520",
      ])
    #expect(summary.gaps == [])
  }

  @Test func aPartCutOffAnywhereGivesWhatCanBeRead() throws {
    let whole = Files.read(try part("whole.webm", length: 1000, finishes: false))
    let second = try part("2.webm", length: 80, date: Self.noon + 2_000_000_000)
    var lengths = Set<Int>()
    for cut in stride(from: 4096, through: whole.count, by: 97) {
      let path = directory.path("cut-\(cut).webm")
      Files.write(whole[..<cut], to: path)
      let (joined, summary) = try join([.init(path: path), .init(path: second)], name: "joined-\(cut).webm")
      let report = try WebMProbe.probe(joined)
      #expect(report.problems == [] && report.endedCleanly && report.gaps == [], "cut at \(cut)")
      let expected: SessionTime = summary.parts.count == 2 ? .milliseconds(2080) : .milliseconds(80)
      #expect(report.end == expected, "cut at \(cut)")
      lengths.insert(summary.parts.map(\.frames).reduce(0, +))
    }
    #expect(lengths.count > 5)
  }

  @Test func partsWithoutAFrameAreLeftOut() throws {
    let empty = directory.path("empty.webm")
    Files.write([], to: empty)
    let head = try part("head.webm", length: 0)
    let only = try part("only.webm")
    let (_, summary) = try join([.init(path: empty), .init(path: head), .init(path: only)])
    #expect(summary.skipped == [empty, head])
    #expect(summary.parts.map(\.path) == [only])
    #expect(throws: WebMError.self) { try Concatenation([.init(path: empty)]) }
  }

  @Test func clocksThatDisagreeDoNotPutPartsOverEachOther() throws {
    let first = try part("1.webm", length: 200)
    let second = try part("2.webm", length: 80, date: Self.noon + 100_000_000)
    let (path, summary) = try join([.init(path: first), .init(path: second)])
    #expect(summary.parts[1].start == .milliseconds(200))
    #expect(summary.parts[1].overlap == .milliseconds(100))
    #expect(try WebMProbe.probe(path).problems == [])
  }

  @Test func theCallersTimesGoBeforeTheFiles() throws {
    let first = try part("1.webm", length: 80, date: nil)
    let second = try part("2.webm", length: 80, date: 5)
    let (_, summary) = try join([.init(path: first, start: 1_000_000_000), .init(path: second, start: 1_520_000_000)])
    #expect(summary.parts[1].start == .milliseconds(520))
    #expect(throws: WebMError.self) { try Concatenation([.init(path: first), .init(path: second)]) }
  }

  /// Wherever a part begins: the times of each track grow, and whoever counts in whole pictures finds one at each place.
  @Test(arguments: 0..<40) func timesGrowAndNoTwoPicturesShareAPlace(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var parts: [Concatenation.Part] = []
    var start: Int64 = 0
    for index in 0..<4 {
      let length = Int64.random(in: 1...9, using: &random) * 20
      parts.append(.init(path: try part("\(index).webm", length: length), start: start))
      // Overlapping ones too.
      start += length * 1_000_000 + Int64.random(in: -30_000_000...300_000_000, using: &random)
    }
    let (path, summary) = try join(parts)
    let contents = try Contents.of(path)
    for track in [1, 2] as [UInt64] {
      let times = contents.frames.filter { $0.track == track }.map { Int64($0.ticks) }
      #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed), track \(track): \(times)")
      guard track == 1 else { continue }
      let places = times.map { ($0 + 20) / 40 }
      #expect(Set(places).count == places.count, "seed \(seed): \(times)")
    }
    for (part, wanted) in zip(summary.parts, parts) where part.overlap == .zero {
      let late = part.start.nanoseconds - (wanted.start ?? 0)
      #expect(abs(late) <= 40_000_000, "seed \(seed): a part begins \(late) ns after its date")
    }
  }

  @Test func aFixedGapNeedsNoDates() throws {
    let first = try part("1.webm", length: 80, date: nil)
    let (path, summary) = try join(
      [.init(path: first), .init(path: first), .init(path: first)], spacing: .fixed(.milliseconds(320)))
    #expect(summary.parts.map(\.start) == [.zero, .milliseconds(400), .milliseconds(800)])
    #expect(summary.gaps.map(\.dates) == [nil, nil])
    #expect(try WebMProbe.probe(path).gaps == [])
  }

  @Test func aWrongDateDoesNotMakeAFileOfYears() throws {
    let first = try part("1.webm")
    let second = try part("2.webm", date: Self.noon + 400 * 86_400_000_000_000)
    #expect(throws: WebMError.self) { try join([.init(path: first), .init(path: second)]) }
    #expect(!Files.exists(directory.path("joined.webm")))
  }

  @Test func partsThatDoNotFitAreRefused() throws {
    let first = try part("1.webm")
    for (other, word) in [
      (try part("wide.webm", width: 640), "640x180"), (try part("mono.webm", channels: 1), "1 channels"),
    ] {
      let error = #expect(throws: WebMError.self) { try Concatenation([.init(path: first), .init(path: other)]) }
      #expect(error?.code == .invalid && error?.description.contains(word) == true)
    }
    let text = directory.path("text.webm")
    Files.write(Array("no recording".utf8), to: text)
    #expect(throws: WebMError.self) { try Concatenation([.init(path: first), .init(path: text)]) }
  }

  @Test func chaptersAndTagsComeAlong() throws {
    let first = try part("1.webm", title: "Old") { $0.addChapter(start: .milliseconds(40), title: "One") }
    let second = try part("2.webm", date: Self.noon + 1_000_000_000, title: "New") {
      $0.addChapter(start: .milliseconds(40), title: "Two")
      $0.setTag("ROOM", "standup")
    }
    let (path, _) = try join([.init(path: first), .init(path: second)])
    let report = try WebMProbe.probe(path)
    #expect(report.title == "New")
    #expect(report.chapters.map(\.title) == ["One", "Recording interrupted", "Recording continued", "Two"])
    #expect(report.chapters.last?.start == .milliseconds(1040))
    #expect(report.tags.contains { $0.name == "ROOM" && $0.value == "standup" })
  }

  /// Titles come from people, and stand in players and terminals.
  @Test func titlesHoldNothingThatActs() throws {
    let text = "a\u{0}\u{1b}[2J\u{9b}\u{202e}\u{2028}\n-->b"
    let path = try part("1.webm", title: text) {
      $0.addChapter(start: .milliseconds(40), title: text)
      $0.setTag("ROOM", text)
    }
    let report = try WebMProbe.probe(path)
    let shown = "a␀␛[2J\u{fffd}\u{fffd}\u{fffd} -->b"
    #expect(report.title == shown && report.chapters.map(\.title) == [shown])
    #expect(report.tags.contains { $0.name == "ROOM" && $0.value == shown })
    // A file that somebody else wrote may hold them: the report shows none of them either.
    var foreign = report
    (foreign.title, foreign.chapters[0].title) = (text, text)
    for line in (foreign.text + foreign.json).split(separator: "\n") {
      #expect(!line.unicodeScalars.contains(where: PeerText.isActive), "\(line.debugDescription)")
    }
  }

  @Test func nothingIsLeftOfAJoinThatFailsAndNothingIsReplaced() throws {
    struct Stop: Error {}
    let first = try part("1.webm", length: 80)
    let second = try part("2.webm", length: 80, date: Self.noon + 1_000_000_000)
    let joined = directory.path("joined.webm")
    let concatenation = try Concatenation([.init(path: first), .init(path: second)])
    #expect(throws: Stop.self) { try concatenation.write(to: joined, slate: { _ in throw Stop() }) }
    #expect(throws: WebMError.self) { try concatenation.write(to: joined, slate: { _ in [] }) }
    #expect(throws: Stop.self) {
      try concatenation.write(to: joined, slate: { _ in Self.slate() }, progress: { _ in throw Stop() })
    }
    #expect(!Files.exists(joined))
    Files.write([1, 2, 3], to: joined)
    let error = #expect(throws: WebMError.self) { try concatenation.write(to: joined, slate: { _ in Self.slate() }) }
    #expect(error?.code == .exists)
    #expect(Files.read(joined) == [1, 2, 3])
  }

  @Test(.enabled(if: Tool.judgesAreThere)) func ffmpegDecodesWhatWasJoinedAndPicturesStayWithTheirSound() throws {
    var paths: [String] = []
    for index in 0..<3 {
      let path = directory.path("real-\(index).webm")
      var configuration = Clip.configuration
      configuration.date = Self.noon + Int64(index) * 6_500_000_000
      let writer = try WebMWriter(path: path, configuration: configuration)
      for frame in Clip.shared.frames { try writer.add(frame) }
      if index == 1 { writer.flushAndAbandon() } else { _ = try writer.finish() }
      paths.append(path)
    }
    // A real group of pictures as slate.
    var slate: [EncodedFrame] = []
    for frame in Clip.shared.frames where frame.isVideo && (slate.isEmpty || !frame.isKeyframe && slate.count < 45) {
      slate.append(
        EncodedFrame(
          codec: .vp8, payload: MediaBuffer(frame.bytes), rtpTime: 0,
          isKeyframe: frame.isKeyframe))
    }
    let (path, summary) = try join(paths.map { .init(path: $0) }, slate: slate)
    #expect(summary.gaps.map(\.start.milliseconds) == [4000, 10_500])
    #expect(Tool.decode(path, in: directory) == "")
    let report = try WebMProbe.probe(path)
    #expect(report.problems == [] && report.gaps == [])
    #expect(abs(report.end.milliseconds - 17_000) <= 20)
    // Silence is silence to a foreign decoder, too.
    let volume = Tool.run(
      [
        "ffmpeg", "-nostdin", "-ss", "4.2", "-t", "2", "-i", path, "-vn", "-af", "volumedetect", "-f", "null", "-",
      ], in: directory)
    #expect(volume.errors.contains("max_volume: -91.0 dB"), "\(volume.errors.suffix(400))")
  }
}

/// What is final of a growing file stays as it is.
@Suite struct ClusterTailTests {
  let directory = TemporaryDirectory()

  @Test func whatIsFinalNeverChangesAndGrowsWithTheFile() throws {
    let path = directory.path("growing.webm")
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    var tail = ClusterTail()
    var kept: [UInt8] = []
    var steps = 0
    func look() {
      let bytes = Files.read(path)
      tail.advance { buffer, offset in
        guard offset >= 0, offset + Int64(buffer.count) <= bytes.count else { return false }
        buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
        return true
      }
      guard tail.end > 0 else { return }
      #expect(Int(tail.end) <= bytes.count)
      #expect(Array(bytes[4096..<max(4096, kept.count)]) == Array(kept.dropFirst(4096)))
      if Int(tail.end) > kept.count { steps += 1 }
      kept = Array(bytes[..<Int(tail.end)])
    }
    for (index, frame) in Clip.shared.frames.enumerated() {
      if index == 100 { writer.setTitle("Another title") }
      try writer.add(frame)
      look()
    }
    #expect(steps >= 6)
    #expect(!tail.hasEnded)
    _ = try writer.finish()
    look()
    #expect(tail.hasEnded)
    #expect(Int(tail.end) > Files.read(path).count * 9 / 10)
  }

  @Test func itIsTotalOnAnyInput() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<200 {
      let bytes = (0..<8192).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      var tail = ClusterTail()
      for _ in 0..<3 {
        tail.advance { buffer, offset in
          guard offset >= 0, offset + Int64(buffer.count) <= bytes.count else { return false }
          buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
          return true
        }
      }
      #expect(tail.end <= 8192)
    }
  }
}

extension WebMWriter {
  /// Like a kill after the last frame was written.
  fileprivate func flushAndAbandon() {
    try? flush()
    abandon()
  }
}
