import FuzzTargets
import Glibc
import MediaCore
import TestKit
import Testing

@testable import WebM

/// A repair that breaks off: killed between any two of its writes, or in one; or the disk fails.
@Suite struct RepairFaultTests {
  /// Files that need every kind of change.
  private static func patients() throws -> [(name: String, bytes: [UInt8])] {
    let frames = Array(Clip.shared.frames.prefix { $0.time < .seconds(3) })
    let whole = try Made.recording(frames)
    let killed = try Made.recording(frames, finishes: false)
    let clusters = try Made.clusters(whole)
    func damaged(_ bytes: [UInt8], _ ranges: Range<Int>...) -> [UInt8] {
      var bytes = bytes
      for range in ranges { for index in range { bytes[index] = 0 } }
      return bytes
    }
    let inside = clusters[1].lowerBound + 2000
    // A hole over the end of a Cluster and the head of the next one, one inside, and one in a head.
    let border = clusters[3].lowerBound - 700
    return [
      ("killed", killed), ("cut", Array(whole[..<(clusters[4].lowerBound + 3001)])),
      ("holes", damaged(whole, inside..<inside + 1500, border..<border + 1500)),
      ("killed, with holes", damaged(killed, inside..<inside + 1500, border..<border + 1500)),
      ("without an index", damaged(whole, clusters[clusters.count - 1].upperBound..<whole.count)),
      ("cut at an odd place", Array(killed[..<(clusters[2].upperBound / 4096 * 4096 + 4093)])),
      ("ffmpeg's, cut", Array(Clip.shared.file[..<70_001])),
    ]
  }

  private static func trace(_ bytes: [UInt8]) throws -> (steps: [OutputFile.Change], end: [UInt8]) {
    let file = try RAMFile(bytes)
    var steps: [OutputFile.Change] = []
    file.output.observer = {
      steps.append($0)
      return 0
    }
    try file.repair([.init(start: .milliseconds(100), title: "Marker")])
    return (steps, file.bytes)
  }

  /// What holds at every moment: no frame is lost that could be read, and the file can be repaired again.
  private static func check(_ image: [UInt8], before: [Made.Frame], end: [Made.Frame], _ context: Comment) throws {
    let now = try Made.frames(image)
    #expect(now.count >= before.count, "\(context): \(now.count) of \(before.count) frames")
    let file = try RAMFile(image)
    try file.repair([.init(start: .milliseconds(100), title: "Marker")])
    #expect(try Made.judged(file.bytes, context) == end, context)
    let report = try file.bytes.withUnsafeBytes { try WebMProbe.probe($0, name: "image") }
    #expect(report.chapters.count == 1, context)
  }

  @Test func aKillAtAnyMomentLeavesAFileThatPlaysAsBefore() throws {
    for (name, bytes) in try Self.patients() {
      let (steps, end) = try Self.trace(bytes)
      let before = try Made.frames(bytes)
      let final = try Made.judged(end, Comment(rawValue: name))
      #expect(steps.count >= 4, "\(name)")
      var image = bytes
      for (index, step) in steps.enumerated() {
        for part in Made.parts(of: step) {
          Made.apply(part, to: &image)
          try Self.check(image, before: before, end: final, "\(name), step \(index)")
        }
      }
      #expect(image == end, "\(name)")
    }
  }

  @Test func whatIsWrittenToTheHeadComesLastAndInOneWrite() throws {
    let (steps, _) = try Self.trace(try Made.recording(Clip.shared.frames, finishes: false))
    var synced = false
    var heads = 0
    for step in steps {
      switch step {
      case .sync: synced = true
      case .write(let offset, let bytes) where offset < 4096:
        heads += 1
        #expect(synced && offset + Int64(bytes.count) <= 4096)
      default: #expect(heads == 0)
      }
    }
    #expect(heads == 1)
  }

  @Test func aDiskThatFailsLeavesAFileThatPlaysAsBefore() throws {
    for (name, bytes) in try Self.patients() {
      let before = try Made.frames(bytes)
      let (steps, end) = try Self.trace(bytes)
      let final = try Made.judged(end, Comment(rawValue: name))
      for number in [ENOSPC, EIO] {
        for staysBroken in [false, true] {
          for failing in steps.indices {
            let file = try RAMFile(bytes)
            var count = 0
            file.output.observer = { _ in
              defer { count += 1 }
              return count == failing || staysBroken && count > failing ? number : 0
            }
            let context = Comment(rawValue: "\(name), change \(failing), error \(number), stays \(staysBroken)")
            do {
              try file.repair([.init(start: .milliseconds(100), title: "Marker")])
              // Nobody needs a page of the reserve that is only there for what comes later.
              #expect(!staysBroken && Self.isReserve(steps[failing]), context)
              let repaired = try Made.judged(file.bytes, context)
              #expect(repaired == final, context)
            } catch let error as WebMError {
              #expect(error.number == number, context)
            }
            try Self.check(file.bytes, before: before, end: final, context)
          }
        }
      }
    }
  }

  /// An empty page behind the end: the reserve grows by several (`AppendFile`), whatever is to be appended.
  private static func isReserve(_ change: OutputFile.Change) -> Bool {
    guard case .write(let offset, let bytes) = change else { return false }
    return bytes.count == Int(AppendFile.pageSize) && offset % AppendFile.pageSize == 0
      && bytes.first == UInt8(ElementID.void) && bytes.dropFirst(5).allSatisfy { $0 == 0 }
  }

  @Test func aFailedCopyLeavesNothing() throws {
    let directory = TemporaryDirectory()
    let path = directory.path("killed.webm")
    let killed = try Made.recording(Clip.shared.frames, finishes: false)
    Files.write(killed, to: path)
    #expect(throws: WebMError.self) {
      try WebMRepair.repair(path, output: directory.path("no/such/folder.webm"), now: .max)
    }
    #expect(throws: WebMError.self) { try WebMRepair.repair(path, output: path, now: .max) }
    #expect(Files.read(path) == killed)
  }

  /// Damage of every kind, everywhere: nothing traps, and what has been repaired needs nothing more.
  @Test func anyDamageIsExamined() throws {
    let whole = try Made.recording(Array(Clip.shared.frames.prefix(30)))
    let killed = try Made.recording(Array(Clip.shared.frames.prefix(30)), finishes: false)
    var random = SeededRandom(seed: 77)
    for _ in 0..<500 {
      var image = random.next() % 2 == 0 ? whole : killed
      for _ in 0...random.next() % 6 {
        let place = Int(random.next() % UInt64(image.count))
        switch random.next() % 5 {
        case 0: image[place] ^= 1 << UInt8(random.next() % 8)
        case 1: image[place] = UInt8(truncatingIfNeeded: random.next())
        case 2: image.removeSubrange(place..<min(image.count, place + Int(random.next() % 30)))
        case 3: image.insert(contentsOf: image[max(0, place - Int(random.next() % 3000))..<place], at: place)
        default: image.removeLast(image.count / 50 * Int(random.next() % 10))
        }
        if image.isEmpty { break }
      }
      image.withUnsafeBytes(fuzzRepair)
    }
  }
}
