import Layouts
import MediaCore
import TestKit
import Testing

@testable import Session

/// What a pause does to the file's time line, to pictures and to sound.
@Suite struct PauseTests {
  /// Ann with picture and sound for eight seconds, and commands.
  private func room(_ commands: [(ms: Int64, event: RoomEvent)], seconds: Int64 = 8) -> RoomScript {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    room.join("ann", at: 0)
    for index in 0..<(seconds * 30) {
      room.frame("ann.camera", at: index * 1000 / 30, isKeyframe: index % 30 == 0)
    }
    for ms in stride(from: Int64(0), to: seconds * 1000, by: 20) { room.frame("ann.microphone", at: ms, codec: .opus) }
    for command in commands { room.at(command.ms, command.event) }
    return room
  }

  private func sounds(_ run: SessionRun) -> [(at: Int64, sent: Int64, until: Int64?)] {
    run.outputs.compactMap {
      guard case .audio(_, let frame, _, let at, let until) = $0 else { return nil }
      return (at.milliseconds, frame.rtpTime / 48, until?.milliseconds)
    }
  }

  private func notes(_ run: SessionRun) -> [String] {
    run.notes.map { "\($0.time) \($0.event.name)" }.filter { $0.hasSuffix("paused") || $0.hasSuffix("resumed") }
  }

  @Test func aCutLeavesTheTimeOutOfTheFile() throws {
    let run = room([(2_000, .pause(.cut)), (5_000, .resume)]).run(until: 9_000)
    // 2 s before the cut, and what is planned of the time after it (all but the latency).
    #expect(run.plans.map(\.slot) == Array(0..<Int64(run.plans.count)))
    #expect(run.plans.count == 60 + 106)
    #expect(run.plans[59].sessionTime < .seconds(2))
    #expect(run.plans[60].time == .seconds(2))
    #expect(run.plans[60].sessionTime == .seconds(5))
    #expect(run.plans.allSatisfy { $0.pause == nil && !$0.tiles.isEmpty })
    #expect(notes(run) == ["2.000 paused", "2.000 resumed"])
    // Sound is cut at the same places, to the sample.
    let sounds = sounds(run)
    #expect(sounds.allSatisfy { $0.sent < 2_000 || $0.sent >= 5_000 })
    #expect(sounds.allSatisfy { $0.at == ($0.sent < 2_000 ? $0.sent : $0.sent - 3_000) })
    #expect(sounds.last { $0.sent < 2_000 }?.until == 2_000)
    // After the cut the picture is that of its end.
    guard case .picture(let id, _)? = run.plans[60].tiles.first?.content else {
      Issue.record("no picture after the cut")
      return
    }
    let frame = try #require(run.frame(id, of: room([(2_000, .pause(.cut)), (5_000, .resume)])))
    #expect((4_960...5_000).contains(frame.rtpTime / 90))
  }

  @Test func aCutThatIsNoWholeNumberOfPicturesLongLosesNoTime() {
    let run = room([(2_007, .pause(.cut)), (3_111, .resume)]).run(until: 9_000)
    let after = run.plans.first { $0.sessionTime >= .milliseconds(3_111) }
    #expect(after?.sessionTime == .milliseconds(3_111))
    #expect(after?.time == run.plans[61].time)
    for (a, b) in zip(run.plans, run.plans.dropFirst()) { #expect(b.slot == a.slot + 1) }
  }

  @Test func aSlateKeepsTheTimeAndIsSilent() {
    let run = room([(2_000, .pause(.slate)), (5_000, .resume)]).run(until: 9_000)
    #expect(run.plans.map(\.slot) == Array(0..<Int64(run.plans.count)))
    for plan in run.plans {
      let isPaused = plan.time >= .seconds(2) && plan.time < .seconds(5)
      #expect((plan.pause == .slate) == isPaused)
      #expect(plan.tiles.isEmpty == isPaused)
      #expect(plan.time == plan.sessionTime)
    }
    #expect(sounds(run).allSatisfy { $0.sent < 2_000 || $0.sent >= 5_000 })
    // Decoding went on, so there is a picture at once.
    #expect(run.shows("ann", at: 5_010))
    #expect(notes(run) == ["2.000 paused", "5.000 resumed"])
  }

  @Test func nothingOfARedactedTimeIsDecodedOrHeard() {
    let script = room([(2_015, .pause(.redact)), (5_015, .resume)])
    let run = script.run(until: 9_000)
    let decoded = run.outputs.compactMap {
      if case .decode(_, let frame, _, _) = $0 { frame.rtpTime / 90 } else { nil }
    }
    #expect(decoded.allSatisfy { $0 < 2_015 || $0 >= 5_015 })
    #expect(decoded.contains { $0 < 2_015 } && decoded.contains { $0 > 5_015 })
    // The first picture afterwards is a keyframe: nothing is predicted from a redacted one.
    #expect(decoded.first { $0 > 5_015 } == 6_000)
    #expect(run.card("ann", at: 5_500) == .starting)
    #expect(run.shows("ann", at: 6_010))
    // Sound that was on its way is left out as well.
    #expect(sounds(run).allSatisfy { $0.sent < 2_015 || $0.sent >= 5_265 })
    #expect(sounds(run).last { $0.sent < 2_015 }?.until == 2_015)
    // A keyframe is asked for when the command comes, not half a second later.
    let names = run.outputs.compactMap { output -> String? in
      if case .note(let entry) = output { return entry.event.name }
      if case .requestKeyframe = output { return "keyframe" }
      return nil
    }
    let paused = names.firstIndex(of: "paused") ?? 0
    #expect(names[paused...].prefix(3) == ["paused", "keyframe", "resumed"])
  }

  @Test func lateFramesOfARedactedTimeAreNotDecodedAfterIt() {
    var script = RoomScript()
    script.at(0, .joined(room: "r"))
    script.join("ann", at: 0)
    for index in Int64(0)..<180 {
      // What was sent in the last 200 ms of the redaction, and a little after it, is held up on the way.
      let sent = index * 1000 / 30
      script.frame("ann.camera", at: (3_800..<4_300).contains(sent) ? 4_300 : sent, sent: sent)
    }
    script.at(2_000, .pause(.redact))
    script.at(4_000, .resume)
    let run = script.run(until: 9_000)
    let decoded = run.outputs.compactMap {
      if case .decode(_, let frame, _, _) = $0 { frame.rtpTime / 90 } else { nil }
    }
    #expect(decoded.filter { (2_000..<4_000).contains($0) } == [])
    #expect(decoded.contains { (4_000..<4_300).contains($0) })
  }

  @Test func peopleOfARedactedTimeAreNotInTheTimeline() {
    var script = room([(2_000, .pause(.redact)), (5_000, .resume), (3_500, .marker("here"))])
    script.at(2_500, .speakers([Speaker(participant: ParticipantIdentity("ann"), level: 500, isActive: true)]))
    script.at(3_000, .track(RoomScript.track("ann", .camera, isMuted: true)))
    let run = script.run(until: 9_000)
    let redacted = run.notes.filter { $0.time > .seconds(2) && $0.time < .seconds(5) }.map(\.event.name)
    #expect(redacted == ["marker"])
  }

  @Test func aPauseMayChangeItsPolicyAndMayEndTheRecording() {
    let run = room([
      (1_000, .pause(.slate)), (2_000, .pause(.cut)), (3_000, .pause(.redact)), (4_000, .ended(.stopped)),
    ])
    .run(until: 9_000)
    #expect(run.end == .stopped)
    #expect(notes(run) == ["1.000 paused", "2.000 paused", "2.000 paused"])
    #expect(run.plans.count == 90)
    #expect(run.plans.last?.pause == .redact)
  }

  @Test func theMaximumDurationIsThatOfTheFile() {
    var settings = SessionCore.Settings.test
    settings.maximumDuration = .seconds(4)
    let run = room([(2_000, .pause(.cut)), (5_000, .resume)]).run(settings, until: 9_000)
    #expect(run.end == .maxDuration)
    #expect(run.plans.count == 120)
    #expect(run.notes.last?.sessionTime == .seconds(7))
  }

  @Test func anEmptyRoomEndsACutToo() {
    var script = room([(1_000, .pause(.cut))], seconds: 2)
    script.at(2_000, .participantLeft(ParticipantIdentity("ann")))
    var settings = SessionCore.Settings.test
    settings.stopWhenEmpty = .seconds(3)
    let run = script.run(settings, until: 9_000)
    #expect(run.end == .empty)
    #expect(run.plans.count == 30)
  }

  @Test func repeatedCommandsChangeNothing() {
    let once = room([(2_000, .pause(.slate)), (5_000, .resume)]).run(until: 9_000)
    let twice = room([
      (1_000, .resume), (2_000, .pause(.slate)), (3_000, .pause(.slate)), (5_000, .resume), (6_000, .resume),
    ]).run(until: 9_000)
    #expect(notes(once) == notes(twice))
    #expect(once.plans.map(\.pause) == twice.plans.map(\.pause))
  }
}
