import Foundation
import Layouts
import MediaCore
import Session
import TestKit
import Testing

@testable import SessionLog

/// What is written is read.
@Suite struct RoundTripTests {
  let folder = Folder()

  /// Every kind of event, with every field set to something.
  static let events: [RoomEvent] = [
    .joined(room: "a room"),
    .participant(
      Participant(
        identity: ParticipantIdentity("ann"), name: "Ann \u{1F600}", metadata: "{\"avatar\":\"a.png\"}",
        attributes: ["k": "v", "empty": ""], isBot: true)),
    .participantLeft(ParticipantIdentity("ann")),
    .track(
      Track(
        id: TrackID("TR_1"), participant: ParticipantIdentity("ann"), kind: .audio, source: .screenShareAudio,
        name: "n", isMuted: true, obstacle: .encrypted)),
    .trackUnpublished(TrackID("TR_1")), .trackSubscribed(TrackID("TR_1"), false), .trackPaused(TrackID("TR_1"), true),
    .trackReception(TrackID("TR_1"), .lowBandwidth),
    .speakers([Speaker(participant: ParticipantIdentity("ann"), level: 700, isActive: true)]),
    .network(
      NetworkReport(
        incoming: 1, incomingAudio: 2, incomingVideo: 3, flowingVideos: 4, lossPerMille: 5,
        queueDelay: .milliseconds(6), estimate: 7, quality: .good, path: NetworkPath(.relayTLS, "h:1"))),
    .network(NetworkReport()),
    .data(DataMessage(participant: nil, topic: "t", payload: [0, 255])),
    .data(DataMessage(participant: ParticipantIdentity(""), topic: "", payload: [])),
    .chat(
      ChatMessage(
        id: "1", participant: ParticipantIdentity("ann"), text: "a\nb", timestamp: -5, action: .edited, isCut: true)),
    .caption(
      Caption(id: "2", participant: ParticipantIdentity("ann"), text: "words", language: "en", isFinal: true)),
    .connectionLost("why"), .connectionRestored, .synchronized, .setLayout(.grid),
    .pin(TileSelector(participant: "ann", isScreenShare: true)), .unpin(TileSelector(participant: "ann")), .unpin(nil),
    .spotlight(TileSelector(participant: "ann")), .spotlight(nil), .title("T"), .pause(.cut), .pause(.slate),
    .pause(.redact), .resume, .marker("m"),
    .process(
      ProcessorRule(.attribute(key: "consent", value: "a=b"), TrackProcessors(video: .pixelate, audio: .voiceMask))),
    .process(ProcessorRule(.everybody, TrackProcessors(audio: .silence))),
    .process(ProcessorRule(.person("Ann Lee"), TrackProcessors())), .ended(.stopped), .ended(.roomEnded),
    .ended(.evicted), .ended(.removed),
    .ended(.maxDuration), .ended(.empty), .ended(.connectionLost("why")),
  ]

  @Test(arguments: events) func everyEventIsReadAsItWasWritten(event: RoomEvent) throws {
    let entry = LogEntry.event(SessionEvent(sequence: 9, arrived: .milliseconds(77), payload: .room(event)))
    let body: [UInt8] = try WireRecord(entry).serializedBytes()
    let read = try WireRecord.read(body)?.entry(layouts)
    guard case .event(let result)? = read, case .room(let same) = result.payload else {
      Issue.record("\(String(describing: read))")
      return
    }
    #expect(same == event)
    #expect(result.sequence == 9 && result.arrived == .milliseconds(77))
  }

  @Test func aBeginningIsReadAsItWasWritten() throws {
    try write([], to: "\(folder.path)/a")
    let read = try SessionLogReader(path: "\(folder.path)/a", layouts: layouts).beginning
    let written = Sessions.beginning
    #expect(read.program == written.program && read.keepUntil == written.keepUntil)
    #expect(read.settings.layout == written.settings.layout && read.settings.canvas == written.settings.canvas)
    #expect(read.settings.talker == written.settings.talker)
    var (a, b) = (read.settings, written.settings)
    (a.layout, b.layout) = (.grid, .grid)
    #expect("\(a)" == "\(b)")
  }

  @Test func aProcessorThatThisVersionDoesNotKnowHidesEverything() {
    var rule = WireProcessorRule(ProcessorRule(.person("ann"), TrackProcessors(video: .blur)))
    rule.processors = ["cartoon"]
    #expect(rule.value == ProcessorRule(.person("ann"), TrackProcessors(video: .mask, audio: .silence)))
    rule.processors = Array(repeating: "blur", count: 10_000)
    #expect(rule.value?.processors == TrackProcessors(video: .blur))
    rule.selector = ""
    #expect(rule.value == nil)
  }

  @Test func framesOfEveryCodecAreReadAsTheyWereWritten() throws {
    for codec in Codec.allCases {
      let frame = EncodedFrame(
        codec: codec, payload: MediaBuffer([1, 2, 3]), rtpTime: -(1 << 40), captureTime: NTPTime(.max),
        isKeyframe: true, width: 1920, height: 1080, layerCount: 3, rotation: 270, followsLoss: true, audioLevel: 0,
        held: .milliseconds(5))
      let entry = LogEntry.event(
        SessionEvent(sequence: 1, arrived: .milliseconds(5), payload: .frame(frame, of: TrackID("t"))))
      let body: [UInt8] = try WireRecord(entry).serializedBytes()
      #expect(try WireRecord.read(body)?.entry(layouts)?.text == entry.text)
    }
  }

  @Test func aLogOfManyFilesIsOneStream() throws {
    let events = Sessions.talk(seconds: 10)
    let end = LogEnd(reason: .roomEnded, length: .seconds(10))
    try write(events, to: "\(folder.path)/a", fileSize: 20_000, end: end)
    #expect(try LogFolder.files(in: "\(folder.path)/a").count > 5)
    let reader = try SessionLogReader(path: "\(folder.path)/a", layouts: layouts)
    let entries = try reader.rest()
    #expect(entries.map(\.text) == (events.map { LogEntry.event($0) } + [.end(end)]).map(\.text))
    #expect(reader.damages.isEmpty && reader.unknown == 0 && reader.position == reader.size)
  }

  @Test func theFilesAreTheirOwnersOnly() throws {
    try write([], to: "\(folder.path)/a")
    func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
    #expect(try mode("\(folder.path)/a") == 0o700)
    #expect(try mode("\(folder.path)/a/000001.rlog") == 0o600)
  }

  @Test func aSmallRecordDoesNotUnfoldToALargeOne() throws {
    // Half a million speakers of two bytes each, as an event, and behind a small frame.
    let speakers = (0..<600_000).flatMap { _ -> [UInt8] in [0x0a, 0x00] }
    func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
      var length = content.count
      var bytes = [number << 3 | 2]
      while length > 0x7f {
        bytes.append(UInt8(length & 0x7f) | 0x80)
        length >>= 7
      }
      return bytes + [UInt8(length)] + content
    }
    #expect(WireRecord.read(field(2, field(11, speakers))) == nil)
    #expect(WireRecord.read(field(3, [0x08, 0x01]) + field(2, field(11, speakers))) == nil)
    #expect(WireRecord.read(field(2, field(11, Array(speakers.prefix(1000)))))?.event.speakers.speakers.count == 500)
    var record = WireRecord()
    record.frame.payload = Data(repeating: 1, count: 3 << 20)
    #expect(WireRecord.read(try record.serializedBytes())?.frame.payload.count == 3 << 20)
  }

  @Test func contentsAreGathered() throws {
    var contents = LogContents()
    for event in Sessions.talk(seconds: 2) { contents.take(.event(event)) }
    contents.take(.end(LogEnd(reason: .stopped, length: .seconds(2))))
    #expect(contents.room == "talk" && contents.people.map(\.displayName) == ["Ann", "Bob"])
    #expect(contents.tracks.map(\.frames) == [50, 100, 50, 100])
    #expect(contents.tracks.map(\.keyframes) == [2, 0, 2, 0])
    #expect(contents.tracks[0].codecs == [.vp8] && contents.end?.reason == .stopped)
  }
}
