import Foundation
import Glibc
import MediaCore
import Platform
import Synchronization
import Testing

@testable import Control

/// The control socket, over real sockets.
@Suite struct ControlTests {
  /// Commands that a server was given, and what it answers.
  private final class Receiver: Sendable {
    let requests = Mutex<[ControlRequest]>([])
    /// People in the room besides Ann.
    let crowd: Int
    init(crowd: Int = 0) { self.crowd = crowd }
    func handle(_ request: ControlRequest) -> ControlAnswer {
      requests.withLock { $0.append(request) }
      if request.command == .status {
        var status = ControlStatus()
        status.job = "a"
        status.timeMs = 1_234
        status.people = [.init(identity: "ann", name: "Ann \u{1F600} \"quoted\"")]
        status.people += (0..<crowd).map { .init(identity: "p\($0)", name: "Person \($0)") }
        return .status(status)
      }
      return request.command == .stop ? .refused("not now") : .done
    }
  }

  /// A folder of its own, short enough for sockets.
  private let directory = RunDirectory(path: "/tmp/rb-\(UUID().uuidString.prefix(8))")

  private func server(_ job: String = "a", _ receiver: Receiver) throws -> ControlServer {
    try ControlServer(job: job, in: directory) { receiver.handle($0) }
  }

  private func clean() { try? FileManager.default.removeItem(atPath: directory.path) }

  @Test func commandsArriveAndAreAnswered() throws {
    defer { clean() }
    let receiver = Receiver()
    let server = try server("a", receiver)
    defer { server.close() }
    let client = try ControlClient(job: "a", in: directory)
    var request = ControlRequest(.layout, id: 7)
    request.layout = "speaker"
    #expect(try client.ask(request).id == 7)
    #expect(receiver.requests.withLock { $0 } == [request])
    let status = try client.ask(ControlRequest(.status)).status
    #expect(status?.timeMs == 1_234)
    #expect(status?.people.first?.name == "Ann \u{1F600} \"quoted\"")
    let error = #expect(throws: ControlError.self) { try client.ask(ControlRequest(.stop)) }
    #expect(error?.description == "not now")
  }

  @Test func listenersAreToldOfEventsUntilTheEnd() throws {
    defer { clean() }
    let server = try server("a", Receiver())
    let client = try ControlClient(job: "a", in: directory)
    try client.ask(ControlRequest(.subscribe))
    // The answer comes before the thread counts the listener; what is published then goes nowhere.
    while server.listenerCount == 0 { sched_yield() }
    for index in 0..<100 { server.publish("{\"n\":\(index)}") }
    for index in 0..<100 { #expect(client.nextEvent() == "{\"event\":{\"n\":\(index)}}") }
    server.close()
    #expect(client.nextEvent() == nil)
  }

  @Test func theSocketIsTheOwnersAloneAndGoesWithTheJob() throws {
    defer { clean() }
    let server = try server("a", Receiver())
    var status = stat()
    #expect(lstat(directory.socket(of: "a"), &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(lstat(directory.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o700)
    #expect(directory.jobs() == ["a"])
    server.close()
    while directory.isTaken("a") { sched_yield() }
    while !directory.jobs().isEmpty { sched_yield() }
  }

  @Test func aRunningJobKeepsItsNameAndAStaleSocketIsReplaced() throws {
    defer { clean() }
    let first = try server("a", Receiver())
    let error = #expect(throws: ControlError.self) { try server("a", Receiver()) }
    #expect(error?.description.contains("'a' is running") == true)
    first.close()
    while directory.isTaken("a") { sched_yield() }
    // What a killed process leaves: a socket at which nobody listens.
    while !directory.jobs().isEmpty { sched_yield() }
    let dead = try UnixSocket.bind(directory.socket(of: "a"))
    close(dead)
    #expect(directory.jobs() == ["a"])
    #expect(throws: ControlError.self) { try ControlClient(job: "a", in: directory) }
    let second = try server("a", Receiver())
    try ControlClient(job: "a", in: directory).ask(ControlRequest(.status))
    second.close()
  }

  @Test func theBeginningOfANameIsEnoughWhenNoOtherHasIt() throws {
    defer { clean() }
    let (talk, lesson, more) = (Receiver(), Receiver(), Receiver())
    let servers = [try server("talk-1", talk), try server("lesson", lesson), try server("lesson-2", more)]
    try ControlClient(job: "ta", in: directory).ask(ControlRequest(.resume))
    // A whole name is that name's, whatever else begins with it.
    try ControlClient(job: "lesson", in: directory).ask(ControlRequest(.resume))
    #expect([talk, lesson, more].map { $0.requests.withLock { $0.count } } == [1, 1, 0])
    let several = #expect(throws: ControlError.self) { try ControlClient(job: "les", in: directory) }
    #expect(several?.description == "'les' is the beginning of several names: lesson, lesson-2")
    let none = #expect(throws: ControlError.self) { try ControlClient(job: "x", in: directory) }
    #expect(none?.description.contains("there are: lesson, lesson-2, talk-1") == true)
    for server in servers { server.close() }
  }

  @Test func aFolderThatOthersCanWriteIsRefused() throws {
    defer { clean() }
    #expect(mkdir(directory.path, 0o700) == 0)
    #expect(chmod(directory.path, 0o777) == 0)
    let error = #expect(throws: ControlError.self) { try server("a", Receiver()) }
    #expect(error?.description.contains("can be written by others") == true)
    let link = RunDirectory(path: directory.path + "-link")
    #expect(symlink(directory.path, link.path) == 0)
    defer { unlink(link.path) }
    #expect(throws: ControlError.self) { try link.prepare() }
  }

  @Test(arguments: [
    ("{}", "'command' is missing"), ("[]", "a request is a JSON object"), ("", "not a line of JSON (RFC 8259)"),
    ("{\"command\":\"fly\"}", "there is no such command"),
    ("{\"command\":5}", "'command' has a value of the wrong type"),
    ("{\"command\":\"pin\",\"participant\":[]}", "'participant' has a value of the wrong type"),
    ("{\"command\":\"status\"", "not a line of JSON (RFC 8259)"), ("\u{FFFD}", "not a line of JSON (RFC 8259)"),
    (String(repeating: "[", count: 10_000), "not a line of JSON (RFC 8259)"),
    (String(repeating: "[", count: 513), "not a line of JSON (RFC 8259)"),
    ("{\"command\":\"title\",\"title\":\"" + String(repeating: "a", count: 5_000) + "\"}", "more than 4096 bytes"),
  ])
  func whatIsNoRequestIsRefusedWithItsReason(line: String, says: String) {
    let error = #expect(throws: ControlError.self) { try ControlRequest(line: line.utf8) }
    #expect(error?.description.contains(says) == true, "\(error?.description ?? "")")
  }

  /// Requests with bytes changed, lost and doubled: an error or a request, never a trap.
  @Test(arguments: 0..<200) func damagedRequestsAreHarmless(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var line = Array(
      "{\"id\":12,\"command\":\"spotlight\",\"participant\":\"Zo\u{E9} \\u00e9\\ud83d\\ude00\",\"screen\":true}".utf8)
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let place = Int.random(in: 0..<max(1, line.count), using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0 where place < line.count: line[place] = UInt8.random(in: .min ... .max, using: &random)
      case 1 where place < line.count: line.remove(at: place)
      default: line.insert(UInt8.random(in: .min ... .max, using: &random), at: min(place, line.count))
      }
    }
    if let request = try? ControlRequest(line: line) { #expect(request.command.rawValue.isEmpty == false) }
  }

  /// Clients that send nonsense, too much, nothing, or go away in the middle: others are served as before.
  @Test(arguments: 0..<4) func hostileClientsDoNotDisturbTheOthers(seed: UInt64) throws {
    defer { clean() }
    var random = SeededRandom(seed: seed)
    let server = try server("a", Receiver())
    defer { server.close() }
    let good = try ControlClient(job: "a", in: directory)
    var held: [Int32] = []
    defer { for descriptor in held { close(descriptor) } }
    for round in 0..<60 {
      let bad = try UnixSocket.connect(directory.socket(of: "a"))
      var bytes = (0..<Int.random(in: 0...40_000, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      if Bool.random(using: &random) { bytes = bytes.map { $0 == 10 ? 32 : $0 } }
      UnixSocket.setNonBlocking(bad)
      _ = send(bad, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      if held.count < 4, Bool.random(using: &random) { held.append(bad) } else { close(bad) }
      if round % 5 == 0 { #expect(try good.ask(ControlRequest(.pin)).ok) }
    }
    #expect(try good.ask(ControlRequest(.status)).ok)
  }

  @Test func aClientThatAsksAndNeverReadsIsHeldBackWithinBounds() throws {
    defer { clean() }
    let server = try server("a", Receiver())
    defer { server.close() }
    let deaf = try UnixSocket.connect(directory.socket(of: "a"))
    defer { close(deaf) }
    UnixSocket.setNonBlocking(deaf)
    let line = Array("{\"command\":\"status\"}\n".utf8)
    var sent = 0
    // Until nothing more is taken: then the server has stopped reading.
    for _ in 0..<2_000_000 {
      if send(deaf, line, line.count, Int32(MSG_NOSIGNAL)) < 0 { break }
      sent += line.count
    }
    #expect(sent < 8 << 20)
    let good = try ControlClient(job: "a", in: directory)
    #expect(try good.ask(ControlRequest(.status)).ok)
  }

  @Test func requestsThatComeTogetherAreAllAnswered() throws {
    defer { clean() }
    let server = try server("a", Receiver(crowd: 40))
    defer { server.close() }
    let client = try UnixSocket.connect(directory.socket(of: "a"))
    defer { close(client) }
    // Their answers are more than may wait for one client.
    let count = 180
    let lines = [UInt8](String(repeating: "{\"command\":\"status\"}\n", count: count).utf8)
    #expect(send(client, lines, lines.count, Int32(MSG_NOSIGNAL)) == lines.count)
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var (answers, total) = (0, 0)
    var room = [UInt8](repeating: 0, count: 65_536)
    while answers < count {
      let size = recv(client, &room, room.count, 0)
      if size < 0, errno == EINTR { continue }
      guard size > 0 else { break }
      total += size
      answers += room[..<size].count { $0 == UInt8(ascii: "\n") }
    }
    #expect(answers == count)
    #expect(total > ControlConnection.longestBacklog)
  }

  @Test func moreConnectionsThanAreServedAreTurnedAway() throws {
    defer { clean() }
    let server = try server("a", Receiver())
    defer { server.close() }
    var clients: [ControlClient] = []
    for _ in 0..<ControlServer.mostConnections {
      let client = try ControlClient(job: "a", in: directory)
      try client.ask(ControlRequest(.status))
      clients.append(client)
    }
    let error = #expect(throws: ControlError.self) {
      try ControlClient(job: "a", in: directory).ask(ControlRequest(.status))
    }
    #expect(error?.description == "too many connections" || error?.description.contains("does not take") == true)
    try clients[0].ask(ControlRequest(.status))
  }

  @Test(arguments: [
    ("talk.webm", "talk"), ("/a/b/my talk.webm", "my_talk"), (".hidden.webm", "r.hidden"), ("é.webm", "r_"),
    ("-x", "r-x"), (".webm", "r"), ("Ünder_1.2-3.webm", "r_nder_1.2-3"),
  ])
  func aJobsNameIsMadeFromItsFile(file: String, name: String) {
    #expect(RunDirectory.name(from: file) == name)
    #expect(RunDirectory.isName(name))
  }

  @Test(arguments: ["", ".", "..", "../x", "a/b", "-a", "a b", "a\n", String(repeating: "a", count: 65)])
  func whatIsNoJobsNameIsRefused(name: String) {
    #expect(!RunDirectory.isName(name))
    #expect(throws: ControlError.self) { try ControlClient(job: name, in: directory) }
  }
}
