import Layouts
import MediaCore
import Testing

@testable import Session

/// What the core wants to receive, what it shows of it, and what it notes of messages.
@Suite struct ReceptionTests {
  private func settings(_ mode: ReceptionPolicy.Mode, talkers: Int? = nil) -> SessionCore.Settings {
    var settings = SessionCore.Settings.test
    settings.receive = mode
    settings.maximumTalkers = talkers
    return settings
  }

  private func wishes(_ run: SessionRun) -> [String] {
    run.outputs.flatMap { output -> [String] in
      guard case .receive(let wishes) = output else { return [] }
      return wishes.map { wish in
        "\(wish.track) " + (wish.reception == .wanted ? "\(wish.width)x\(wish.height)" : wish.reception.rawValue)
      }
    }
  }

  private func notes(_ run: SessionRun) -> [TimelineEntry] {
    run.outputs.compactMap { if case .note(let entry) = $0 { entry } else { nil } }
  }

  @Test func eachTrackIsWantedInTheSizeOfItsTile() {
    var room = RoomScript()
    for name in ["ann", "ben", "cat", "dan"] { room.join(name, at: 0) }
    let run = room.run(settings(.forLayout), until: 3000)
    let rect = run.tile("ann", at: 1000)?.layer.rect
    #expect(wishes(run).count == 4)
    #expect(wishes(run).first == "ann.camera \(rect?.width ?? 0)x\(rect?.height ?? 0)")
    #expect(wishes(room.run(settings(.best), until: 3000)).isEmpty)
  }

  /// Cards of everybody, and nobody's picture.
  private static let cards: Layout = {
    var region = Region(name: "cards", selector: SourceSelector([.cameras]))
    region.look.video = false
    return Layout(name: "cards", scenes: [Scene(name: "cards", regions: [region])])
  }()

  @Test func whereNobodysPictureIsShownNoneIsReceivedUnlessItIsKept() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 3000)
    func wishes(_ mode: ReceptionPolicy.Mode, keeps: Bool) -> [String] {
      var settings = settings(mode)
      (settings.layout, settings.keepsPictures) = (Self.cards, keeps)
      return self.wishes(room.run(settings, until: 3000))
    }
    #expect(wishes(.best, keeps: true).isEmpty)
    #expect(wishes(.best, keeps: false) == ["ann.camera hidden"])
    #expect(wishes(.forLayout, keeps: true) == ["ann.camera hidden"])
  }

  @Test func whenPicturesAreShownAgainEachTrackBeginsWithAKeyframe() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.at(2000, .setLayout(.grid))
    room.at(4000, .setLayout(Self.cards))
    for ms in stride(from: Int64(0), to: 6000, by: 40) {
      room.frame("ann.camera", at: ms, isKeyframe: ms == 0 || ms == 2520)
    }
    var settings = settings(.best)
    settings.layout = Self.cards
    let run = room.run(settings, until: 6000)
    let told = run.outputs.compactMap { output -> String? in
      switch output {
      case .usePictures(let isUse): "pictures \(isUse)"
      case .requestKeyframe: "keyframe wanted"
      case .decode(_, let frame, _, _) where frame.isKeyframe: "keyframe \(frame.rtpTime / 90)"
      default: nil
      }
    }
    // It is asked for when the layout arrives, not half a second later.
    #expect(
      told == ["pictures false", "keyframe 0", "keyframe wanted", "pictures true", "keyframe 2520", "pictures false"])
    #expect(run.card("ann", at: 2400) == .starting)
    #expect(run.shows("ann", at: 2600))
  }

  @Test func theSizeIsThatOfThePictureBehindTheTile() {
    let cover = VideoLayer(key: .overflow(1), rect: PixelRect(x: 0, y: 0, width: 400, height: 400), fit: .cover)
    var contain = cover
    contain.fit = .contain
    func size(_ layer: VideoLayer, _ width: Int, _ height: Int) -> [Int] {
      let size = SessionCore.pictureSize(in: layer, width, height)
      return [size.width, size.height]
    }
    #expect(size(cover, 1280, 640) == [800, 400])
    #expect(size(contain, 1280, 640) == [400, 200])
    #expect(size(cover, 640, 1280) == [400, 800])
    #expect(size(contain, 640, 1280) == [200, 400])
    #expect(size(cover, 0, 0) == [400, 400])
  }

  @Test func whoIsNotAmongTheActiveTalkersIsNeitherShownNorReceived() {
    var room = RoomScript()
    for (index, name) in ["ann", "ben", "cat", "dan"].enumerated() { room.join(name, at: Int64(index)) }
    room.at(3000, .speakers([Speaker(participant: ParticipantIdentity("dan"), level: 800, isActive: true)]))
    let run = room.run(settings(.forLayout, talkers: 2), until: 8000)
    #expect(run.tile("ann", at: 1000) != nil && run.tile("ben", at: 1000) != nil)
    #expect(run.tile("cat", at: 1000) == nil && run.tile("dan", at: 1000) == nil)
    #expect(run.tile("dan", at: 7000) != nil && run.tile("ann", at: 7000) != nil && run.tile("ben", at: 7000) == nil)
    #expect(wishes(run).contains("cat.camera hidden"))
    #expect(wishes(run).last { $0.hasPrefix("dan.camera") }?.hasSuffix("hidden") == false, "\(wishes(run))")
    let lists = notes(run).compactMap { entry -> String? in
      guard case .activeTalkers(let list) = entry.event else { return nil }
      return list.map(\.rawValue).joined(separator: " ")
    }
    #expect(lists.suffix(2) == ["ann ben", "dan ann"], "\(lists)")
  }

  @Test func aTrackThatIsWantedAgainBeginsAnew() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 1000)
    room.at(1000, .trackReception(TrackID("ann.camera"), .lowBandwidth))
    room.at(9000, .trackReception(TrackID("ann.camera"), .wanted))
    room.video("ann.camera", from: 9800, to: 11_000)
    let run = room.run(until: 12_000)
    #expect(run.shows("ann", at: 900))
    #expect(run.card("ann", at: 1040) == .lowBandwidth)
    #expect(run.card("ann", at: 8900) == .lowBandwidth)
    #expect(run.card("ann", at: 9500) == .starting)
    #expect(run.shows("ann", at: 10_000))
    let edges = notes(run).compactMap { entry -> String? in
      if case .lowBandwidth(_, _, let isLow) = entry.event { "\(entry.time.milliseconds) \(isLow)" } else { nil }
    }
    #expect(edges == ["1000 true", "9000 false"])
    // Nobody is asked for keyframes of what is not wanted.
    let asked = run.outputs.contains { if case .requestKeyframe = $0 { true } else { false } }
    #expect(!asked)
  }

  @Test func whatTheServicePausesIsNotShownFrozenForLong() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 1000)
    room.at(1000, .trackPaused(TrackID("ann.camera"), true))
    let run = room.run(until: 4000)
    #expect(run.shows("ann", at: 1300))
    #expect(run.card("ann", at: 1600) == .lowBandwidth)
  }

  /// A room of four on a line that becomes too narrow for 5 s.
  private func narrowRoom() -> RoomScript {
    var room = RoomScript()
    for name in ["ann", "ben", "cat", "dan"] {
      room.join(name, at: 0)
      room.video("\(name).camera", from: 0, to: 40_000)
    }
    room.at(500, .speakers([Speaker(participant: ParticipantIdentity("cat"), level: 900, isActive: true)]))
    for second in 1...40 {
      let isNarrow = (10...12).contains(second)
      let report = NetworkReport(
        incoming: isNarrow ? 1_300_000 : 2_100_000, incomingAudio: 100_000,
        incomingVideo: isNarrow ? 1_200_000 : 2_000_000,
        flowingVideos: 4, lossPerMille: isNarrow ? 200 : 0, queueDelay: .milliseconds(isNarrow ? 190 : 2))
      room.at(Int64(second) * 1000, .network(report))
    }
    return room
  }

  @Test(arguments: ReceptionPolicy.Mode.allCases)
  func aNarrowLineKeepsTheTalkerAndSaysHowManyVideosItCarries(mode: ReceptionPolicy.Mode) {
    let run = narrowRoom().run(settings(mode), until: 41_000)
    let alerts = notes(run).compactMap { entry -> BandwidthAlert? in
      if case .bandwidth(let alert) = entry.event { alert } else { nil }
    }
    #expect(alerts.first?.numberOfVideos == 2 && alerts.first?.isLimited == true)
    #expect(alerts.last?.isLimited == false && alerts.last?.numberOfVideos == 4)
    let said = wishes(run).filter { $0.hasSuffix("lowBandwidth") }
    #expect(said.count == 2 && !said.contains { $0.hasPrefix("cat") }, "\(said)")
  }

  @Test func decisionsDoNotDependOnHowOftenTimeIsAdvanced() {
    let room = narrowRoom()
    let often = room.run(settings(.forLayout, talkers: 3), until: 41_000, every: 7)
    let rarely = room.run(settings(.forLayout, talkers: 3), until: 41_000, every: 900)
    #expect(wishes(often) == wishes(rarely) && !wishes(often).isEmpty)
    #expect(notes(often) == notes(rarely))
  }

  @Test func newSizesOfPicturesAreNoted() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 2000)
    let sizes = notes(room.run(until: 3000)).compactMap { entry -> String? in
      guard case .resolution(let track, _, _, let width, let height) = entry.event else { return nil }
      return "\(track) \(width)x\(height)"
    }
    #expect(sizes == ["ann.camera 640x360"])
  }

  @Test func aKeyframeThatCameBeforeItsTrackWasSubscribedSaysTheSizeOfWhatIsShown() throws {
    var room = RoomScript()
    room.at(0, .participant(Participant(identity: ParticipantIdentity("ann"))))
    room.publish("ann", .screenShare, isSubscribed: false, at: 0)
    room.frame("ann.screenShare", at: 100)
    room.at(150, .trackSubscribed(TrackID("ann.screenShare"), true))
    room.frame("ann.screenShare", at: 200, isKeyframe: false)
    let run = room.run(until: 2000)
    #expect(
      notes(run).contains {
        if case .resolution(_, _, _, 640, 360) = $0.event { true } else { false }
      })
    // So the tile has its shape at once.
    let layer = run.plan(at: 1000)?.tiles.first { $0.layer.key.isScreenShare }?.layer
    let rect = try #require(layer?.rect)
    #expect(abs(rect.width * 9 - rect.height * 16) < 32, "\(rect)")
  }

  @Test func messagesAreNotedAtTheirTimeButNotWhilePaused() {
    var room = RoomScript()
    room.join("ann", at: 0)
    func chat(_ text: String) -> RoomEvent {
      .chat(ChatMessage(id: text, participant: ParticipantIdentity("ann"), text: text))
    }
    room.at(1000, chat("one"))
    room.at(2000, .pause(.cut))
    room.at(3000, chat("secret"))
    room.at(4000, .resume)
    room.at(5000, chat("two"))
    let heard = notes(room.run(until: 6000)).compactMap { entry -> String? in
      guard case .chat(let message, let name) = entry.event else { return nil }
      return "\(entry.time.milliseconds) \(name): \(message.text)"
    }
    #expect(heard == ["1000 Ann: one", "3000 Ann: two"])
  }
}
