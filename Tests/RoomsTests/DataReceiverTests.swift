import MediaCore
import Session
import Signaling
import TestKit
import Testing

@testable import Rooms

/// A room with ann and ben, and a receiver in manual time whose events are read as text.
private struct Inbox {
  var receiver = DataReceiver()
  var roster = LiveKitRoster()
  var now = Instant.zero

  init() {
    roster.reset(
      own: .with { ($0.sid, $0.identity) = ("PA_me", "bot") },
      others: [Script.person("ann", tracks: ["TR_A1"]), Script.person("ben")])
  }

  mutating func receive(
    from identity: String = "ann", isReliable: Bool = true, sequence: UInt32 = 0,
    _ value: Livekit_DataPacket.OneOf_Value
  ) -> [RoomEvent] {
    let packet = Livekit_DataPacket.with {
      ($0.participantIdentity, $0.participantSid, $0.sequence) = (identity, "PA_\(identity)", sequence)
      $0.value = value
    }
    return receiver.receive(packet, isReliable: isReliable, roster: roster, at: now)
  }

  mutating func stream(
    _ id: String, from identity: String = "ann", topic: String = "lk.chat", chunks: [String],
    attributes: [String: String] = [:], operation: Livekit_DataStream.OperationType = .create, isText: Bool = true
  ) -> [RoomEvent] {
    var events = receive(
      from: identity,
      .streamHeader(
        .with {
          ($0.streamID, $0.topic, $0.timestamp, $0.attributes) = (id, topic, 1000, attributes)
          if isText {
            $0.textHeader = .with { $0.operationType = operation }
          } else {
            $0.byteHeader = .with { $0.name = "file" }
          }
        }))
    for (index, chunk) in chunks.enumerated() {
      events += receive(from: identity, Self.chunk(id, index, chunk))
    }
    return events + receive(from: identity, .streamTrailer(.with { $0.streamID = id }))
  }

  static func chunk(_ id: String, _ index: Int, _ text: String) -> Livekit_DataPacket.OneOf_Value {
    .streamChunk(
      .with {
        $0.streamID = id
        $0.chunkIndex = UInt64(index)
        $0.content.append(contentsOf: text.utf8)
      })
  }

  static func chat(_ text: String, id: String = "1") -> Livekit_DataPacket.OneOf_Value {
    .chatMessage(.with { ($0.id, $0.message, $0.timestamp) = (id, text, 5) })
  }

  static func user(_ topic: String, _ text: String) -> Livekit_DataPacket.OneOf_Value {
    .user(
      .with {
        $0.topic = topic
        $0.payload.append(contentsOf: text.utf8)
      })
  }
}

/// `ann: hello`, `ann edited: hello`, `ann topic=a 5 bytes`, `ann says: hello`.
private func texts(_ events: [RoomEvent]) -> [String] {
  events.map { event in
    switch event {
    case .data(let value): "\(value.participant?.rawValue ?? "-") topic=\(value.topic) \(value.payload.count) bytes"
    case .chat(let value):
      "\(value.participant?.rawValue ?? "-")\(value.action == .posted ? "" : " \(value.action)"): \(value.text)"
    case .caption(let value):
      "\(value.participant?.rawValue ?? "-") \(value.isFinal ? "said" : "says"): \(value.text)"
    default: "?"
    }
  }
}

@Suite struct DataReceiverTests {
  @Test func dataPacketsKeepTheirTopicAndBytes() {
    var inbox = Inbox()
    let events = inbox.receive(from: "ben", isReliable: false, Inbox.user("votes", "yes"))
    #expect(
      events
        == [.data(DataMessage(participant: ParticipantIdentity("ben"), topic: "votes", payload: Array("yes".utf8)))])
  }

  @Test func aSenderIsFoundByItsSessionWhenTheIdentityIsMissing() {
    var inbox = Inbox()
    let packet = Livekit_DataPacket.with {
      $0.participantSid = "PA_ben"
      $0.value = Inbox.chat("hi")
    }
    #expect(texts(inbox.receiver.receive(packet, isReliable: true, roster: inbox.roster, at: .zero)) == ["ben: hi"])
    // A server's own message has no sender.
    let own = Livekit_DataPacket.with { $0.value = Inbox.chat("closing soon", id: "2") }
    #expect(
      texts(inbox.receiver.receive(own, isReliable: true, roster: inbox.roster, at: .zero)) == ["-: closing soon"])
  }

  @Test func chatComesInThreeFormsAndIsToldOnce() {
    var inbox = Inbox()
    #expect(texts(inbox.receive(Inbox.chat("hello", id: "a"))) == ["ann: hello"])
    #expect(inbox.receive(Inbox.chat("hello", id: "a")).isEmpty)
    #expect(texts(inbox.receive(from: "ben", Inbox.chat("hello", id: "a"))) == ["ben: hello"])
    #expect(texts(inbox.stream("b", chunks: ["good ", "morning"])) == ["ann: good morning"])
    let old = #"{"id":"c","timestamp":7,"message":"old form"}"#
    #expect(texts(inbox.receive(Inbox.user("lk-chat-topic", old))) == ["ann: old form"])
    let doubled = #"{"id":"d","timestamp":7,"message":"in both forms","ignoreLegacy":true}"#
    #expect(inbox.receive(Inbox.user("lk-chat-topic", doubled)).isEmpty)
    #expect(texts(inbox.receive(Inbox.user("lk-chat-topic", "no JSON"))) == ["ann topic=lk-chat-topic 7 bytes"])
  }

  @Test func chatIsEditedAndDeleted() {
    var inbox = Inbox()
    let edit = Livekit_ChatMessage.with { ($0.id, $0.message, $0.editTimestamp) = ("1", "better", 9) }
    #expect(texts(inbox.receive(.chatMessage(edit))) == ["ann edited: better"])
    let deletion = Livekit_ChatMessage.with { ($0.id, $0.message, $0.deleted) = ("1", "secret", true) }
    #expect(texts(inbox.receive(.chatMessage(deletion))) == ["ann deleted: "])
    #expect(texts(inbox.stream("1", chunks: ["best"], operation: .update)) == ["ann edited: best"])
    #expect(texts(inbox.stream("1", chunks: [], operation: .delete)) == ["ann deleted: "])
  }

  @Test func textStreamsOfOtherTopicsAndFilesAreData() {
    var inbox = Inbox()
    #expect(texts(inbox.stream("n", topic: "notes", chunks: ["abc", "de"])) == ["ann topic=notes 5 bytes"])
    #expect(texts(inbox.stream("f", topic: "files", chunks: ["abc"], isText: false)) == ["ann topic=files 3 bytes"])
    let large = [String](repeating: String(repeating: "x", count: 15_000), count: 5)
    #expect(inbox.stream("g", topic: "files", chunks: large, isText: false).isEmpty)
    #expect(inbox.receiver.dropped == 1)
  }

  @Test func aStreamCanBeWholeAndPackedInItsHeader() {
    var inbox = Inbox()
    let header = Livekit_DataStream.Header.with {
      ($0.streamID, $0.topic, $0.compression) = ("z", "lk.chat", .deflateRaw)
      $0.textHeader = .init()
      $0.inlineContent.append(contentsOf: InflateTests.bytes(InflateTests.packed[0].hex))
    }
    #expect(texts(inbox.receive(.streamHeader(header))) == ["ann: Hello, hello, hello! Grüße."])
    #expect(inbox.receiver.openStreams == 0)
    var damaged = header
    damaged.streamID = "y"
    damaged.inlineContent.removeLast(9)
    #expect(inbox.receive(.streamHeader(damaged)).isEmpty)
  }

  @Test func aStreamWithAHoleOrBrokenOffGivesNothing() {
    var inbox = Inbox()
    let header = Livekit_DataStream.Header.with {
      ($0.streamID, $0.topic) = ("h", "lk.chat")
      $0.textHeader = .init()
    }
    #expect(inbox.receive(.streamHeader(header)).isEmpty)
    #expect(inbox.receive(Inbox.chunk("h", 1, "second")).isEmpty)
    #expect(inbox.receive(.streamTrailer(.with { $0.streamID = "h" })).isEmpty)
    #expect(inbox.receive(.streamHeader(header)).isEmpty)
    #expect(inbox.receive(.streamTrailer(.with { ($0.streamID, $0.reason) = ("h", "cancelled") })).isEmpty)
    // Another one's stream of the same name is another stream.
    #expect(inbox.receive(.streamHeader(header)).isEmpty)
    #expect(inbox.receive(from: "ben", Inbox.chunk("h", 0, "intruder")).isEmpty)
    #expect(inbox.receive(Inbox.chunk("h", 0, "mine")).isEmpty)
    #expect(inbox.receive(Inbox.chunk("h", 0, "mine again")).isEmpty)
    #expect(texts(inbox.receive(.streamTrailer(.with { $0.streamID = "h" }))) == ["ann: mine"])
  }

  @Test func longTextsAreCutAndSaySo() {
    var inbox = Inbox()
    let chunks = [String](repeating: String(repeating: "ä", count: 7000), count: 10)
    guard case .chat(let long)? = inbox.stream("l", chunks: chunks).first else {
      Issue.record("no chat")
      return
    }
    #expect(long.isCut && long.text.utf8.count <= 65_536 + 3)
    guard case .chat(let message)? = inbox.receive(Inbox.chat(String(repeating: "x", count: 70_000))).first else {
      Issue.record("no chat")
      return
    }
    #expect(message.isCut && message.text.utf8.count == 65_536)
  }

  @Test func transcriptionsBecomeCaptions() {
    var inbox = Inbox()
    let transcription = Livekit_Transcription.with {
      $0.trackID = "TR_A1"
      $0.segments = [
        .with { ($0.id, $0.text, $0.final, $0.language) = ("s", "good mor", false, "en") },
        .with { ($0.id, $0.text, $0.final) = ("s", "Good morning.", true) },
      ]
    }
    #expect(
      texts(inbox.receive(from: "agent", .transcription(transcription)))
        == ["ann says: good mor", "ann said: Good morning."])
    // As agents send it now: a stream for each version of a segment.
    let attributes = ["lk.segment_id": "t", "lk.transcribed_track_id": "TR_A1", "lk.transcription_final": "false"]
    #expect(
      texts(inbox.stream("1", from: "agent", topic: "lk.transcription", chunks: ["how a"], attributes: attributes))
        == ["ann says: ", "ann says: how a"])
    let final = attributes.merging(["lk.transcription_final": "true"]) { $1 }
    #expect(
      texts(
        inbox.stream("2", from: "agent", topic: "lk.transcription", chunks: ["How are", " you?"], attributes: final))
        == ["ann says: ", "ann said: How are you?"])
    #expect(
      texts(inbox.stream("3", from: "agent", topic: "lk.transcription", chunks: ["I listen."]))
        == ["agent says: ", "agent said: I listen."])
  }

  @Test func reliablePacketsThatComeAgainAreIgnored() {
    var inbox = Inbox()
    #expect(inbox.receive(sequence: 1, Inbox.user("a", "x")).count == 1)
    #expect(inbox.receive(sequence: 2, Inbox.user("a", "x")).count == 1)
    #expect(inbox.receive(sequence: 1, Inbox.user("a", "x")).isEmpty)
    #expect(inbox.receive(sequence: 2, Inbox.user("a", "x")).isEmpty)
    #expect(inbox.receive(from: "ben", sequence: 1, Inbox.user("a", "x")).count == 1)
    #expect(inbox.receive(sequence: 0, Inbox.user("a", "x")).count == 1)
    #expect(inbox.receiver.receiveStates.map(\.publisherSid) == ["PA_ann", "PA_ben"])
    #expect(inbox.receiver.receiveStates.map(\.lastSeq) == [2, 1])
  }

  @Test func repetitionsAreKnownHoweverManyHaveComeAndGone() {
    var inbox = Inbox()
    for number in 0..<1024 {
      #expect(inbox.receive(from: "gone\(number)", sequence: 5, Inbox.user("a", "x")).count == 1)
    }
    #expect(inbox.receive(from: "ben", sequence: 7, Inbox.user("a", "x")).count == 1)
    #expect(inbox.receive(from: "ben", sequence: 7, Inbox.user("a", "x")).isEmpty)
  }

  @Test func aFloodIsCutOffAndEnds() {
    var inbox = Inbox()
    let large = String(repeating: "x", count: 10_000)
    var passed = 0
    for _ in 0..<10_000 { passed += inbox.receive(isReliable: false, Inbox.user("flood", large)).count }
    #expect(passed <= 110 && inbox.receiver.dropped > 9000)
    inbox.now += .seconds(10)
    #expect(inbox.receive(Inbox.user("calm", "again")).count == 1)
    // Chat is counted apart.
    var chats = 0
    for index in 0..<10_000 { chats += inbox.receive(Inbox.chat(large, id: "\(index)")).count }
    #expect((90...110).contains(chats))
  }

  @Test func encryptedMessagesAreCounted() {
    var inbox = Inbox()
    #expect(inbox.receive(.encryptedPacket(.init())).isEmpty)
    #expect(inbox.receiver.encrypted == 1)
  }

  @Test(arguments: 0..<6)
  func nothingThatIsSentGrowsWithoutBounds(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var inbox = Inbox()
    func word(_ count: Int) -> String { String(repeating: "w", count: count) }
    for step in 0..<3000 {
      inbox.now += .nanoseconds(Int64.random(in: 0...20_000_000, using: &random))
      let id = "s\(Int.random(in: 0..<400, using: &random))"
      let sender = "p\(Int.random(in: 0..<40, using: &random))"
      let value: Livekit_DataPacket.OneOf_Value
      switch Int.random(in: 0..<8, using: &random) {
      case 0...3:
        let topic = ["lk.chat", "lk.transcription", word(400), ""].randomElement(using: &random) ?? ""
        value = .streamHeader(
          .with {
            ($0.streamID, $0.topic, $0.timestamp) = (id, topic, .random(in: .min ... .max, using: &random))
            if Bool.random(using: &random) { $0.textHeader = .init() }
            $0.attributes = ["k": word(Int.random(in: 0...20_000, using: &random))]
          })
      case 4, 5: value = Inbox.chunk(id, Int.random(in: 0...2, using: &random), word(15_000))
      case 6: value = .streamTrailer(.with { $0.streamID = id })
      default: value = Inbox.chat(word(Int.random(in: 0...500, using: &random)), id: "\(step)")
      }
      for event in inbox.receive(from: sender, sequence: .random(in: 0...9999, using: &random), value) {
        switch event {
        case .data(let message): #expect(message.payload.count <= 65_536 && message.topic.utf8.count <= 256)
        case .chat(let message): #expect(message.text.utf8.count <= 65_536 + 3 && message.id.utf8.count <= 256)
        case .caption(let caption): #expect(caption.text.utf8.count <= 65_536 + 3)
        default: Issue.record("seed \(seed): \(event)")
        }
      }
      #expect(inbox.receiver.openStreams <= 64, "seed \(seed)")
    }
  }
}
