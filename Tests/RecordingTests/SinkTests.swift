import Foundation
import Glibc
import Logging
import MediaCore
import Platform
import Session
import Testing

@testable import Recording

@Suite struct AudioSinkTests {
  @Test func saysWhatWhereAndHow() throws {
    let plain = try AudioSink("audio:mixed=unix:/run/a.sock")
    #expect(plain.source == .mixed && plain.target == .socket(path: "/run/a.sock"))
    #expect(plain.rate == 48_000 && plain.channels == 2 && plain.framing == .raw)
    let small = try AudioSink("audio:ann=fd:3,rate=16000,channels=1,framing=timed")
    #expect(small.source == .participant(ParticipantIdentity("ann")) && small.target == .descriptor(3))
    #expect(small.rate == 16_000 && small.channels == 1 && small.framing == .timed)
  }

  @Test func anIdentityMayHoldAnyCharacter() throws {
    for identity in ["a=b", "sip:+49=unix", "a,b=fd:x", "mixed up"] {
      let sink = try AudioSink("audio:\(identity)=unix:/tmp/a,b,rate=8000")
      #expect(sink.source == .participant(ParticipantIdentity(identity)))
      #expect(sink.target == .socket(path: "/tmp/a,b") && sink.rate == 8_000)
    }
  }

  @Test(arguments: [
    "", "audio:", "video:mixed=unix:/a", "audio:mixed", "audio:=unix:/a", "audio:mixed=unix:", "audio:mixed=fd:x",
    "audio:mixed=fd:-1", "audio:mixed=fd:1", "audio:mixed=unix:/a,rate=44100", "audio:mixed=unix:/a,rate=",
    "audio:mixed=unix:/a,channels=3", "audio:mixed=unix:/a,framing=ogg", "audio:mixed=ws://example.com",
  ])
  func badInputGivesOneLine(text: String) {
    let error = #expect(throws: SinkError.self) { try AudioSink(text) }
    #expect(error?.description.contains("\n") == false && error?.description.hasPrefix(text) == true)
  }
}

@Suite struct SinkQueueTests {
  private func block(_ number: Int) -> SinkBlock {
    SinkBlock(position: Int64(number) * 320, count: 320, bytes: [UInt8](repeating: UInt8(number % 251), count: 640))
  }

  @Test func theOldestGiveWayAndAreCounted() {
    var queue = SinkQueue(.raw)
    // One has begun to go out when the reader stops.
    queue.put(block(0))
    var taken = 0
    #expect(
      queue.flush { _ in
        defer { taken = 10 }
        return taken == 0 ? .taken(10) : .full
      })
    for number in 1...150 { queue.put(block(number)) }
    #expect(queue.lost == 50)
    var read: [UInt8] = []
    #expect(
      queue.flush { bytes in
        read += bytes
        return .taken(bytes.count)
      })
    #expect(queue.isEmpty && read.count == 101 * 640 - 10)
    #expect(read[0] == 0 && read[630] == 51, "the one that had begun, then the newest hundred")
  }

  @Test func aTimedBlockSaysWhereItIsAndWhatIsMissingBeforeIt() {
    var queue = SinkQueue(.timed)
    for number in 0..<103 { queue.put(block(number)) }
    var read: [UInt8] = []
    // A reader that takes seven bytes at a time.
    #expect(
      queue.flush { bytes in
        let part = bytes.prefix(7)
        read += part
        return .taken(part.count)
      })
    #expect(read.count == 100 * (16 + 640))
    func number(_ range: Range<Int>) -> UInt64 { read[range].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    #expect(number(0..<8) == 3 * 320 && number(8..<12) == 320 && number(12..<16) == 3)
    #expect(number(656..<664) == 4 * 320 && number(668..<672) == 0)
  }

  @Test func aReaderThatGoesIsTold() {
    var queue = SinkQueue(.raw)
    queue.put(block(0))
    #expect(!queue.flush { _ in .gone })
  }
}

/// The thread, over real sockets and pipes.
@Suite struct SinkServerTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-\(UUID())").path
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  private func block(_ number: Int) -> SinkBlock {
    SinkBlock(position: Int64(number) * 960, count: 960, bytes: [UInt8](repeating: UInt8(number % 251), count: 3840))
  }

  private func read(_ descriptor: Int32, _ count: Int) -> [UInt8] {
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < count {
      let got = Glibc.read(descriptor, &room, min(room.count, count - bytes.count))
      guard got > 0 else { break }
      bytes += room[..<got]
    }
    return bytes
  }

  private func expectRead(_ descriptor: Int32, _ bytes: [UInt8], at location: SourceLocation = #_sourceLocation) {
    let isSame = read(descriptor, bytes.count) == bytes
    #expect(isSame, sourceLocation: location)
  }

  /// Waits until something is so, at most twenty seconds.
  private func until(_ condition: () -> Bool) -> Bool {
    for _ in 0..<2_000 where !condition() { usleep(10_000) }
    return condition()
  }

  @Test func readersOfASocketComeAndGo() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = "\(folder)/a.sock"
    let server = try SinkServer(try AudioSink("audio:mixed=unix:\(path)"), logger: logger)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    server.put(block(1))
    for number in 2...3 {
      let reader = try UnixSocket.connect(path)
      #expect(until { server.progress.readers == 1 })
      server.put(block(number))
      expectRead(reader, block(number).bytes)
      close(reader)
      server.put(block(9))
      #expect(until { server.progress.readers == 0 })
    }
    // One that goes while nothing comes is seen, too, and the thread sleeps on.
    close(try UnixSocket.connect(path))
    #expect(until { server.progress.readers == 0 })
    // Somebody else cannot take the place, and the recording goes on.
    #expect(throws: RecordingError.self) { try SinkServer(server.sink, logger: logger) }
    #expect(server.progress.failure == nil && server.progress.lostBlocks == 0)
    server.end()
    server.finish()
    #expect(access(path, F_OK) != 0)
  }

  @Test func aReaderThatDoesNotReadHoldsUpNobody() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = "\(folder)/a.sock"
    let server = try SinkServer(try AudioSink("audio:mixed=unix:\(path)"), logger: logger)
    let lazy = try UnixSocket.connect(path)
    let quick = try UnixSocket.connect(path)
    defer { close(lazy) }
    #expect(until { server.progress.readers == 2 })
    for number in 0..<600 {
      server.put(block(number))
      expectRead(quick, block(number).bytes)
    }
    #expect(until { server.progress.lostBlocks > 300 }, "\(server.progress)")
    close(quick)
    let begin = MonotonicClock.now
    server.end()
    server.finish()
    #expect(MonotonicClock.now - begin < .seconds(2))
  }

  @Test func whatIsOnItsWayAtTheEndIsStillGiven() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = "\(folder)/a.sock"
    let server = try SinkServer(try AudioSink("audio:mixed=unix:\(path)"), logger: logger)
    let reader = try UnixSocket.connect(path)
    defer { close(reader) }
    #expect(until { server.progress.readers == 1 })
    for number in 0..<20 { server.put(block(number)) }
    server.end()
    server.finish()
    expectRead(reader, (0..<20).flatMap { block($0).bytes })
    #expect(read(reader, 1).isEmpty, "and then it ends")
  }

  @Test func aPipeEndsWithItsReader() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let server = try SinkServer(try AudioSink("audio:mixed=fd:\(ends[1])"), logger: logger)
    close(ends[1])
    server.put(block(7))
    expectRead(ends[0], block(7).bytes)
    close(ends[0])
    server.put(block(8))
    #expect(until { server.progress.failure == "the reader has gone" })
    server.end()
    server.finish()
  }

  @Test func placesThatCannotBeHadAreRefused() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data().write(to: URL(filePath: "\(folder)/file"))
    let descriptor = open("/dev/null", O_RDONLY)
    defer { close(descriptor) }
    let long = String(repeating: "x", count: 120)
    for place in ["unix:\(folder)/none/a", "unix:\(folder)/file", "unix:/tmp/\(long)", "fd:99", "fd:\(descriptor)"] {
      let sink = try AudioSink("audio:mixed=\(place)")
      #expect(throws: RecordingError.self, "\(place)") { try SinkServer(sink, logger: logger) }
    }
    #expect(access("\(folder)/file", F_OK) == 0, "what is no socket stays")
  }
}

@Suite struct SinksTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-\(UUID())").path
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  @Test func onePersonsSoundIsThatOfTheirTracksAlone() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sink = try AudioSink("audio:ann=unix:\(folder)/ann.sock,rate=16000,channels=1,framing=timed")
    let servers = try SinkServer.open([sink], logger: logger)
    let sinks = Sinks(servers)
    let reader = try UnixSocket.connect("\(folder)/ann.sock")
    defer { close(reader) }
    for _ in 0..<2_000 where sinks.progress[0].readers == 0 { usleep(10_000) }
    #expect(sinks.tap == nil, "nobody of theirs is there yet")
    for (identity, id) in [("ann", "a"), ("bob", "b"), ("ann", "a2")] {
      sinks.take(
        .track(
          Track(id: TrackID(id), participant: ParticipantIdentity(identity), kind: .audio, source: .microphone)))
    }
    func constant(_ value: Float) -> [Float] { [Float](repeating: value, count: 1920) }
    // What is no number, and what is too loud, is brought into range.
    for (number, value) in [Float(0.25), .nan, 9].enumerated() {
      let tap = try #require(sinks.tap)
      for (id, value) in [("a", value), ("b", 0.5), ("a2", 0.125)] {
        constant(value).withUnsafeBufferPointer { tap(TrackID(id), $0) }
      }
      constant(0.1).withUnsafeBufferPointer { sinks.mixed($0, at: Int64(number) * 960) }
    }
    sinks.take(.trackUnpublished(TrackID("a")))
    #expect(sinks.tap != nil, "what has been placed is still played")
    constant(0.1).withUnsafeBufferPointer { sinks.mixed($0, at: 3 * 960) }
    SinkServer.finish(servers)
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var count = 0
    while true {
      let got = bytes.withUnsafeMutableBytes { read(reader, $0.baseAddress?.advanced(by: count), $0.count - count) }
      guard got > 0 else { break }
      count += got
    }
    #expect(count == 4 * (16 + 640))
    func sample(_ block: Int, _ index: Int) -> Int16 {
      let at = block * 656 + 16 + index * 2
      return Int16(truncatingIfNeeded: Int(bytes[at]) | Int(bytes[at + 1]) << 8)
    }
    #expect(abs(Int(sample(0, 300)) - Int(0.375 * 32_768)) < 40, "\(sample(0, 300))")
    #expect(sample(2, 300) == 32_767)
    #expect(bytes[656] == 0x40 && bytes[657] == 0x01, "the second block begins at sample 320")
  }
}
