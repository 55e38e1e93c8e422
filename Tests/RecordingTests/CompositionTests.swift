import Foundation
import Layouts
import Logging
import MediaCore
import Session
import SessionLog
import Testing

@testable import Recording

/// Sessions that are told again.
@Suite struct CompositionTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-composition-\(UUID())").path

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  /// Events that come in pieces, whose lengths a seed says.
  final class Pieces: EventSource {
    private var events: ArraySlice<SessionEvent>
    private var random: SeededRandom
    private var reached = SessionTime.zero
    init(_ events: [SessionEvent], seed: UInt64) { (self.events, random) = (events[...], SeededRandom(seed: seed)) }
    var now: SessionTime? { nil }
    var stoppedAt: SessionTime? { nil }
    var isQuiet: Bool { false }
    func take(into taken: inout [SessionEvent], until goal: SessionTime, pending: Int) -> SessionTime? {
      reached = reached + .milliseconds(Int64(1 + random.next() % 90))
      while let event = events.first, event.arrived <= reached {
        taken.append(event)
        events.removeFirst()
      }
      return reached
    }
  }

  static let settings = SessionCore.Settings(
    canvas: CanvasSize(width: 640, height: 360), layout: .grid, title: "talk", startDate: 1_790_000_000_000_000_000)

  /// Two people who talk in turn; late frames, commands, an outage.
  static func session(seconds: Int64, seed: UInt64) -> [SessionEvent] {
    var random = SeededRandom(seed: seed)
    var entries: [(at: Int64, payload: SessionEvent.Payload)] = [(0, .room(.joined(room: "talk")))]
    for name in ["ann", "bob"] {
      entries.append((1, .room(.participant(Participant(identity: ParticipantIdentity(name), name: name)))))
      for (kind, source) in [(MediaKind.video, TrackSource.camera), (.audio, .microphone)] {
        let id = TrackID("\(name).\(kind.rawValue)")
        entries.append(
          (1, .room(.track(Track(id: id, participant: ParticipantIdentity(name), kind: kind, source: source)))))
        entries.append((1, .room(.trackSubscribed(id, true))))
      }
      var before: Int64 = 0
      for index in 0..<seconds * 30 {
        let sent = index * 1000 / 30
        // Now and then one comes too late for a live recording, and holds up those behind it.
        let delay = max(random.next() % 60 == 0 ? 700 : Int64(random.next() % 60), before - sent)
        before = sent + delay
        let frame = EncodedFrame(
          codec: .vp8, payload: MediaBuffer([1]), rtpTime: sent * 90, isKeyframe: index % 60 == 0, width: 640,
          height: 360)
        entries.append((20 + sent + delay, .frame(frame, of: TrackID("\(name).video"))))
      }
      for index in 0..<seconds * 50 {
        let talks = (index / 150 % 2 == 0) == (name == "ann")
        let frame = EncodedFrame(
          codec: .opus, payload: MediaBuffer([2]), rtpTime: index * 960, isKeyframe: true, audioLevel: talks ? 15 : 100)
        entries.append((20 + index * 20 + Int64(random.next() % 30), .frame(frame, of: TrackID("\(name).audio"))))
      }
    }
    entries.append((3000, .room(.setLayout(.speaker))))
    entries.append((4000, .room(.pin(TileSelector(participant: "bob")))))
    entries.append((5000, .room(.pause(.cut))))
    entries.append((5700, .room(.resume)))
    entries.append((6000, .room(.connectionLost("why"))))
    entries.append((6500, .room(.connectionRestored)))
    entries.append((seconds * 1000, .room(.ended(.roomEnded))))
    return entries.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.enumerated()
      .filter { $0.element.element.at <= seconds * 1000 }.map {
        SessionEvent(
          sequence: UInt64($0.offset), arrived: .milliseconds($0.element.element.at),
          payload: $0.element.element.payload)
      }
  }

  private func log(_ events: [SessionEvent], _ name: String) throws -> String {
    let path = "\(folder)/\(name)"
    let writer = try SessionLogWriter(path: path, beginning: LogBeginning(settings: Self.settings, program: "test"))
    for event in events { try writer.append(.event(event)) }
    try writer.finish(LogEnd(reason: .roomEnded, length: .seconds(9)))
    return path
  }

  @Test(arguments: 1...8) func aLogGivesThePlansOfTheLiveRecordingWordByWord(seed: UInt64) throws {
    let events = Self.session(seconds: 10, seed: seed)
    let live = try drive(Pieces(events, seed: seed), Self.settings)
    let reader = try logReader(log(events, "\(seed)"))
    let again = try drive(
      LogSource(reader, without: [], commands: CommandFilter()),
      Composition.settings(of: reader.beginning, presentation: .asLive))
    #expect(live.plans.count > 270)
    #expect(again.plans.map(\.description) == live.plans.map(\.description))
    // In which order tracks of an instant are decoded and mixed is of no account.
    #expect(again.decoded.map(\.rawValue).sorted() == live.decoded.map(\.rawValue).sorted())
    #expect(again.audio.sorted() == live.audio.sorted())
    #expect(again.notes == live.notes)
    try FileManager.default.removeItem(atPath: "\(folder)/\(seed)")
  }

  @Test func whatCameTooLateLiveIsUsedWhenComposed() throws {
    let events = Self.session(seconds: 10, seed: 5)
    let reader = try logReader(log(events, "late"))
    func shown(_ presentation: Composition.Presentation) throws -> Int {
      let reader = try logReader(reader.path)
      let spy = try drive(
        LogSource(reader, without: [], commands: CommandFilter(followsLayouts: false, followsOthers: false)),
        Composition.settings(of: reader.beginning, presentation: presentation))
      // The last seconds, for which late frames are waited, are not one burst: all of its pictures are in memory.
      #expect(spy.mostInABurst <= 15)
      var frames: Set<FrameID> = []
      for plan in spy.plans {
        for tile in plan.tiles { if case .picture(let id, _) = tile.content { frames.insert(id) } }
      }
      return frames.count
    }
    let (live, complete) = (try shown(.asLive), try shown(.complete))
    #expect(complete > live, "\(live) pictures live, \(complete) composed")
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func aPartIsWhatTheWholeShowsThere() throws {
    let events = Self.session(seconds: 8, seed: 9)
    let whole = try drive(Pieces(events, seed: 1), Self.settings)
    let part = Spy()
    let excerpt = Excerpt(of: part, from: .milliseconds(3_210), settings: Self.settings)
    _ = try Drive(
      source: Pieces(events, seed: 2), handler: excerpt, settings: Self.settings, logger: Logger(label: "test")
    ) {
      _ in
    }.run(SessionCore(settings: Self.settings), first: [])
    let rest = whole.plans.filter { $0.time >= .milliseconds(3_210) }
    #expect(part.plans.count == rest.count && part.plans.first?.slot == 0 && part.plans.first?.time == .zero)
    for (mine, theirs) in zip(part.plans, rest) {
      #expect(mine.tiles == theirs.tiles && mine.sessionTime == theirs.sessionTime)
    }
    #expect(whole.missing == 0)
    // Of the pictures before only those since the last keyframes are decoded, in their order.
    let firstSlot = try #require(rest.first)
    let (all, mine) = (Set(whole.decoded.map(\.rawValue)), Set(part.decoded.map(\.rawValue)))
    #expect(mine.isSubset(of: all) && mine.count == part.decoded.count && mine.count < all.count - 80)
    #expect(all.subtracting(mine).max() ?? 0 < mine.min() ?? 0 || all.subtracting(mine).count < all.count / 2)
    #expect(part.audio.allSatisfy { $0 >= .zero } && part.prepared < events.count)
    #expect(part.notes.map(\.event) == whole.notes.filter { $0.time >= firstSlot.time }.map(\.event))
  }

  @Test(arguments: 0..<12) func whereverAPartBeginsItsPicturesAreThere(number: Int64) throws {
    let part = Spy()
    let excerpt = Excerpt(of: part, from: .milliseconds(2_000 + number * 41), settings: Self.settings)
    _ = try Drive(
      source: Pieces(Self.session(seconds: 4, seed: 9), seed: UInt64(number)), handler: excerpt,
      settings: Self.settings, logger: Logger(label: "test")
    ) { _ in }.run(SessionCore(settings: Self.settings), first: [])
    #expect(part.plans.count > 40 && part.missing == 0)
  }

  @Test func commandsAreFollowedOrNotAndRedactionsAlwaysAre() {
    func told(_ filter: CommandFilter, _ events: [RoomEvent]) -> [RoomEvent] {
      var filter = filter
      return events.compactMap { event -> RoomEvent? in
        let told = filter.admit(SessionEvent(sequence: 0, arrived: .zero, payload: .room(event)))
        guard case .room(let event)? = told?.payload else { return nil }
        return event
      }
    }
    let all: [RoomEvent] = [
      .setLayout(.speaker), .pin(TileSelector(participant: "a")), .title("t"), .pause(.cut), .resume, .pause(.redact),
      .pause(.slate), .resume, .pause(.redact), .resume, .synchronized,
    ]
    #expect(told(CommandFilter(), all) == all)
    #expect(told(CommandFilter(followsLayouts: false), all) == Array(all.dropFirst()))
    #expect(
      told(CommandFilter(followsLayouts: false, followsOthers: false), all)
        == [.pause(.redact), .resume, .pause(.redact), .resume, .synchronized])
  }

  @Test func aLogThatIsTooSlowHasAGapAndLosesNoEvent() throws {
    let path = "\(folder)/slow"
    let thread = try LogThread(
      path: path, beginning: LogBeginning(settings: Self.settings, program: "test"), limit: 4_000,
      logger: Logger(label: "test"))
    let events = Self.session(seconds: 4, seed: 1)
    // Much faster than it is written: all of it comes between two writes, or nearly.
    for event in events { thread.put(event) }
    thread.finish(LogEnd(reason: .stopped, length: .seconds(4)))
    let reader = try logReader(path)
    var contents = LogContents()
    var kept: [RoomEvent] = []
    var followsLoss = 0
    while let entry = try reader.next() {
      contents.take(entry)
      guard case .event(let event) = entry else { continue }
      switch event.payload {
      case .room(let event): kept.append(event)
      case .frame(let frame, _): followsLoss += frame.followsLoss ? 1 : 0
      }
    }
    let expected = events.compactMap { if case .room(let event) = $0.payload { event } else { nil } }
    #expect(kept == expected && contents.end?.reason == .stopped)
    let missing = thread.progress.missingFrames
    #expect(missing > 100 && contents.gaps.reduce(0) { $0 + $1.frames } == missing)
    let frames = contents.tracks.reduce(0) { $0 + $1.frames }
    #expect(frames + missing == UInt64(events.count - expected.count))
    #expect(thread.progress.failure == nil && reader.damages.isEmpty)
    try FileManager.default.removeItem(atPath: folder)
  }
}
