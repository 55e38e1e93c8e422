import Layouts
import MediaCore
import Testing

@testable import Session

@Suite struct SessionCoreTests {
  // MARK: The truth table

  @Test func aTileIsACardUntilAPictureIsDecoded() {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    room.join("ann", at: 0)
    room.video("ann.camera", from: 500, to: 1500)
    let run = room.run(until: 2000)
    #expect(run.card("ann", at: 100) == .starting)
    #expect(run.shows("ann", at: 600))
  }

  @Test func withoutACameraTheCardSaysCameraOff() {
    var room = RoomScript()
    room.at(0, .participant(Participant(identity: ParticipantIdentity("ann"))))
    #expect(room.run(until: 2000).card("ann", at: 1000) == .cameraOff)
  }

  @Test func mutingShowsTheCardAtOnceAndNeverAnOldPictureAfterwards() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 2000)
    room.at(2000, .track(RoomScript.track("ann", .camera, isMuted: true)))
    room.at(4000, .track(RoomScript.track("ann", .camera)))
    room.video("ann.camera", from: 4500, to: 6000)
    let run = room.run(until: 7000)
    #expect(run.shows("ann", at: 1990))
    #expect(run.card("ann", at: 2034) == .cameraOff)
    #expect(run.card("ann", at: 3900) == .cameraOff)
    #expect(run.card("ann", at: 4300) == .starting)
    #expect(run.shows("ann", at: 4600))
  }

  @Test func anUnsubscribedTrackIsNotReceivedAndIsAskedForAgain() {
    var room = RoomScript()
    room.at(0, .participant(Participant(identity: ParticipantIdentity("ann"))))
    room.publish("ann", .camera, isSubscribed: false, at: 0)
    let run = room.run(until: 12_000)
    #expect(run.card("ann", at: 1000) == .starting)
    #expect(run.card("ann", at: 3000) == .notReceived)
    let asked = run.outputs.filter { if case .subscribe = $0 { true } else { false } }
    #expect(asked.count == 2)
  }

  @Test func aCodecThatCannotBeDecodedIsToldOnceAndShownOnACard() {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    room.join("ann", at: 0)
    room.video("ann.camera", from: 500, to: 7000)
    // As the decoder finds it: between the seconds 2 and 5 another form comes.
    let run = room.run(until: 7500) {
      2000..<5000 ~= $0.rtpTime / 90 ? .unsupported("H.265 (10 bits 4:2:0)") : .decoded
    }
    #expect(run.shows("ann", at: 1900))
    #expect(run.card("ann", at: 2100) == .unsupportedCodec("H.265 (10 bits 4:2:0)"))
    #expect(run.card("ann", at: 4900) == .unsupportedCodec("H.265 (10 bits 4:2:0)"))
    #expect(run.shows("ann", at: 5200))
    let told = run.notes.filter { if case .unsupportedCodec = $0.event { true } else { false } }
    #expect(told.count == 1)
    let asked = run.outputs.contains { if case .requestKeyframe = $0 { true } else { false } }
    #expect(!asked, "no keyframe helps")
  }

  @Test func whatCannotBeDecodedIsNotShownBeforeAKeyframeWhichIsAskedFor() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 1000)
    for ms in stride(from: Int64(1000), to: 9000, by: 50) {
      room.frame("ann.camera", at: ms, isKeyframe: ms == 8000)
    }
    let run = room.run(until: 9000) { 1500..<1600 ~= $0.rtpTime / 90 ? .needsKeyframe : .decoded }
    #expect(run.shows("ann", at: 4400), "the last good picture")
    #expect(run.card("ann", at: 4700) == .noSignal, "no frame that is left out counts as a picture")
    #expect(run.card("ann", at: 7900) == .noSignal)
    #expect(run.shows("ann", at: 8100))
    let decoded = run.outputs.compactMap {
      if case .decode(_, let frame, _, _) = $0 { frame.rtpTime / 90 } else { nil }
    }
    #expect(!decoded.contains { 1600..<8000 ~= $0 })
    let asked = run.outputs.filter { if case .requestKeyframe = $0 { true } else { false } }
    #expect(6...8 ~= asked.count, "once a second")
  }

  @Test func aFindingOfAFrameFromBeforeTheLastKeyframeComesTooLate() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.frame("ann.camera", at: 0, isKeyframe: true)
    for ms in stride(from: Int64(40), to: 3000, by: 40) { room.frame("ann.camera", at: ms, isKeyframe: ms == 400) }
    var core = SessionCore(settings: .test)
    for event in room.ordered() { core.handle(event) }
    // All at once, as after a pause of the machine: what was found comes behind what has been planned.
    core.advance(to: .seconds(4))
    var outputs: [SessionOutput] = []
    while let output = core.pollOutput() { outputs.append(output) }
    let decoded = outputs.compactMap { if case .decode(let id, let frame, _, _) = $0 { (id, frame) } else { nil } }
    let early = decoded.first { $0.1.rtpTime / 90 == 200 }
    guard let early else { return #expect(early != nil) }
    core.take(SessionFinding(early.0, of: TrackID("ann.camera"), .needsKeyframe))
    #expect(core.pollOutput() == nil, "nothing is asked for")
  }

  @Test func silenceOfACameraBecomesNoSignalAndAsksForAKeyframe() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 1000)
    let run = room.run(until: 6000)
    #expect(run.shows("ann", at: 3800))
    #expect(run.card("ann", at: 4100) == .noSignal)
    #expect(run.outputs.contains { if case .requestKeyframe(TrackID("ann.camera")) = $0 { true } else { false } })
  }

  @Test func aPausedTrackSaysLowBandwidth() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 1000)
    room.at(1000, .trackPaused(TrackID("ann.camera"), true))
    #expect(room.run(until: 6000).card("ann", at: 4500) == .lowBandwidth)
  }

  @Test func aTrackPublishedAgainKeepsItsTile() {
    var room = RoomScript()
    for name in ["ann", "ben", "cat"] { room.join(name, at: 0) }
    room.video("ben.camera", from: 0, to: 1000)
    room.at(1000, .trackUnpublished(TrackID("ben.camera")))
    room.publish("ben", .camera, id: "second", at: 2000)
    room.video("second", from: 2000, to: 3000)
    let run = room.run(until: 4000)
    let before = run.tile("ben", at: 900)?.layer
    #expect(before != nil)
    #expect(run.card("ben", at: 1500) == .cameraOff)
    #expect(run.tile("ben", at: 2500)?.layer == before)
    #expect(run.shows("ben", at: 2500))
  }

  @Test func aPersonWithoutSoundIsMutedAndSoundOfAMutedTrackIsDropped() {
    var room = RoomScript()
    room.join("ann", at: 0)
    for ms in stride(from: Int64(0), to: 4000, by: 20) { room.frame("ann.microphone", at: ms, codec: .opus) }
    room.at(2000, .track(RoomScript.track("ann", .microphone, isMuted: true)))
    let run = room.run(until: 5000)
    #expect(run.tile("ann", at: 1000)?.isMuted == false)
    #expect(run.tile("ann", at: 2100)?.isMuted == true)
    let last = run.outputs.compactMap { if case .audio(_, _, _, let at, _) = $0 { at } else { nil } }.max()
    #expect((last ?? .zero) <= .milliseconds(2060))
    #expect((last ?? .zero) >= .milliseconds(1900))
  }

  @Test func whoLeavesLosesTheTileAtOnce() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.join("ben", at: 0)
    room.at(1000, .participantLeft(ParticipantIdentity("ben")))
    let run = room.run(until: 2000)
    #expect(run.tile("ben", at: 990) != nil)
    #expect(run.tile("ben", at: 1034) == nil)
    #expect(run.plan(at: 1500)?.participants == 1)
  }

  @Test func anOutageDimsThenShowsCardsAndLeavesNoOldPicture() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 2000)
    room.at(2000, .connectionLost("test"))
    room.at(8000, .connectionRestored)
    room.video("ann.camera", from: 8200, to: 9000)
    let run = room.run(until: 10_000)
    #expect(run.tile("ann", at: 2100)?.isDimmed == true)
    #expect(run.shows("ann", at: 4900))
    #expect(run.card("ann", at: 5100) == .reconnecting)
    #expect(run.card("ann", at: 8100) == .starting)
    #expect(run.shows("ann", at: 8400))
    #expect(run.tile("ann", at: 8400)?.isDimmed == false)
  }

  @Test func anOutageDoesNotBringBackAPictureThatWasTooOld() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 1000)
    room.at(5000, .connectionLost("test"))
    let run = room.run(until: 8000)
    #expect(run.card("ann", at: 4900) == .noSignal)
    #expect(run.card("ann", at: 5100) == .reconnecting)
  }

  // MARK: Time

  @Test func everyInstantIsPlannedOnceWithoutGaps() {
    var room = RoomScript()
    room.join("ann", at: 0)
    let plans = room.run(until: 3500).plans
    #expect(plans.map(\.slot) == Array(0...90))
    #expect(plans[30].time == .seconds(1))
  }

  @Test(arguments: 0..<10) func plansDoNotDependOnHowOftenTimeIsAdvanced(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let room = Self.randomRoom(&random)
    let reference = room.run(until: 9_000, every: 1).plans
    for step in [7, 33, 250, 1_000, 9_000] as [Int64] {
      let plans = room.run(until: 9_000, every: step).plans
      #expect(plans == Array(reference.prefix(plans.count)), "seed \(seed), step \(step)")
      #expect(plans.count >= reference.count - Int(step * 30 / 1000) - 1)
    }
  }

  /// The same with everything that an operator can do, layouts that glide and turn pages, and levels in the sound.
  @Test(arguments: 100..<108) func commandsGlidesAndPausesDoNotDependOnItEither(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var room = Self.randomRoom(&random)
    for name in ["ann", "ben", "cat", "dan"] {
      var isLoud = false
      for ms in stride(from: Int64(0), to: 9_000, by: 20) {
        if Int.random(in: 0..<40, using: &random) == 0 { isLoud.toggle() }
        room.frame("\(name).microphone", at: ms, codec: .opus, level: isLoud ? 25 : 70)
      }
    }
    for _ in 0..<12 { room.at(Int64.random(in: 0..<9_000, using: &random), Self.randomCommand(&random)) }
    let reference = room.run(until: 9_000, every: 1)
    for step in [7, 33, 250, 1_000, 9_000] as [Int64] {
      let run = room.run(until: 9_000, every: step)
      for (a, b) in zip(run.plans, reference.plans) where a != b {
        Issue.record("seed \(seed), step \(step): \(a) and \(b)")
        return
      }
      let areNotesSame = run.notes == Array(reference.notes.prefix(run.notes.count))
      #expect(areNotesSame, "seed \(seed), step \(step)")
      let isAudioSame = run.sounds == Array(reference.sounds.prefix(run.sounds.count))
      #expect(isAudioSame, "seed \(seed), step \(step)")
      #expect(run.plans.count >= reference.plans.count - Int(step * 30 / 1000) - 1)
    }
    #expect(reference.plans.map(\.slot) == Array(0..<Int64(reference.plans.count)), "seed \(seed)")
    for (a, b) in zip(reference.plans, reference.plans.dropFirst()) {
      #expect(a.sessionTime < b.sessionTime, "seed \(seed)")
    }
  }

  private static func randomCommand(_ random: inout SeededRandom) -> RoomEvent {
    let who = TileSelector(
      participant: ["ann", "ben", "cat", "nobody"].randomElement(using: &random) ?? "ann",
      isScreenShare: Bool.random(using: &random))
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return .pin(who)
    case 1: return .unpin(Bool.random(using: &random) ? who : nil)
    case 2: return .spotlight(Bool.random(using: &random) ? who : nil)
    case 3: return .title("title \(UInt8.random(in: 0...9, using: &random))")
    case 4: return .marker("marker")
    case 5, 6: return .pause(PausePolicy.allCases.randomElement(using: &random) ?? .cut)
    case 7: return .resume
    default:
      var layout: Layout = Bool.random(using: &random) ? .grid : .speaker
      layout.transition = Bool.random(using: &random) ? .cut : .glide(.milliseconds(700))
      for index in layout.scenes.indices {
        for region in layout.scenes[index].regions.indices {
          layout.scenes[index].regions[region].maximumTiles = 2
          layout.scenes[index].regions[region].overflow = Bool.random(using: &random) ? .page : .count
          layout.scenes[index].regions[region].pageTime = .milliseconds(900)
        }
      }
      return .setLayout(layout)
    }
  }

  @Test func jitterDoesNotMovePictures() {
    var room = RoomScript()
    room.join("ann", at: 0)
    var random = SeededRandom(seed: 7)
    var arrival: Int64 = 0
    for index in 0..<Int64(240) {
      let sent = index * 1000 / 30
      // The jitter buffer keeps the order, so a late frame holds up those behind it.
      arrival = max(arrival, sent + 20 + Int64.random(in: 0..<150, using: &random))
      room.frame("ann.camera", at: arrival, sent: sent)
    }
    let shown = room.run(until: 8_000).plans.compactMap { plan -> FrameID? in
      if case .picture(let id, _)? = plan.tiles.first?.content { id } else { nil }
    }
    // After the first second the smallest delay is known: nearly every slot shows a new picture.
    let settled = Array(shown.dropFirst(60))
    let changes = zip(settled, settled.dropFirst()).filter { $0 != $1 }.count
    #expect(changes >= settled.count * 9 / 10)
  }

  @Test func senderReportsAlignSoundAndPicturesOfOnePublisher() {
    var room = RoomScript()
    room.join("ann", at: 0)
    // Pictures take 40 ms longer than sound, as much as few reports are believed, and their media clocks have unrelated zeros.
    for index in 0..<Int64(150) {
      let sent = index * 1000 / 30
      room.frame("ann.camera", at: sent + 70, sent: sent + 777, capture: 5_000_000 + sent)
    }
    for sent in stride(from: Int64(0), to: 5000, by: 20) {
      room.frame("ann.microphone", at: sent + 30, sent: sent + 99, capture: 5_000_000 + sent, codec: .opus)
    }
    let run = room.run(until: 6_000)
    let sound = run.outputs.compactMap { output -> Int64? in
      guard case .audio(_, let frame, _, let at, _) = output, let capture = frame.captureTime else { return nil }
      return at.milliseconds - (capture.nanoseconds / 1_000_000 - 5_000_000)
    }
    // 30 ms is the shortest way of the publisher; both tracks are placed by it.
    #expect(sound.dropFirst(20).allSatisfy { abs($0 - 30) <= 1 })
    let frames = room.ordered()
    for plan in run.plans where plan.time > .seconds(2) && plan.time < .seconds(4) {
      guard case .picture(let id, _)? = plan.tiles.first?.content,
        case .frame(let frame, _) = frames[Int(id.rawValue)].payload, let capture = frame.captureTime
      else { continue }
      let age = plan.time.milliseconds - (capture.nanoseconds / 1_000_000 - 5_000_000)
      #expect(age >= 30 && age <= 30 + 36)
    }
  }

  @Test func soundWithoutAReportIsNotTornFromPicturesThatHaveOne() {
    var room = RoomScript()
    room.join("ann", at: 0)
    // At first pictures take 150 ms (a slow start), then 50 ms; sound takes 30 ms, and its report comes after 4 s.
    for index in 0..<Int64(270) {
      let sent = index * 1000 / 30
      let delay: Int64 = sent < 2500 ? 150 : 50
      room.frame(
        "ann.camera", at: sent + delay, sent: sent + 777, capture: sent > 1000 ? 5_000_000 + sent : nil)
    }
    for sent in stride(from: Int64(0), to: 9000, by: 20) {
      room.frame(
        "ann.microphone", at: sent + 30, sent: sent + 99, capture: sent > 4000 ? 5_000_000 + sent : nil, codec: .opus)
    }
    let run = room.run(until: 10_000)
    let frames = room.ordered()
    for plan in run.plans where plan.time > .milliseconds(2_800) && plan.time < .seconds(9) {
      guard case .picture(let id, _)? = plan.tiles.first?.content,
        case .frame(let frame, _) = frames[Int(id.rawValue)].payload
      else { continue }
      // Sound is placed 30 ms after its capture all the time; pictures at most 20 ms later than that (and a slot).
      let age = plan.time.milliseconds - (frame.rtpTime / 90 - 777)
      #expect(age >= 30 && age <= 50 + 36, "at \(plan.time)")
    }
    let sound = run.outputs.compactMap { output -> Int64? in
      if case .audio(_, let frame, _, let at, _) = output {
        at.milliseconds - (frame.rtpTime / 48 - 99)
      } else {
        nil
      }
    }
    #expect(sound.allSatisfy { (29...31).contains($0) })
  }

  @Test func afterALossNothingIsDecodedBeforeAKeyframe() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.frame("ann.camera", at: 0)
    room.frame("ann.camera", at: 33, isKeyframe: false)
    room.frame("ann.camera", at: 100, isKeyframe: false, followsLoss: true)
    room.frame("ann.camera", at: 133, isKeyframe: false)
    room.frame("ann.camera", at: 166)
    let run = room.run(until: 1000)
    let decoded = run.outputs.compactMap {
      if case .decode(_, let frame, _, _) = $0 { frame.rtpTime / 90 } else { nil }
    }
    #expect(decoded == [0, 33, 166])
    #expect(run.outputs.contains { if case .requestKeyframe = $0 { true } else { false } })
  }

  @Test func aPictureThatIsTurnedBetweenKeyframesHasAnotherShapeAtOnce() {
    var room = RoomScript()
    room.join("ann", at: 0)
    for (index, rotation) in [0, 0, 90, 270, 180].enumerated() {
      room.frame("ann.camera", at: Int64(index) * 100, isKeyframe: index == 0, rotation: rotation)
    }
    let sizes = room.run(until: 1000).outputs.compactMap { output -> String? in
      guard case .note(let entry) = output, case .resolution(_, _, _, let width, let height) = entry.event else {
        return nil
      }
      return "\(width)x\(height)"
    }
    #expect(sizes == ["640x360", "360x640", "640x360"])
  }

  // MARK: The end

  @Test func theMaximumDurationIsExact() {
    var room = RoomScript()
    room.join("ann", at: 0)
    var settings = SessionCore.Settings.test
    settings.maximumDuration = .seconds(2)
    let run = room.run(settings, until: 4000)
    #expect(run.end == .maxDuration)
    #expect(run.plans.count == 60)
  }

  @Test func anEmptyRoomEndsAfterItsPatience() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.at(1000, .participantLeft(ParticipantIdentity("ann")))
    room.join("ben", at: 2000)
    room.at(3000, .participantLeft(ParticipantIdentity("ben")))
    var settings = SessionCore.Settings.test
    settings.stopWhenEmpty = .milliseconds(1500)
    let run = room.run(settings, until: 8000)
    #expect(run.end == .empty)
    #expect(run.plans.last?.time == SessionTime(nanoseconds: 4_466_666_666))
  }

  @Test func aRoomOfBotsIsEmpty() {
    var room = RoomScript()
    let agent = Participant(identity: ParticipantIdentity("agent"), isBot: true)
    room.at(0, .participant(agent))
    room.join("ann", at: 1000)
    room.at(2000, .participantLeft(ParticipantIdentity("ann")))
    // Neither what changes with the bot nor another one makes it people.
    room.at(2500, .participant(Participant(identity: agent.identity, name: "Helper", isBot: true)))
    room.at(3000, .participant(Participant(identity: ParticipantIdentity("scribe"), isBot: true)))
    var settings = SessionCore.Settings.test
    settings.stopWhenEmpty = .milliseconds(1500)
    let run = room.run(settings, until: 8000)
    #expect(run.end == .empty)
    #expect(run.plans.last?.time == SessionTime(nanoseconds: 3_466_666_666))
    // Whoever comes in time keeps the recording going, beside however many bots.
    room.join("ben", at: 3200)
    #expect(room.run(settings, until: 8000).end == nil)
  }

  @Test func tracksThatAreTakenAwayAndGivenBackAreInTheTimeline() {
    var room = RoomScript()
    room.join("ann", at: 0)
    let camera = TrackID("ann.camera")
    room.at(1000, .trackSubscribed(camera, true))
    room.at(2000, .trackSubscribed(camera, false))
    room.at(2500, .trackSubscribed(camera, false))
    room.at(3000, .trackSubscribed(camera, true))
    room.publish("ann", .screenShare, isSubscribed: false, at: 3500)
    room.at(4000, .trackSubscribed(TrackID("ann.screenShare"), true))
    let told = room.run(until: 6000).notes.filter {
      if case .subscribed = $0.event { true } else { false }
    }
    #expect(told.map(\.event.name) == ["unsubscribed", "subscribed"])
    #expect(told.map(\.time) == [.milliseconds(2000), .milliseconds(3000)])
    #expect(
      told.first?.json(startDate: 0).hasSuffix(
        #""event":"unsubscribed","participant":"ann","source":"camera","track":"ann.camera"}"#) == true)
  }

  @Test func anEndPlansEverythingBeforeItWithoutWaiting() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.at(1000, .ended(.roomEnded))
    let run = room.run(until: 1000)
    #expect(run.end == .roomEnded)
    #expect(run.plans.count == 30)
  }

  /// 30 pictures a second: a slot is 33 ms.
  @Test(arguments: [(1000, 30), (1010, 30), (1020, 31), (1033, 31), (1045, 31), (1055, 32), (5, 1)])
  func theLengthIsTheTimeThatHasPassedToHalfASlot(end: Int64, pictures: Int) {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.at(end, .ended(.stopped))
    #expect(room.run(until: 3000).plans.count == pictures)
  }

  // MARK: Golden

  @Test func theSpeakerLayoutFollowsTheTalker() throws {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.join("ben", at: 0)
    room.at(500, .setLayout(.speaker))
    room.at(1000, .speakers([Speaker(participant: ParticipantIdentity("ben"), level: 700, isActive: true)]))
    let run = room.run(until: 3000)
    let plan = try #require(run.plan(at: 2000))
    #expect(plan.layout == "speaker")
    #expect(plan.talker == "Ben")
    #expect(plan.tiles.first { $0.layer.isLarge }?.name == "Ben")
    #expect(plan.tiles.first { $0.name == "Ben" }?.isTalking == true)
    #expect(plan.tiles.count == 2)
  }

  @Test func aSharedScreenHasItsOwnTile() throws {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.publish("ann", .screenShare, at: 500)
    room.video("ann.screenShare", from: 500, to: 2000)
    room.at(2000, .trackUnpublished(TrackID("ann.screenShare")))
    let run = room.run(until: 3000)
    #expect(run.plan(at: 1500)?.tiles.count == 2)
    #expect(run.plan(at: 1500)?.tiles.first { $0.layer.isLarge }?.layer.key.isScreenShare == true)
    #expect(run.plan(at: 2500)?.tiles.count == 1)
  }

  /// People who come, go, mute, talk and lose packets, at random.
  private static func randomRoom(_ random: inout SeededRandom) -> RoomScript {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    for name in ["ann", "ben", "cat", "dan"] {
      let start = Int64.random(in: 0..<2000, using: &random)
      room.join(name, at: start)
      for index in 0..<Int64(180) where Int.random(in: 0..<20, using: &random) > 0 {
        let sent = start + index * 33
        room.frame(
          "\(name).camera", at: sent + Int64.random(in: 0..<600, using: &random), sent: sent,
          capture: index > 30 ? 9_000_000 + sent : nil, isKeyframe: Int.random(in: 0..<10, using: &random) == 0,
          followsLoss: Int.random(in: 0..<30, using: &random) == 0)
      }
      let mute = start + Int64.random(in: 0..<4000, using: &random)
      room.at(mute, .track(RoomScript.track(name, .camera, isMuted: true)))
      room.at(mute + 700, .track(RoomScript.track(name, .camera)))
      let talk = Int64.random(in: 0..<6000, using: &random)
      room.at(talk, .speakers([Speaker(participant: ParticipantIdentity(name), level: 500, isActive: true)]))
    }
    room.at(5_000, .connectionLost("x"))
    room.at(6_000, .connectionRestored)
    room.at(8_000, .participantLeft(ParticipantIdentity("dan")))
    return room
  }
}
