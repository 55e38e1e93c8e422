import CWebMParser
import Glibc
import MediaCore
import TestKit
import Testing

@testable import WebM

/// Killed and damaged files become files that seek, and nothing that can be read of them is lost.
@Suite struct RepairTests {
  let directory = TemporaryDirectory()

  // MARK: - Killed recordings

  @Test func aKilledRecordingBecomesWhatItWouldHaveBeen() throws {
    for frames in [Clip.shared.frames, Clip.shared.frames.filter { !$0.isVideo }, Array(Clip.shared.frames.prefix(9))] {
      let whole = try Made.recording(frames)
      let killed = try Made.recording(frames, finishes: false)
      #expect(killed.count > whole.count)
      let file = try RAMFile(killed)
      let report = try file.repair()
      #expect(report.parts == [.segmentSize, .duration, .cues, .seekHead] && report.holes == [] && report.tail == 0)
      #expect(file.bytes == whole)
    }
  }

  @Test func everyCutIsRepaired() throws {
    let whole = try Made.small()
    let frames = try Made.frames(whole).count
    var counts: Set<Int> = []
    for finishes in [true, false] {
      let image = finishes ? whole : try Made.small(finishes: false)
      for cut in 4097...whole.count + 40 where cut < image.count {
        let file = try RAMFile(Array(image[..<cut]))
        let context = Comment(rawValue: "cut at \(cut) of a \(finishes ? "whole" : "killed") one")
        guard let before = try? Made.frames(file.bytes), !before.isEmpty else {
          #expect(throws: WebMError.self, context) { try file.repair() }
          continue
        }
        let report = try file.repair()
        let after = try Made.judged(file.bytes, context)
        // What libwebm read of the cut file is all there.
        #expect(after.starts(with: before) && after.count - before.count <= 1, context)
        #expect(report.frames == after.count && report.holes == [], context)
        counts.insert(after.count)
      }
    }
    #expect(counts == Set(1...frames))
  }

  @Test func aRepairTakesNoSpaceOfAFullDisk() throws {
    let killed = try Made.recording(Clip.shared.frames, finishes: false)
    let file = try RAMFile(killed)
    file.output.observer = { change in
      guard case .write(let offset, let bytes) = change else { return 0 }
      return offset + Int64(bytes.count) > killed.count ? ENOSPC : 0
    }
    try file.repair()
    #expect(file.bytes == (try Made.recording(Clip.shared.frames)))
  }

  @Test func whatIsWholeIsNotTouched() throws {
    let path = directory.path("whole.webm")
    Files.write(try Made.recording(Clip.shared.frames), to: path)
    var times = [timespec(tv_sec: 1_000_000, tv_nsec: 5), timespec(tv_sec: 1_000_000, tv_nsec: 5)]
    utimensat(AT_FDCWD, path, &times, 0)
    let report = try WebMRepair.repair(path, now: .max)
    #expect(!report.needsRepair && report.repaired == nil && report.cues == 3)
    var status = stat()
    stat(path, &status)
    #expect(status.st_mtim.tv_sec == 1_000_000 && status.st_mtim.tv_nsec == 5)
    // Others' too.
    let clip = try RAMFile(Clip.shared.file)
    clip.output.observer = { _ in EIO }
    #expect(try !clip.repair().needsRepair)
  }

  @Test func whoIsWritingIsLeftAlone() throws {
    let path = directory.path("live.webm")
    do {
      let writer = try WebMWriter(path: path, configuration: Clip.configuration)
      for frame in Clip.shared.frames { try writer.add(frame) }
      let error = #expect(throws: WebMError.self) { try WebMRepair.repair(path, now: .max) }
      #expect(error?.description.contains("is being written") == true)
      #expect(try WebMRepair.examine(path).needsRepair)
      writer.abandon()
    }
    // The thread that syncs the file lets go of it a moment later.
    var refusals = 0
    while refusals < 1_000_000, (try? WebMRepair.repair(path, now: .max)) == nil {
      refusals += 1
      sched_yield()
    }
    _ = try Made.judged(Files.read(path), "after the writer")
    if Tool.judgesAreThere { #expect(Tool.decode(path, in: directory) == "") }
  }

  @Test func chaptersAreAddedWhereThereAreNone() throws {
    let file = try RAMFile(try Made.recording(Clip.shared.frames, finishes: false))
    let chapters: [WebMRepair.Chapter] = [
      .init(start: .milliseconds(500), title: "Paused"), .init(start: .milliseconds(1500), title: "Resumed"),
    ]
    try file.repair(chapters)
    let first = file.bytes
    let report = try first.withUnsafeBytes { try WebMProbe.probe($0, name: "file") }
    #expect(report.chapters.map(\.title) == ["Paused", "Resumed"] && report.seekEntries == 4 && report.endedCleanly)
    let ends: [SessionTime] = [.milliseconds(1500), .zero + report.duration]
    #expect(report.chapters.map(\.end) == ends)
    #expect(try !file.repair([.init(start: .zero, title: "Other")]).needsRepair)
    #expect(file.bytes == first)
  }

  // MARK: - Holes

  private static let fills: [@Sendable (inout SeededRandom) -> UInt8] = [
    { _ in 0 }, { _ in 0xFF }, { _ in 0xEC }, { UInt8(truncatingIfNeeded: $0.next()) },
  ]

  /// The writer leaves Voids between blocks: what stands behind a damaged block is found across them, too.
  @Test func ofADamagedBlockNothingElseIsLost() throws {
    let whole = try Made.recording(Clip.shared.frames)
    let frames = try Made.frames(whole)
    var blocks: [Int] = []
    var voids = 0
    try whole.withUnsafeBytes { bytes in
      let window = ByteWindow(ByteSource(bytes, path: "clip"), size: 4096)
      for cluster in try Made.clusters(whole) {
        var position = Int64(cluster.lowerBound + 12)
        while position < cluster.upperBound {
          let head = try #require(try window.head(at: position))
          if head.id == ElementID.simpleBlock { blocks.append(Int(position)) }
          if head.id == ElementID.void { voids += 1 }
          position = try #require(head.end)
        }
      }
    }
    #expect(blocks.count == frames.count && voids > 0)
    for block in blocks {
      var image = whole
      image[block] = 0
      let file = try RAMFile(image)
      try file.repair()
      let context = Comment(rawValue: "a block at \(block)")
      #expect(try Made.judged(file.bytes, context, holes: 1).count == frames.count - 1, context)
    }
  }

  @Test(arguments: 0..<4) func bothSidesOfAHoleAreKept(fill: Int) throws {
    let whole = try Made.recording(Clip.shared.frames)
    let killed = try Made.recording(Clip.shared.frames, finishes: false)
    let clusters = try Made.clusters(whole)
    let mediaEnd = try #require(clusters.last).upperBound
    var random = SeededRandom(seed: UInt64(fill) + 11)
    var repaired = 0
    for round in 0..<16 {
      var image = round % 2 == 0 ? whole : killed
      let length = [4096, 4096, 512, 13, 3, 1, 20_000][Int(random.next() % 7)]
      let start = 4096 + Int(random.next() % UInt64(mediaEnd - 4096 - length))
      for index in start..<start + length { image[index] = Self.fills[fill](&random) }
      let context = Comment(rawValue: "fill \(fill), round \(round): \(length) bytes at \(start)")
      let file = try RAMFile(image)
      let report = try file.repair()
      if report.needsRepair { repaired += 1 }
      let kept = Set(try Made.judged(file.bytes, context, holes: 1))
      let hole = start..<start + length
      for (cluster, frames) in zip(clusters, try Made.framesByCluster(whole)) where !cluster.overlaps(hole) {
        // The end of a killed recording has no size that could be believed behind a hole.
        #expect(frames.allSatisfy(kept.contains), "\(context): a Cluster at \(cluster.lowerBound) is lost")
      }
      // Of a Cluster whose head can be read, the blocks before and behind the hole are kept too.
      if let hit = clusters.firstIndex(where: { $0.lowerBound + 24 <= start && $0.upperBound >= start + length }),
        round % 2 == 0
      {
        let frames = try Made.framesByCluster(whole)[hit]
        let lost = frames.filter { !kept.contains($0) }
        let size = lost.reduce(0) { $0 + $1.bytes.count + 8 }
        let largest = lost.map(\.bytes.count).max() ?? 0
        #expect(size <= length + 2 * largest + 200, "\(context): \(lost.count) of \(frames.count) frames are lost")
      }
      let changed = zip(image[4096..<mediaEnd], file.bytes[4096...]).count { $0 != $1 }
      #expect(changed <= 64, "\(context): \(changed) bytes of the media were changed")
      let again = file.bytes
      #expect(try !file.repair().needsRepair, context)
      #expect(file.bytes == again, context)
    }
    // Every other one was killed before.
    #expect(repaired >= 8)
  }

  /// A SimpleBlock is its track, its time (2 bytes), its flags, and the frame. All of it is kept; the time can't be known.
  @Test func aBlockWhoseTimeIsGoneIsKept() throws {
    var image = try Made.recording(Clip.shared.frames)
    let frames = try Made.framesByCluster(image)[3]
    let block = try #require(frames.last { $0.track == 1 && $0.bytes.count > 16 })
    let start = try #require(image.firstRange(of: block.bytes)).lowerBound
    (image[start - 3], image[start - 2]) = (0, 0)
    let file = try RAMFile(image)
    #expect(try !file.repair().needsRepair)
    #expect(try Made.judged(file.bytes, "", holes: 1).count == Made.frames(image).count)
    #expect(try file.bytes.withUnsafeBytes { try WebMProbe.probe($0, name: "f") }.problems.count == 1)
  }

  /// Its Cluster is there, so the Cue leads to something; but not to what a player can begin with.
  @Test(arguments: 0..<4) func aCueWhoseKeyframeIsGoneGoesToo(fill: Int) throws {
    let whole = try Made.recording(Clip.shared.frames)
    let contents = Made.contents(whole)
    var random = SeededRandom(seed: UInt64(fill))
    var tried = 0
    for (cluster, frames) in zip(try Made.clusters(whole), try Made.framesByCluster(whole)) {
      let isCued = contents.cues.contains { Int($0.position + contents.segmentStart) == cluster.lowerBound }
      // Cued is the keyframe that is the Cluster's only one.
      guard isCued, let picture = frames.first(where: { $0.track == 1 }), picture.bytes.count > 100 else { continue }
      let place = try #require(
        (cluster.lowerBound..<cluster.upperBound - 100).first { whole[$0...].starts(with: picture.bytes) })
      var image = whole
      // The size, the track, the time and the flags of its block, and the first bytes of the frame.
      for index in place - 6..<place + 60 { image[index] = Self.fills[fill](&random) }
      let file = try RAMFile(image)
      #expect(try file.repair().needsRepair)
      _ = try Made.judged(file.bytes, "fill \(fill), Cluster at \(cluster.lowerBound)")
      tried += 1
    }
    #expect(tried > 1)
  }

  @Test func elementsThatAreNotKnownAreNoDamage() throws {
    var image = try Made.recording(Clip.shared.frames, finishes: false)
    let clusters = try Made.clusters(image)
    image.insert(contentsOf: [0x1A, 0xBC, 0xDE, 0xF0, 0x83, 1, 2, 3], at: clusters[2].lowerBound)
    let file = try RAMFile(image)
    let report = try file.repair()
    #expect(report.holes == [] && report.frames == Clip.shared.frames.count)
    #expect(try Made.judged(file.bytes, "").count == report.frames)
    #expect(try !file.repair().needsRepair)
  }

  /// What an element said is not believed any more once it counts as a part of a hole.
  @Test func anInfoThatEndsTooEarlyIsNotBelieved() throws {
    var image = try Made.recording(Clip.shared.frames)
    let head = 0..<(try Made.clusters(image)[0].lowerBound)
    // The SeekHead before them names them too.
    let info = try #require(head.last { image[$0...].starts(with: [0x15, 0x49, 0xA9, 0x66]) })
    let tracks = try #require(head.last { image[$0...].starts(with: [0x16, 0x54, 0xAE, 0x6B]) })
    // Its last child is the application's name: one letter less, and there is a stray byte.
    let name = try #require((info..<tracks).last { image[$0...].starts(with: [0x57, 0x41]) })
    #expect(image[info + 4] & 0x80 != 0 && name + 3 + Int(image[name + 2] & 0x7F) == tracks)
    image[info + 4] -= 1
    image[name + 2] -= 1
    let file = try RAMFile(image)
    #expect(file.refusal()?.description.contains("its head is damaged (Info)") == true)
  }

  @Test func aHoleIsToldWithItsTimes() throws {
    var image = try Made.recording(Clip.shared.frames)
    let cluster = try Made.clusters(image)[3]
    for index in cluster.lowerBound..<cluster.lowerBound + 4096 { image[index] = 0 }
    let file = try RAMFile(image)
    let report = try file.repair()
    let hole = try #require(report.holes.first)
    #expect(report.holes.count == 1 && hole.position == cluster.lowerBound && hole.length >= 4096)
    let before = try #require(hole.before)
    let after = try #require(hole.after)
    #expect(before < after && after - before < .milliseconds(1100))
    #expect(report.tail == 0 && !report.parts.contains(.duration))
    let path = directory.path("hole.webm")
    Files.write(file.bytes, to: path)
    let arguments = ["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "null", "-"]
    if Tool.judgesAreThere { #expect(Tool.run(arguments, in: directory).status == 0) }
  }

  @Test func severalHolesAndATornEnd() throws {
    let whole = try Made.recording(Clip.shared.frames)
    var random = SeededRandom(seed: 23)
    for round in 0..<40 {
      var image = Array(whole[..<Int(UInt64(whole.count) - random.next() % 60_000)])
      for _ in 0..<Int(random.next() % 5) {
        let start = 4096 + Int(random.next() % UInt64(image.count - 9000))
        for index in start..<start + Int(random.next() % 4096) {
          image[index] = UInt8(truncatingIfNeeded: random.next())
        }
      }
      let file = try RAMFile(image)
      let before = try Made.frames(image)
      try file.repair()
      let after = try Made.judged(file.bytes, "round \(round)", holes: 4)
      #expect(after.count >= before.count - 1, "round \(round)")
      #expect(try !file.repair().needsRepair, "round \(round)")
    }
  }

  @Test func aDamagedHeadIsToldWithItsPlace() throws {
    let whole = try Made.recording(Clip.shared.frames)
    var texts: Set<String> = []
    for start in stride(from: 0, to: 600, by: 7) {
      for length in [1, 7, 100, 3000] {
        var image = whole
        for index in start..<start + length { image[index] = 0 }
        let file = try RAMFile(image)
        if let error = file.refusal() {
          texts.insert(error.description)
          #expect(file.bytes == image)
        } else {
          #expect(try !file.repair().needsRepair, "\(length) bytes at \(start)")
        }
      }
    }
    #expect(texts.contains { $0.contains("byte") } && texts.allSatisfy { !$0.contains("\n") }, "\(texts)")
  }

  // MARK: - Other files

  @Test func otherBytesAreRefusedInOneLine() throws {
    var random = SeededRandom(seed: 31)
    let whole = try Made.small()
    let noise = (0..<20_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let mp4: [UInt8] = [0, 0, 0, 0x20] + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 5000)
    let others: [(bytes: [UInt8], word: String)] = [
      ([], "it is empty"), (Array("no recording".utf8), "no EBML head"), (noise, "not a WebM"), (mp4, "no EBML head"),
      (Array(whole[..<30]), "not a WebM"), (Array(whole[..<300]), "no frame"), (Array(whole[..<4096]), "no frame"),
      (try Made.small(finishes: false) + whole, "a second file begins"),
      (Array(whole[..<4096]) + noise, "no frame"),
    ]
    for (bytes, word) in others {
      let file = try RAMFile(bytes)
      let error = #expect(throws: WebMError.self, "\(word)") { try file.repair() }
      #expect(error?.description.contains(word) == true, "\(String(describing: error))")
      #expect(file.bytes == bytes)
    }
    #expect(throws: WebMError.self) { try WebMRepair.examine("/dev/null") }
    #expect(throws: WebMError.self) { try WebMRepair.examine(directory.path("nothing.webm")) }
  }

  @Test func whatIsMostlyDamagedIsLeftAlone() throws {
    var image = try Made.recording(Clip.shared.frames)
    for index in 60_000..<image.count - 30_000 { image[index] = 0 }
    let file = try RAMFile(image)
    let error = #expect(throws: WebMError.self) { try file.repair() }
    #expect(error?.description.contains("less than half") == true)
    #expect(file.bytes == image)
    let path = directory.path("damaged.webm")
    Files.write(image, to: path)
    let copy = directory.path("copy.webm")
    #expect(try WebMRepair.repair(path, output: copy, now: .max).repaired == copy)
    _ = try Made.judged(Files.read(copy), "copy")
    #expect(Files.read(path) == image)
  }

  /// ffmpeg leaves room in its head, which it fills at the end: its files are repaired in place.
  @Test(.enabled(if: Tool.judgesAreThere)) func filesOfOthersAreRepairedInPlaceWhereTheyHaveRoom() throws {
    let clip = Clip.shared.file
    let frames = try Made.frames(clip)
    for cut in stride(from: 40_000, to: clip.count - 10, by: 9973) {
      let file = try RAMFile(Array(clip[..<cut]))
      try file.repair()
      let after = try Made.judged(file.bytes, "cut at \(cut)")
      #expect(frames.starts(with: after))
    }
  }

  @Test(.enabled(if: Tool.judgesAreThere)) func filesWithoutRoomAreCopied() throws {
    let input = directory.path("input.webm")
    Files.write(Clip.shared.file, to: input)
    // To a pipe: no Duration, no Cues, no SeekHead, nothing has a size, as browsers record.
    let live = directory.path("live.webm")
    let script = "ffmpeg -v error -nostdin -i \(input) -c copy -f webm -live 1 pipe:1 | cat > \(live)"
    #expect(Tool.run(["sh", "-c", script], in: directory).status == 0)
    let original = Files.read(live)
    let frames = try Made.frames(original)
    let error = #expect(throws: WebMError.self) { try WebMRepair.repair(live, now: .max) }
    #expect(error?.description.contains("--output") == true)
    for hole in [0, 4096] {
      var image = original
      let middle = original.count / 2
      for index in middle..<middle + hole { image[index] = 0 }
      let path = directory.path("given-\(hole).webm")
      Files.write(image, to: path)
      let copy = directory.path("copy-\(hole).webm")
      let report = try WebMRepair.repair(
        path, output: copy, chapters: [.init(start: .zero, title: "Begin")], now: .max)
      #expect(report.repaired == copy && Files.read(path) == image)
      let after = try Made.judged(Files.read(copy), "hole of \(hole)", holes: hole == 0 ? 0 : 1)
      if hole == 0 {
        #expect(after == frames)
        #expect(Tool.decode(copy, in: directory) == "")
      } else {
        #expect(after.count > frames.count / 2 && after.last == frames.last)
      }
      #expect(try WebMProbe.probe(copy).chapters.map(\.title) == ["Begin"])
      #expect(try !WebMRepair.examine(copy).needsRepair)
      // Nothing is replaced.
      #expect(throws: WebMError.self) { try WebMRepair.repair(path, output: copy, now: .max) }
    }
  }
}
