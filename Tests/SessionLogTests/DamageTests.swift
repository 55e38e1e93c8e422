import Foundation
import MediaCore
import Session
import Testing

@testable import SessionLog

/// Logs that were cut, changed, or are somebody else's.
@Suite struct DamageTests {
  let folder = Folder()

  private var path: String { "\(folder.path)/a" }
  private var file: String { "\(path)/000001.rlog" }

  private func read(_ path: String? = nil) throws -> (entries: [LogEntry], reader: SessionLogReader) {
    let reader = try SessionLogReader(path: path ?? self.path, layouts: layouts)
    return (try reader.rest(), reader)
  }

  @Test func aLogThatIsCutAnywhereIsReadUpToThere() throws {
    let events = Sessions.talk(seconds: 1)
    try write(events, to: path)
    let whole = [UInt8](try Data(contentsOf: URL(filePath: file)))
    let texts = events.map { LogEntry.event($0).text }
    var counts: Set<Int> = []
    var first: Int?
    for length in stride(from: whole.count, to: 0, by: -331) {
      try Data(whole[..<length]).write(to: URL(filePath: file))
      guard let (entries, reader) = try? read() else {
        // Not even the beginning is whole.
        first = first ?? length
        continue
      }
      #expect(first == nil)
      #expect(entries.map(\.text) == Array(texts[..<entries.count]), "cut at \(length)")
      #expect(reader.damages.count <= 1 && reader.damages.allSatisfy(\.isTail))
      #expect(reader.damages.first.map { Int($0.offset + $0.bytes) } ?? length == length)
      counts.insert(entries.count)
    }
    #expect(counts.count > 40 && (first ?? 0) < 3000)
  }

  @Test func oneChangedByteCostsOneRecord() throws {
    let events = Sessions.talk(seconds: 1)
    try write(events, to: path, end: LogEnd(reason: .stopped, length: .seconds(1)))
    let whole = [UInt8](try Data(contentsOf: URL(filePath: file)))
    var random = SeededRandom(seed: 11)
    for _ in 0..<100 {
      var bytes = whole
      let place = Int(random.next() % UInt64(whole.count))
      bytes[place] ^= UInt8(1 << (random.next() % 8))
      try Data(bytes).write(to: URL(filePath: file))
      let (entries, reader) = try read()
      #expect(entries.count >= events.count, "byte \(place)")
      #expect(reader.damages.count == 1 && reader.damages[0].offset <= Int64(place))
      #expect(reader.damages[0].offset + reader.damages[0].bytes > Int64(place))
    }
  }

  @Test func aHoleKeepsBothSidesAndItsTracksBeginAnew() throws {
    let events = Sessions.talk(seconds: 4)
    try write(events, to: path, end: LogEnd(reason: .stopped, length: .seconds(4)))
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    let middle = bytes.count / 2
    bytes.replaceSubrange(middle..<middle + 4096, with: repeatElement(0, count: 4096))
    try Data(bytes).write(to: URL(filePath: file))
    let (entries, reader) = try read()
    let numbers = entries.compactMap(\.sequence)
    #expect(numbers.first == 0 && numbers.last == events.last?.sequence)
    #expect(reader.damages.count == 1)
    let missing = try #require(zip(numbers, numbers.dropFirst()).first { $1 != $0 + 1 })
    // The first frame of each track after the hole follows a loss, and no other.
    var told: [TrackID] = []
    for case .event(let event) in entries {
      guard case .frame(let frame, let track) = event.payload, frame.followsLoss else { continue }
      #expect(event.sequence >= missing.1 && event.sequence < missing.1 + 8)
      told.append(track)
    }
    #expect(told.count == 4 && Set(told).count == 4)
  }

  @Test func aDamagedBeginningIsReadFromItsCopy() throws {
    try write(Sessions.talk(seconds: 1), to: path, end: LogEnd(reason: .stopped, length: .seconds(1)))
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    for place in 0..<200 { bytes[place] = 0 }
    try Data(bytes).write(to: URL(filePath: file))
    let (entries, reader) = try read()
    #expect(reader.beginning.settings.title == "A talk")
    #expect(entries.count > 150 && reader.damages.count == 1)
  }

  @Test func whatIsNoLogIsToldWithItsPlace() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    func message() -> LogError? {
      do {
        _ = try SessionLogReader(path: path, layouts: layouts)
        return nil
      } catch {
        return error
      }
    }
    #expect(message()?.reason == .notALog && message()?.description.contains("000001.rlog") == true)
    for content in [[], Array("hello".utf8), [UInt8](repeating: 0xf1, count: 5000), RecordFraming.marker] {
      try Data(content).write(to: URL(filePath: file))
      #expect(message()?.reason == .notALog)
    }
    // A record of the largest length that is none.
    var random = SeededRandom(seed: 3)
    var bytes = RecordFraming.marker + [0, 0, 0, 1, 1, 2, 3, 4]
    for _ in 0..<100_000 { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
    try Data(bytes).write(to: URL(filePath: file))
    #expect(message()?.reason == .notALog)
    #expect(throws: LogError.self) { try SessionLogReader(path: "\(folder.path)/none", layouts: layouts) }
  }

  @Test func aLaterFormatIsRefusedByName() throws {
    var record = WireRecord(Sessions.beginning, file: 1)
    record.beginning.format = 2
    record.beginning.program = "recbot 9.0"
    var bytes: [UInt8] = []
    RecordFraming.append(try record.serializedBytes(), to: &bytes)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: file))
    let error = #expect(throws: LogError.self) { try SessionLogReader(path: path, layouts: layouts) }
    #expect(error?.reason == .newer && error?.description.contains("recbot 9.0") == true)
  }

  @Test func recordsOfALaterVersionAreCountedAndLeftOut() throws {
    let events = Sessions.talk(seconds: 1)
    try write(events, to: path)
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    // Field 90, a length-delimited message: nothing that this version knows.
    RecordFraming.append([0xd2, 0x05, 0x00], to: &bytes)
    try Data(bytes).write(to: URL(filePath: file))
    let (entries, reader) = try read()
    #expect(entries.count == events.count && reader.unknown == 1 && reader.damages.isEmpty)
  }

  @Test func markersInMediaAreNoRecords() throws {
    var events = Sessions.talk(seconds: 1)
    let trap = EncodedFrame(
      codec: .vp8, payload: MediaBuffer((0..<500).flatMap { _ in RecordFraming.marker + [16, 0, 0, 0] }), rtpTime: 0,
      isKeyframe: true)
    events[40].payload = .frame(trap, of: TrackID("ann.video"))
    try write(events, to: path)
    #expect(try read().entries.map(\.text) == events.map { LogEntry.event($0).text })
    // Its own record damaged, the traps in it are looked at, and are none.
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    let place = try #require(Data(bytes).range(of: Data(RecordFraming.marker + [16, 0, 0, 0]))).lowerBound
    bytes[place + 4] = 17
    try Data(bytes).write(to: URL(filePath: file))
    let (entries, reader) = try read()
    #expect(entries.count == events.count - 1 && reader.damages.count == 1)
  }

  @Test func aFailingDiskLeavesWhatWasWritten() throws {
    let events = Sessions.talk(seconds: 2)
    for (number, code) in (1...40).flatMap({ number in [ENOSPC, EIO].map { (number, $0) } }) {
      let path = "\(folder.path)/\(number)-\(code)"
      let writer = try SessionLogWriter(path: path, beginning: Sessions.beginning, fileSize: 10_000)
      var writes = 0
      writer.observer = { _ in
        writes += 1
        return writes == number ? code : 0
      }
      var written = 0
      var failure: LogError?
      do throws(LogError) {
        for (index, event) in events.enumerated() {
          try writer.append(.event(event))
          guard index % 5 == 4 else { continue }
          try writer.flush()
          written = index + 1
        }
      } catch {
        failure = error
      }
      let error = try #require(failure)
      #expect(error.reason == .write && error.description.contains(".rlog: cannot write at byte"))
      let (entries, reader) = try read(path)
      #expect(entries.map(\.text) == events[..<written].map { LogEntry.event($0).text })
      #expect(reader.damages.isEmpty)
    }
  }
}
