import Foundation
import MediaCore
import SystemKit
import TestKit
import Testing

@testable import WebM

/// Machines that stop: every write of a recording is noted, and the file is made as a disk may have it after a crash at any
/// moment, cut at any byte, and with any of the writes missing that were not made durable. Seeded: a thousand files, and in
/// `make endurance` ten thousand of each kind (`RECBOT_TRACE_FILES`).
@Suite(.enabled(if: Tool.judgesAreThere)) struct WriteTraceTests {
  let directory = TemporaryDirectory()
  /// Files of each seed.
  private static let cases = (ProcessInfo.processInfo.environment["RECBOT_TRACE_FILES"].flatMap(Int.init) ?? 500) / 10
  /// So many bytes reach a disk together.
  private static let sector = 512

  /// What is true of a file that is left behind when so much had been handed to the writer: it plays as it is, and is repaired.
  private func judge(
    _ image: [UInt8], taken: SessionTime, mostLost: Duration, holes: Bool, _ context: Comment
  ) throws {
    guard let before = try? Made.frames(image), !before.isEmpty else {
      // Nothing is in the file yet.
      #expect(taken - .zero <= mostLost, context)
      return
    }
    let file = try RAMFile(image)
    let report: WebMRepair.Report
    do throws(WebMError) {
      report = try file.repair()
    } catch {
      // Too little has reached the disk, as at the very beginning.
      #expect(taken - .zero <= mostLost, "\(context): \(error.operation)")
      return
    }
    #expect(holes || report.holes == [], context)
    let after = try Made.judged(file.bytes, context, holes: report.holes.count)
    #expect(taken - (.zero + report.duration) <= mostLost, "\(context): lost \(taken - (.zero + report.duration))")
    #expect(holes || after.starts(with: before), context)
  }

  /// It is whole for ffmpeg, too, which stops at the first error.
  private func judgeByFFmpeg(_ image: [UInt8], _ context: Comment) throws {
    let file = try RAMFile(image)
    guard file.refusal() == nil else { return }
    let path = directory.path("repaired.webm")
    Files.write(file.bytes, to: path)
    #expect(Tool.decode(path, in: directory) == "", context)
    unlink(path)
  }

  /// The process is killed in the middle of a write, or the file is cut: copied while it was written, say.
  @Test(arguments: 0..<10)
  func everyPrefixAndEveryCutPlays(seed: Int) throws {
    let steps = Trace.parts(try Trace.of(Clip.shared.frames, in: directory), of: 4096)
    var random = SeededRandom(seed: UInt64(seed))
    let moments = (0..<Self.cases).map { _ in 1 + Int(random.next() % UInt64(steps.count)) }.sorted()
    var image: [UInt8] = []
    var applied = 0
    var newest = 0
    for (number, moment) in moments.enumerated() {
      while applied < moment {
        if case .write(let offset, let bytes) = steps[applied].change, bytes.contains(where: { $0 != 0 }) {
          newest = max(newest, Int(offset) + bytes.count)
        }
        Made.apply(steps[applied].change, to: &image)
        applied += 1
      }
      // Every second one is cut, by at most a tenth of a second of media or anywhere behind that.
      let isCut = number % 2 == 1
      let first = max(0, min(newest, image.count) - 8000)
      let size = isCut ? first + Int(random.next() % UInt64(max(1, image.count - first))) : image.count
      let context: Comment = "seed \(seed), write \(moment) of \(steps.count), \(size) of \(image.count) bytes"
      let file = Array(image[..<size])
      try judge(file, taken: steps[moment - 1].taken, mostLost: .seconds(1), holes: false, context)
      if number % 25 > 22 { try judgeByFFmpeg(file, context) }
    }
  }

  /// The power fails: of what was not made durable, each sector is on the disk as it was at some moment since then, in any
  /// order. (The kernel writes a page as it stands: of two writes into one sector the later never comes alone.)
  @Test(arguments: 0..<10)
  func whateverWasNotSyncedMayBeMissing(seed: Int) throws {
    let steps = Trace.parts(try Trace.of(Clip.shared.frames, syncs: .seconds(1), in: directory), of: Self.sector)
    var random = SeededRandom(seed: 100 + UInt64(seed))
    let moments = (0..<Self.cases).map { _ in 1 + Int(random.next() % UInt64(steps.count)) }.sorted()
    var durable: [UInt8] = []
    var synced = 0
    for (number, moment) in moments.enumerated() {
      while let next = steps[synced..<moment].firstIndex(where: { $0.change.isSync }) {
        for step in steps[synced..<next] { Made.apply(step.change, to: &durable) }
        synced = next + 1
      }
      var image = durable
      // The moment of each sector, most of them early, or most of them late.
      let chance = random.next() % 101
      var moments: [Int: Int] = [:]
      for (index, step) in steps[synced..<moment].enumerated() {
        guard case .write(let offset, _) = step.change else {
          Made.apply(step.change, to: &image)
          continue
        }
        let sector = Int(offset) / Self.sector
        if moments[sector] == nil {
          moments[sector] = random.next() % 100 < chance ? moment : Int(random.next() % UInt64(moment - synced + 1))
        }
        if index < moments[sector] ?? 0 { Made.apply(step.change, to: &image) }
      }
      let context: Comment = "seed \(seed), writes \(synced)..<\(moment) of \(steps.count), \(chance) % of them there"
      try judge(image, taken: steps[moment - 1].taken, mostLost: .seconds(2), holes: true, context)
      if number % 25 == 12 { try judgeByFFmpeg(image, context) }
    }
  }
}
