import Foundation
import MediaCore
import Session
import Testing

@testable import SessionLog

/// People who are taken out, and times that are redacted.
@Suite struct PrivacyTests {
  let folder = Folder()
  private let bob = ParticipantIdentity("bob")

  /// A talk in which Bob writes, is pinned, speaks and is captioned, and Ann too.
  private var events: [SessionEvent] {
    var events = Sessions.talk(seconds: 2, seed: 0x71)
    let words: [RoomEvent] = ["ann", "bob"].flatMap { name -> [RoomEvent] in
      let person = ParticipantIdentity(name)
      return [
        .chat(ChatMessage(id: name, participant: person, text: "chat of \(name)")),
        .caption(Caption(id: name, participant: person, text: "speech of \(name)", isFinal: true)),
        .data(DataMessage(participant: person, topic: "topic of \(name)", payload: [1])),
        .pin(TileSelector(participant: name.capitalized)),
        .process(ProcessorRule(.person(name), TrackProcessors(video: .blur))),
      ]
    }
    let speakers = RoomEvent.speakers(
      ["ann", "bob"].map { Speaker(participant: ParticipantIdentity($0), level: 5, isActive: true) })
    for event in words + [speakers] {
      events.insert(SessionEvent(sequence: 0, arrived: events[60].arrived, payload: .room(event)), at: 60)
    }
    for index in events.indices { events[index].sequence = UInt64(index) }
    return events
  }

  @Test func whoIsErasedHasNoByteInTheLog() throws {
    let path = "\(folder.path)/a"
    try write(events, to: path, fileSize: 15_000, end: LogEnd(reason: .stopped, length: .seconds(2)))
    let before = try folder.bytes("a")
    let fill = [UInt8](repeating: 0x72, count: 40)
    func has(_ bytes: [UInt8], _ part: [UInt8]) -> Bool { Data(bytes).range(of: Data(part)) != nil }
    #expect(has(before, fill) && has(before, Array("bob".utf8)))
    let summary = try SessionLogEraser.erase([bob], from: path, layouts: layouts)
    #expect(summary.records > 150 && summary.unreadable == 0)
    let after = try folder.bytes("a")
    #expect(summary.bytes == Int64(before.count - after.count))
    #expect(!has(after, fill) && !has(after, Array("bob".utf8)) && !has(after, Array("Bob".utf8)))
    #expect(has(after, [UInt8](repeating: 0x71, count: 40)) && has(after, Array("chat of ann".utf8)))
    // What is left is what is left out when composing.
    let reader = try SessionLogReader(path: path, layouts: layouts)
    #expect(reader.beginning.settings.processors.map(\.description) == ["attribute:consent=no=mask,silence"])
    var exclusion = Exclusion([bob])
    let expected = events.compactMap { exclusion.admit($0) }.map { LogEntry.event($0).text }
    #expect(try reader.rest().dropLast().map(\.text) == expected)
    #expect(reader.damages.isEmpty)
    // Once more erases nothing, and says that there is nobody.
    let error = #expect(throws: LogError.self) { try SessionLogEraser.erase([bob], from: path, layouts: layouts) }
    #expect(error?.description.contains("there are: ann") == true)
  }

  @Test func whatCannotBeReadIsErasedToo() throws {
    let path = "\(folder.path)/a"
    try write(events, to: path)
    let file = "\(path)/000001.rlog"
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    // Bob's announcement is damaged: whose his frames are is not known any more.
    let place = try #require(Data(bytes).range(of: Data("bob.video".utf8))).lowerBound
    bytes[place] = 0
    try Data(bytes).write(to: URL(filePath: file))
    let summary = try SessionLogEraser.erase([bob], from: path, layouts: layouts)
    #expect(summary.unreadable > 0)
    #expect(Data(try folder.bytes("a")).range(of: Data([UInt8](repeating: 0x72, count: 40))) == nil)
  }

  @Test func aRedactedTimeIsNotLogged() {
    var events = Sessions.talk(seconds: 4)
    let end = events.removeLast()
    func add(_ milliseconds: Int64, _ event: RoomEvent) {
      let place = events.firstIndex { $0.arrived >= .milliseconds(milliseconds) } ?? events.count
      events.insert(SessionEvent(sequence: 0, arrived: .milliseconds(milliseconds), payload: .room(event)), at: place)
    }
    add(1005, .pause(.redact))
    add(1500, .chat(ChatMessage(id: "1", participant: bob, text: "secret")))
    add(1600, .participantLeft(bob))
    add(2055, .resume)
    add(2100, .chat(ChatMessage(id: "2", participant: bob, text: "open")))
    events.append(end)
    var redaction = Redaction()
    let kept = events.filter { redaction.admits($0) }
    for event in kept {
      switch event.payload {
      case .frame(let frame, _) where frame.codec.kind == .audio:
        #expect(event.arrived <= .milliseconds(1005) || event.arrived >= .milliseconds(2305))
      case .frame: #expect(event.arrived <= .milliseconds(1005) || event.arrived >= .milliseconds(3000))
      case .room(.chat(let message)): #expect(message.text == "open")
      default: break
      }
    }
    // Pictures begin with a keyframe, and go on.
    let pictures = kept.filter { $0.arrived > .milliseconds(2055) }.compactMap { event -> Bool? in
      if case .frame(let frame, _) = event.payload, frame.codec.kind == .video { frame.isKeyframe } else { nil }
    }
    #expect(pictures.prefix(2) == [true, true] && pictures.count == 50)
    #expect(kept.contains { if case .room(.participantLeft) = $0.payload { true } else { false } })
    #expect(kept.count { if case .room(.resume) = $0.payload { true } else { false } } == 1)
  }

  @Test func whatIsBeingWrittenIsNeitherErasedNorDeleted() throws {
    let path = "\(folder.path)/live"
    var beginning = Sessions.beginning
    beginning.keepUntil = 1
    let writer = try SessionLogWriter(path: path, beginning: beginning)
    try writer.flush()
    #expect(throws: LogError.self) { try SessionLogEraser.erase([bob], from: path, layouts: layouts) }
    #expect(try LogRetention.prune(folder.path, at: 2, layouts: layouts) == [])
    try writer.finish(LogEnd(reason: .stopped, length: .zero))
    #expect(try LogRetention.prune(folder.path, at: 2, layouts: layouts) == [path])
  }

  @Test func logsWhoseTimeIsOverAreDeleted() throws {
    try write([], to: "\(folder.path)/old")
    try FileManager.default.createDirectory(atPath: "\(folder.path)/other", withIntermediateDirectories: true)
    let writer = try SessionLogWriter(
      path: "\(folder.path)/kept", beginning: LogBeginning(settings: Sessions.beginning.settings, program: "p"))
    try writer.flush()
    let limit: Int64 = 1_800_000_000_000_000_000
    #expect(try LogRetention.prune(folder.path, at: limit - 1, layouts: layouts) == [])
    let old = "\(folder.path)/old"
    #expect(try LogRetention.prune(folder.path, at: limit, layouts: layouts, isDryRun: true) == [old])
    #expect(try LogRetention.prune(folder.path, at: limit, layouts: layouts) == [old])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["kept", "other"])
  }
}
