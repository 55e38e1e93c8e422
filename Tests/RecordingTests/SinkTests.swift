import Foundation
import Glibc
import Layouts
import Logging
import MediaCore
import Platform
import Session
import Testing

@testable import Recording

@Suite struct MediaSinkTests {
  private func sink(_ text: String) throws -> MediaSink { try MediaSink(text, framesPerSecond: 30) }

  @Test func saysWhatWhereAndHow() throws {
    let plain = try sink("audio:mixed=unix:/run/a.sock")
    #expect(plain.source == .mixed && plain.target == .socket(path: "/run/a.sock"))
    #expect(plain.medium == .sound(MediaSink.SoundForm(rate: 48_000, channels: 2, isTimed: false)))
    let small = try sink("audio:ann=fd:3,rate=16000,channels=1,framing=timed")
    #expect(small.source == .participant(ParticipantIdentity("ann")) && small.target == .descriptor(3))
    #expect(small.medium == .sound(MediaSink.SoundForm(rate: 16_000, channels: 1, isTimed: true)))
    let pictures = try sink("video:ann=unix:/a,size=320x180,fps=10,framing=timed")
    #expect(pictures.source == .participant(ParticipantIdentity("ann")) && pictures.target == .socket(path: "/a"))
    #expect(
      pictures.medium
        == .pictures(
          MediaSink.PictureForm(size: CanvasSize(width: 320, height: 180), interval: 3, framing: .timed)))
    #expect(try sink("video:mixed=fd:3").medium == .pictures(MediaSink.PictureForm()))
  }

  @Test func anIdentityMayHoldAnyCharacter() throws {
    for identity in ["a=b", "sip:+49=unix", "a,b=fd:x", "mixed up"] {
      let sink = try sink("audio:\(identity)=unix:/tmp/a,b,rate=8000")
      #expect(sink.source == .participant(ParticipantIdentity(identity)))
      #expect(sink.target == .socket(path: "/tmp/a,b") && sink.sound?.rate == 8_000)
    }
    // What is no option of pictures belongs to the path.
    #expect(try sink("video:a=unix:/tmp/a,rate=8000").target == .socket(path: "/tmp/a,rate=8000"))
  }

  @Test(arguments: [
    "", "audio:", "video:", "text:mixed=unix:/a", "audio:mixed", "audio:=unix:/a", "audio:mixed=unix:",
    "audio:mixed=fd:x",
    "audio:mixed=fd:-1", "audio:mixed=fd:1", "audio:mixed=unix:/a,rate=44100", "audio:mixed=unix:/a,rate=",
    "audio:mixed=unix:/a,channels=3", "audio:mixed=unix:/a,framing=y4m", "audio:mixed=http://example.com",
    "video:mixed=wss://example.com,framing=y4m",
    "video:mixed=unix:/a,size=3x4", "video:mixed=unix:/a,size=4096x4096", "video:mixed=unix:/a,fps=7",
    "video:mixed=unix:/a,fps=0", "video:mixed=unix:/a,framing=ogg",
  ])
  func badInputGivesOneLine(text: String) {
    let error = #expect(throws: SinkError.self) { try sink(text) }
    #expect(error?.description.contains("\n") == false && error?.description.hasPrefix(text) == true)
  }

  @Test func aWebSocketHasItsURLAndNamesItWithoutSecrets() throws {
    let sound = try sink("audio:ann=wss://example.com/listen?key=a=b&x=1,rate=16000,channels=1")
    #expect(sound.source == .participant(ParticipantIdentity("ann")))
    #expect(sound.target == .webSocket(url: "wss://example.com/listen?key=a=b&x=1"))
    #expect(sound.text == "audio:ann=wss://example.com/listen?…,rate=16000,channels=1")
    #expect(sound.bytesPerCount == 2 && !sound.isTimed)
    let pictures = try sink("video:a=b=ws://127.0.0.1:8080/?x=unix:/a,size=64x64")
    #expect(pictures.source == .participant(ParticipantIdentity("a=b")) && pictures.bytesPerCount == 1)
    #expect(pictures.medium == .pictures(MediaSink.PictureForm(size: CanvasSize(width: 64, height: 64), framing: .raw)))
    #expect(try sink("video:mixed=ws://a,framing=timed").isTimed)
    // Whoever dials finds by the heads where a message ends.
    for sink in [sound, pictures] {
      let canvas = CanvasSize(width: 320, height: 180)
      guard case .timed = SinkFraming(sink, in: SessionCore.Settings(canvas: canvas, layout: .grid)).head else {
        Issue.record("\(sink) has no heads")
        continue
      }
    }
  }

  @Test func onlyWhatTheRecordingDoesNotShowIsComposedForIt() throws {
    let canvas = CanvasSize(width: 640, height: 360)
    for text in ["audio:ann=fd:3", "video:mixed=fd:3", "video:mixed=fd:3,size=640x360"] {
      #expect(try sink(text).composed(beside: canvas) == nil)
    }
    let small = try #require(try sink("video:mixed=fd:3,size=320x180").composed(beside: canvas))
    #expect(small.canvas == CanvasSize(width: 320, height: 180) && small.layout == nil)
    let ann = try #require(try sink("video:ann=fd:3").composed(beside: canvas))
    #expect(ann.canvas == canvas && ann.layout == .camera(of: ParticipantIdentity("ann")))
  }
}

@Suite struct SinkQueueTests {
  private func block(_ number: Int) -> SinkBlock {
    SinkBlock(position: Int64(number) * 320, count: 320, bytes: [UInt8](repeating: UInt8(number % 251), count: 640))
  }

  @Test func theOldestGiveWayAndAreCounted() {
    var queue = SinkQueue(SinkFraming(most: 100, mostFresh: 100))
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
    var queue = SinkQueue(SinkFraming(head: .timed, most: 100, mostFresh: 100))
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

  @Test func picturesOfAPlayerHaveABeginningAndMarks() throws {
    let sink = try MediaSink("video:mixed=fd:3,fps=10", framesPerSecond: 30)
    let session = SessionCore.Settings(canvas: CanvasSize(width: 64, height: 64), layout: .grid)
    var queue = SinkQueue(SinkFraming(sink, in: session))
    var read: [UInt8] = []
    func flush() -> Bool {
      queue.flush { bytes in
        let part = bytes.prefix(1_000)
        read += part
        return .taken(part.count)
      }
    }
    #expect(flush())
    let beginning = Array("YUV4MPEG2 W64 H64 F10:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n".utf8)
    #expect(read == beginning, "a player learns at once what comes")
    let picture = [UInt8](repeating: 9, count: 6_144)
    queue.put(SinkBlock(position: 0, count: 6_144, bytes: picture))
    // One was not made.
    queue.put(SinkBlock(position: 1, count: 0, bytes: []))
    queue.put(SinkBlock(position: 2, count: 6_144, bytes: picture))
    #expect(flush() && queue.isEmpty && queue.lost == 1)
    let frame = Array("FRAME\n".utf8) + picture
    #expect(read == beginning + frame + frame)
  }

  @Test func aPictureThatWasNotMadeIsMissingBeforeTheNext() {
    var queue = SinkQueue(SinkFraming(head: .timed, most: 4, mostFresh: 4))
    for number in 0..<6 { queue.put(SinkBlock(position: Int64(number), count: 1, bytes: number == 3 ? [] : [7])) }
    var read: [UInt8] = []
    #expect(
      queue.flush { bytes in
        read += bytes
        return .taken(bytes.count)
      })
    // The first two gave way; the fourth was not made.
    #expect(read.count == 3 * 17 && queue.lost == 3)
    let heads: [[UInt8]] = [0, 17, 34].map { [read[$0], read[$0 + 12]] }
    let wanted: [[UInt8]] = [[2, 2], [4, 1], [5, 0]]
    #expect(heads == wanted)
  }

  @Test func aReaderThatGoesIsTold() {
    var queue = SinkQueue(SinkFraming(most: 100, mostFresh: 100))
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

  private func server(_ text: String) throws -> SinkServer {
    try SinkServer(
      try MediaSink(text, framesPerSecond: 30), SinkFraming(most: 100, mostFresh: 500), logger: logger)
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
    let server = try server("audio:mixed=unix:\(path)")
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
    #expect(throws: RecordingError.self) { try self.server(server.sink.text) }
    #expect(server.progress.failure == nil && server.progress.lostBlocks == 0)
    server.end()
    server.finish()
    #expect(access(path, F_OK) != 0)
  }

  @Test func aReaderThatDoesNotReadHoldsUpNobody() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = "\(folder)/a.sock"
    let server = try server("audio:mixed=unix:\(path)")
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
    let server = try server("audio:mixed=unix:\(path)")
    let reader = try UnixSocket.connect(path)
    defer { close(reader) }
    #expect(until { server.progress.readers == 1 })
    for number in 0..<20 { server.put(block(number)) }
    server.end()
    server.finish()
    expectRead(reader, (0..<20).flatMap { block($0).bytes })
    #expect(read(reader, 1).isEmpty, "and then it ends")
  }

  @Test func readersThatAreHandedInComeAndGo() throws {
    let server = try server("audio:mixed=ws://example.com")
    server.put(block(1))
    for number in 2...3 {
      let pair = try #require(UnixSocket.pair())
      #expect(server.give(to: pair.writer))
      #expect(until { server.progress.readers == 1 })
      server.put(block(number))
      var found = pollfd(fd: pair.reader, events: Int16(POLLIN), revents: 0)
      #expect(poll(&found, 1, 20_000) == 1)
      close(pair.reader)
      #expect(until { server.progress.readers == 0 })
    }
    #expect(server.progress.failure == nil)
    server.end()
    server.finish()
    let pair = try #require(UnixSocket.pair())
    #expect(!server.give(to: pair.writer))
    // It was closed.
    var byte: UInt8 = 0
    #expect(Glibc.read(pair.reader, &byte, 1) == 0)
    close(pair.reader)
  }

  @Test func aPipeEndsWithItsReader() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let server = try server("audio:mixed=fd:\(ends[1])")
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
      #expect(throws: RecordingError.self, "\(place)") { try server("audio:mixed=\(place)") }
    }
    #expect(access("\(folder)/file", F_OK) == 0, "what is no socket stays")
  }
}

@Suite struct SinksTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-\(UUID())").path
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  private func read(_ descriptor: Int32, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var found = 0
    while found < count {
      let got = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress?.advanced(by: found), count - found)
      }
      guard got > 0 else { break }
      found += got
    }
    return Array(bytes.prefix(found))
  }

  @Test func picturesAreMadeForReadersAloneAndGivenWithoutGaps() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Rows of the picture have 96 bytes each.
    let canvas = CanvasSize(width: 66, height: 64)
    var settings = RecordingSettings(session: SessionCore.Settings(canvas: canvas, layout: .grid), output: "")
    settings.sinks = try ["mixed=unix:\(folder)/m", "ann=unix:\(folder)/a"].map {
      try MediaSink("video:\($0),fps=15,framing=timed", framesPerSecond: 30)
    }
    #expect(settings.planned.further.map(\.layout) == [.camera(of: ParticipantIdentity("ann"))])
    let servers = try SinkServer.open(settings, logger: logger)
    let sinks = Sinks(servers, canvas: canvas, images: nil)
    let picture = Picture(width: 66, height: 64)
    picture.fill(y: 0, u: 7, v: 9)
    for row in 0..<64 { picture.y[row * picture.strideY + 65] = UInt8(row) }
    sinks.picture(0, slot: 0) { _ in
      Issue.record("nobody reads it")
      return nil
    }
    let readers = try ["m", "a"].map { try UnixSocket.connect("\(folder)/\($0)") }
    defer { for reader in readers { close(reader) } }
    for _ in 0..<2_000 where sinks.progress.contains(where: { $0.readers == 0 }) { usleep(10_000) }
    // Of the recording's pictures every other; one was not made.
    for slot in Int64(1)...5 {
      sinks.picture(slot == 2 ? nil : picture, slot: slot)
      sinks.picture(0, slot: slot) { compositor in compositor.compose([]).picture }
    }
    SinkServer.finish(servers)
    let bytes = read(readers[0], 1 << 16)
    let size = 66 * 64 + 2 * 33 * 32
    #expect(bytes.count == 16 + size, "one picture of two")
    let head = SinkBlock(position: 2, count: size, bytes: []).head(lost: 1)
    #expect(Array(bytes.prefix(16)) == head)
    let planes = Array(bytes.dropFirst(16))
    for row in 0..<64 where planes.count == size {
      let (first, last) = (planes[row * 66], planes[row * 66 + 65])
      #expect(first == 0 && Int(last) == row)
    }
    let blue = planes.dropFirst(66 * 64).prefix(33 * 32)
    #expect(blue.count == 33 * 32 && blue.allSatisfy { $0 == 7 } && planes.last == 9)
    #expect(read(readers[1], 1 << 16).count == 2 * (16 + size))
    #expect(sinks.progress.map(\.lostBlocks) == [1, 0])
  }

  @Test func onePersonsSoundIsThatOfTheirTracksAlone() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let canvas = CanvasSize(width: 64, height: 64)
    var settings = RecordingSettings(session: SessionCore.Settings(canvas: canvas, layout: .grid), output: "")
    settings.sinks = [
      try MediaSink("audio:ann=unix:\(folder)/ann.sock,rate=16000,channels=1,framing=timed", framesPerSecond: 30)
    ]
    let servers = try SinkServer.open(settings, logger: logger)
    let sinks = Sinks(servers, canvas: canvas, images: nil)
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
    let bytes = read(reader, 1 << 16)
    #expect(bytes.count == 4 * (16 + 640))
    func sample(_ block: Int, _ index: Int) -> Int16 {
      let at = block * 656 + 16 + index * 2
      return Int16(truncatingIfNeeded: Int(bytes[at]) | Int(bytes[at + 1]) << 8)
    }
    #expect(abs(Int(sample(0, 300)) - Int(0.375 * 32_768)) < 40, "\(sample(0, 300))")
    #expect(sample(2, 300) == 32_767)
    #expect(bytes[656] == 0x40 && bytes[657] == 0x01, "the second block begins at sample 320")
  }
}
