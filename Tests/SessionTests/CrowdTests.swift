import Layouts
import MediaCore
import TestKit
import Testing

@testable import Session

/// Large rooms: what a frame costs follows what is shown and received, not who is there. Counted, not timed.
@Suite struct CrowdTests {
  /// Three people whose media comes, and others who publish what is not received.
  private func room(of people: Int, subscribed: Bool = false) -> RoomScript {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    for name in ["ann", "ben", "cat"] {
      room.join(name, at: 0)
      room.video("\(name).camera", from: 0, to: 8000)
      for ms in stride(from: Int64(0), to: 8000, by: 20) {
        room.frame("\(name).microphone", at: ms, codec: .opus, level: name == "ann" ? 20 : 127)
      }
    }
    for number in 3..<people {
      let name = "guest\(number)"
      room.at(0, .participant(Participant(identity: ParticipantIdentity(name))))
      room.publish(name, .camera, isMuted: subscribed, isSubscribed: subscribed, at: 0)
      room.publish(name, .microphone, isMuted: true, isSubscribed: subscribed, at: 0)
    }
    return room
  }

  /// What is looked at in the last seconds of a run, and the last plan.
  private func effort(_ room: RoomScript, _ settings: SessionCore.Settings = .test) -> (
    effort: UInt64, plan: FramePlan?
  ) {
    var core = SessionCore(settings: settings)
    var events = room.ordered()[...]
    var before: UInt64 = 0
    var last: FramePlan?
    for ms in stride(from: Int64(10), through: 8000, by: 10) {
      while let event = events.first, event.arrived <= .milliseconds(ms) {
        core.handle(event)
        events.removeFirst()
      }
      core.advance(to: .milliseconds(ms))
      while let output = core.pollOutput() {
        if case .compose(let plan) = output { last = plan }
      }
      if ms == 4000 { before = core.effort }
    }
    return (core.effort - before, last)
  }

  @Test(arguments: [false, true]) func aFrameCostsWhatIsShownNotWhoIsThere(subscribed: Bool) throws {
    let few = effort(room(of: 30, subscribed: subscribed))
    let many = effort(room(of: 3000, subscribed: subscribed))
    #expect(few.plan?.tiles.isEmpty == false && many.plan?.participants == 3000)
    // Six streams, a few looks each in 120 slots; nobody else.
    #expect(few.effort > 0)
    #expect(many.effort <= few.effort * 5 / 4, "\(many.effort) looks among 3000 people, \(few.effort) among 30")
  }

  @Test func theListOfActiveTalkersCostsNothingWhileItStays() {
    var settings = SessionCore.Settings.test
    settings.maximumTalkers = 5
    settings.receive = .forLayout
    let few = effort(room(of: 30), settings)
    let many = effort(room(of: 3000), settings)
    #expect(many.effort <= few.effort * 5 / 4, "\(many.effort) looks among 3000 people, \(few.effort) among 30")
  }

  @Test func theRoomIsToldWhatIsInViewWhenThatChanges() {
    let views = room(of: 400).run(until: 12_000).outputs.compactMap { output -> Set<TrackID>? in
      if case .view(let tracks) = output { tracks } else { nil }
    }
    #expect((1...10).contains(views.count), "\(views.count)")
    #expect(views.last?.count == 24)
    #expect(zip(views, views.dropFirst()).allSatisfy { $0 != $1 })
  }

  @Test func inALargeRoomOnlyThoseInViewAreAskedForAgain() {
    let asked = room(of: 400).run(until: 12_000).outputs.compactMap { output -> TrackID? in
      if case .subscribe(let track) = output { track } else { nil }
    }
    // The grid has 24 places.
    #expect((1...60).contains(asked.count), "\(asked.count)")
    let few = room(of: 20).run(until: 7000).outputs.filter { if case .subscribe = $0 { true } else { false } }
    #expect(few.count == 17)
  }

  @Test func manyWhoAreLoudByTheRoomsWordAreNoConversation() {
    var policy = TalkerPolicy()
    let crowd = (0..<3000).map { Speaker(participant: ParticipantIdentity("guest\($0)"), level: 500, isActive: true) }
    for (index, part) in stride(from: 0, to: crowd.count, by: 100).enumerated() {
      policy.update(Array(crowd[part..<part + 100]), at: .milliseconds(Int64(index)))
    }
    policy.advance(to: .seconds(1))
    #expect(crowd.count { policy.isTalking($0.participant) } == 64)
    // When those are silent, others can be heard.
    policy.update(crowd.map { Speaker(participant: $0.participant, level: 0, isActive: false) }, at: .seconds(2))
    policy.update([crowd[2999]], at: .seconds(2))
    policy.advance(to: .seconds(5))
    #expect(policy.isTalking(crowd[2999].participant))
    #expect(policy.talker == crowd[2999].participant)
  }

  @Test func whoHasBeenSilentForLongIsHeardAsBefore() {
    var policy = TalkerPolicy()
    let ann = ParticipantIdentity("ann")
    func talk(_ from: Int64, _ to: Int64) {
      for ms in stride(from: from, to: to, by: 20) {
        policy.heard(ann, decibels: -20, at: .milliseconds(ms))
        policy.advance(to: .milliseconds(ms))
      }
    }
    talk(0, 1000)
    #expect(policy.isTalking(ann))
    for ms in stride(from: Int64(1000), to: 60_000, by: 33) { policy.advance(to: .milliseconds(ms)) }
    #expect(!policy.isTalking(ann) && policy.meter(ann) == 0)
    talk(60_000, 61_000)
    #expect(policy.isTalking(ann) && policy.meter(ann) > 0)
  }

  // MARK: Bookkeeping

  /// Random announcements, changes and departures; what is kept must be what a look at everything finds.
  @Test func publicationsAreFoundAsByLookingAtAll() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var state = seed
    func random(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(count))
    }
    var tracks = Publications()
    var order: [TrackID] = []
    let sources: [TrackSource] = [.camera, .microphone, .screenShare]
    for step in 0..<5000 {
      let id = TrackID("t\(random(60))")
      let name = "p\(random(12))"
      let track = RoomScript.track(name, sources[random(3)], id: id.rawValue, isMuted: random(4) == 0)
      switch random(5) {
      case 0, 1:
        var known = tracks[id] ?? TrackState(track: track, now: .zero)
        known.track = track
        tracks[id] = known
        if tracks.announce(id) { order.append(id) }
      case 2: tracks[id]?.isSubscribed = random(2) == 0
      case 3:
        if tracks.remove(id)?.order != nil { order.removeAll { $0 == id } }
      default:
        for id in tracks.takeAwake(until: .milliseconds(Int64(step))) {
          tracks.rest(id, until: random(2) == 0 ? .milliseconds(Int64(step + random(50))) : nil)
        }
      }
      guard step % 10 == 0 else { continue }
      #expect(tracks.announced == order, "seed \(seed)")
      #expect(tracks.flowingVideos == order.filter { tracks[$0]?.isWatched == true }, "seed \(seed)")
      #expect(tracks.videoCount == order.count { tracks[$0]?.track.kind == .video }, "seed \(seed)")
      let screen = order.last { tracks[$0]?.track.source == .screenShare && tracks[$0]?.track.isMuted == false }
      #expect(tracks.presenter == screen.flatMap { tracks[$0]?.track.participant }, "seed \(seed)")
      for number in 0..<12 {
        let identity = ParticipantIdentity("p\(number)")
        let found = Set(tracks.owned(by: identity).filter { tracks[$0]?.order != nil })
        #expect(found == Set(order.filter { tracks[$0]?.track.participant == identity }), "seed \(seed)")
      }
    }
  }

  @Test func peopleStayInTheOrderInWhichTheyCame() {
    var people = People()
    var wanted: [String] = []
    for number in 0..<2000 {
      _ = people.put(Participant(identity: ParticipantIdentity("p\(number)")))
      wanted.append("p\(number)")
      if number % 3 != 0 {
        let gone = wanted.remove(at: (number * 7) % wanted.count)
        #expect(people.remove(ParticipantIdentity(gone))?.identity.rawValue == gone)
      }
    }
    #expect(people.all.map(\.identity.rawValue) == wanted && people.count == wanted.count)
    #expect(wanted.allSatisfy { people[ParticipantIdentity($0)] != nil })
    #expect(people.remove(ParticipantIdentity("nobody")) == nil)
  }

  // MARK: Cards and outlines

  @Test func anOutageSaysNothingOfMicrophones() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.at(0, .participant(Participant(identity: ParticipantIdentity("ben"))))
    room.publish("ben", .microphone, isMuted: true, at: 0)
    room.video("ann.camera", from: 0, to: 2000)
    room.at(2000, .connectionLost("gone"))
    let run = room.run(until: 9000)
    #expect(run.tile("ann", at: 1000)?.isMuted == false && run.tile("ben", at: 1000)?.isMuted == true)
    // The dimmed last picture is as it was, the cards afterwards have no mark.
    #expect(run.tile("ann", at: 2500)?.isDimmed == true && run.tile("ann", at: 2500)?.isMuted == false)
    for name in ["ann", "ben"] {
      #expect(run.card(name, at: 6000) == .reconnecting)
      #expect(run.tile(name, at: 6000)?.isMuted == false)
    }
  }

  @Test func onlyAMicrophoneThatIsOnHasAnOutline() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.at(500, .speakers([Speaker(participant: ParticipantIdentity("ann"), level: 900, isActive: true)]))
    room.at(3000, .track(RoomScript.track("ann", .microphone, isMuted: true)))
    // The room still says so, or says so again.
    room.at(3200, .speakers([Speaker(participant: ParticipantIdentity("ann"), level: 900, isActive: true)]))
    room.at(5000, .track(RoomScript.track("ann", .microphone)))
    let run = room.run(until: 7000)
    #expect(run.tile("ann", at: 2000)?.isTalking == true)
    #expect(run.tile("ann", at: 4000)?.isTalking == false && run.tile("ann", at: 4000)?.isMuted == true)
    #expect(run.tile("ann", at: 6000)?.isTalking == true)
  }

  /// Ann is seen, held back for want of a tile, and wanted again.
  private func hidden(seen: Bool, muted: Bool = false) -> SessionRun {
    var room = RoomScript()
    room.join("ann", at: 0)
    let camera = TrackID("ann.camera")
    if seen { room.video(camera.rawValue, from: 0, to: 2000) }
    room.at(2000, .trackReception(camera, .hidden))
    if muted {
      room.at(3000, .track(RoomScript.track("ann", .camera, isMuted: true)))
      room.at(4000, .track(RoomScript.track("ann", .camera)))
    }
    room.at(5000, .trackReception(camera, .wanted))
    room.video(camera.rawValue, from: 5500, to: 7000)
    return room.run(until: 8000)
  }

  @Test func whoComesIntoViewIsShownAsLastSeen() throws {
    let run = hidden(seen: true)
    let before = try #require(run.tile("ann", at: 1990))
    for ms: Int64 in [3000, 4900, 5100, 5450] { #expect(run.tile("ann", at: ms)?.content == before.content) }
    // Then what comes anew, and afterwards no signal: nothing old stays.
    #expect(run.shows("ann", at: 5700) && run.tile("ann", at: 5700)?.content != before.content)
  }

  @Test func whoWasNeverSeenComesIntoViewByName() {
    let run = hidden(seen: false)
    for ms: Int64 in [3000, 5100, 5450] { #expect(run.card("ann", at: ms) == .arriving) }
    #expect(run.shows("ann", at: 5700))
  }

  @Test func whatWasDisabledMeanwhileIsNotShownAgain() {
    let run = hidden(seen: true, muted: true)
    #expect(run.card("ann", at: 3500) == .cameraOff)
    #expect(run.card("ann", at: 4500) == .starting || run.card("ann", at: 4500) == .arriving)
    #expect(!run.shows("ann", at: 5300))
    #expect(run.shows("ann", at: 5700))
  }

  @Test func aLastPictureDoesNotStandInForLong() {
    var room = RoomScript()
    room.join("ann", at: 0)
    room.video("ann.camera", from: 0, to: 2000)
    room.at(2000, .trackReception(TrackID("ann.camera"), .hidden))
    room.at(5000, .trackReception(TrackID("ann.camera"), .wanted))
    let run = room.run(until: 10_000)
    #expect(run.shows("ann", at: 7900))
    #expect(run.card("ann", at: 8100) == .noSignal)
  }
}
