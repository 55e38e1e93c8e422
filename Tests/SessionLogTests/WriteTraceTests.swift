import Foundation
import MediaCore
import Session
import TestKit
import Testing

@testable import SessionLog

/// Machines that stop while a log is written: every write is noted, and the log is made as a disk may have it after a crash at
/// any moment, cut at any byte, and with anything missing that was not made durable. Seeded: a thousand logs, and in
/// `make endurance` ten thousand of each kind (`RECBOT_TRACE_FILES`).
@Suite struct WriteTraceTests {
  let folder = Folder()
  /// Logs of each seed.
  private static let cases = (ProcessInfo.processInfo.environment["RECBOT_TRACE_FILES"].flatMap(Int.init) ?? 500) / 5
  /// So many bytes reach a disk together.
  private static let sector = 512

  /// What was written into one file of the log, and when.
  private struct Trace {
    /// The whole file.
    var bytes: [UInt8] = []
    /// Where each write ended, and how many events there were in the log by then.
    var writes: [(end: Int, events: Int)] = []
    /// Where what is durable ends: for each of the writes, what was synced before it.
    var synced: [(end: Int, events: Int)] = []
  }

  private let events = Sessions.talk(seconds: 2)

  /// Writes a log, and notes each write of its only file; all that was written is synced every half second of the talk.
  private func trace() throws -> Trace {
    let path = "\(folder.path)/whole"
    var trace = Trace()
    let writer = try SessionLogWriter(path: path, beginning: Sessions.beginning)
    trace.writes.append((Int(writer.size), 0))
    trace.synced.append((0, 0))
    var written = 0
    var durable = (end: 0, events: 0)
    writer.observer = { count in
      trace.writes.append((trace.writes[trace.writes.count - 1].end + count, written))
      trace.synced.append(durable)
      return 0
    }
    for (index, event) in events.enumerated() {
      try writer.append(.event(event))
      written = index + 1
      guard index % 5 == 4 else { continue }
      try writer.flush()
      guard index % 75 == 74 else { continue }
      try writer.sync()
      durable = trace.writes[trace.writes.count - 1]
    }
    try writer.finish(LogEnd(reason: .stopped, length: .seconds(2)))
    trace.bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(path)/000001.rlog")))
    #expect(trace.writes.last?.end == trace.bytes.count)
    return trace
  }

  /// Reads a log of one file with these bytes; nil: it is no log.
  private func read(_ bytes: [UInt8], _ name: String) throws -> (numbers: [UInt64], damages: Int)? {
    let path = "\(folder.path)/\(name)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: "\(path)/000001.rlog"))
    let reader: SessionLogReader
    do throws(LogError) { reader = try SessionLogReader(path: path, layouts: layouts) } catch {
      guard error.reason == .notALog else { throw error }
      return nil
    }
    return (try reader.rest().compactMap(\.sequence), reader.damages.count)
  }

  @Test(arguments: 0..<5)
  func everyPrefixAndEveryCutIsReadUpToThere(seed: Int) throws {
    let trace = try trace()
    var random = SeededRandom(seed: UInt64(seed))
    for _ in 0..<Self.cases {
      let write = Int(random.next() % UInt64(trace.writes.count))
      let (end, events) = trace.writes[write]
      // The next write has come as far as any of its bytes.
      let next = write + 1 < trace.writes.count ? trace.writes[write + 1].end - end : 1
      let torn = Int(random.next() % UInt64(next))
      let context: Comment = "seed \(seed), write \(write), \(torn) bytes of the next"
      let (numbers, damages) = try #require(try read(Array(trace.bytes[..<(end + torn)]), "\(seed)"), context)
      #expect(numbers.count >= events && numbers == Array(0..<UInt64(numbers.count)), context)
      #expect(damages <= (torn == 0 ? 0 : 1), context)
    }
  }

  @Test(arguments: 0..<5)
  func whateverWasNotSyncedMayBeMissing(seed: Int) throws {
    let trace = try trace()
    var random = SeededRandom(seed: 50 + UInt64(seed))
    for _ in 0..<Self.cases {
      let write = Int(random.next() % UInt64(trace.writes.count))
      let durable = trace.synced[write]
      var image = Array(trace.bytes[..<trace.writes[write].end])
      let chance = random.next() % 101
      // A sector of which something was synced has at least that.
      for start in stride(from: durable.end / Self.sector * Self.sector, to: image.count, by: Self.sector)
      where random.next() % 100 >= chance {
        for place in max(start, durable.end)..<min(start + Self.sector, image.count) { image[place] = 0 }
      }
      // And the file may be shorter.
      if random.next() % 2 == 0 {
        image.removeLast(Int(random.next() % UInt64(image.count - durable.end + 1)))
      }
      let context: Comment = "seed \(seed), write \(write), \(chance) % of the sectors behind byte \(durable.end)"
      guard let (numbers, _) = try read(image, "\(seed)") else {
        #expect(durable.end == 0, context)
        continue
      }
      #expect(numbers.starts(with: 0..<UInt64(durable.events)), context)
      // In order, each once, and none that was not written.
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, context)
      #expect((numbers.last ?? 0) < UInt64(max(1, trace.writes[write].events)), context)
    }
  }
}
