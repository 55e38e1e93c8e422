import Layouts
import MediaCore
import Testing

@testable import Session

/// What is done to whose pictures and sound.
@Suite struct ProcessingTests {
  private static let hide = TrackProcessors(video: .pixelate, audio: .voiceMask)

  private func rule(_ text: String, _ processors: TrackProcessors = hide) throws -> ProcessorRule {
    ProcessorRule(try #require(PersonSelector(text)), processors)
  }

  /// Ann and Bob with pictures and sound for so long, and commands.
  private func room(_ commands: [(ms: Int64, event: RoomEvent)] = [], until end: Int64 = 3_000) -> RoomScript {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    for name in ["ann", "bob"] {
      room.join(name, at: 0)
      room.video("\(name).camera", from: 0, to: end)
      for ms in stride(from: Int64(0), to: end, by: 20) { room.frame("\(name).microphone", at: ms, codec: .opus) }
    }
    for command in commands { room.at(command.ms, command.event) }
    return room
  }

  private func settings(_ rules: [ProcessorRule]) -> SessionCore.Settings {
    var settings = SessionCore.Settings.test
    settings.processors = rules
    return settings
  }

  /// What is said of sound, as text, with the instant of the plan before which it is said.
  private func sound(_ run: SessionRun) -> [String] {
    var time = SessionTime.zero
    return run.outputs.compactMap { output in
      if case .compose(let plan) = output { time = plan.time }
      if case .process(let track, let processor) = output {
        return "\(time.milliseconds) \(track) \(processor?.rawValue ?? "none")"
      }
      return nil
    }
  }

  private func notes(_ run: SessionRun) -> [String] {
    run.notes.compactMap {
      if case .processors(let identity, let name, let processors) = $0.event {
        "\($0.time.milliseconds) \(identity) \(name) \(processors)"
      } else {
        nil
      }
    }
  }

  @Test func nobodyIsTreatedWithoutARule() {
    let run = room().run(until: 3_000)
    #expect(run.plans.flatMap(\.tiles).allSatisfy { $0.processor == nil })
    #expect(sound(run).isEmpty)
    #expect(notes(run).isEmpty)
  }

  @Test func aRuleFromTheBeginningHoldsFromTheFirstPictureAndTheFirstSoundOn() throws {
    let run = room().run(settings([try rule("ann")]), until: 3_000)
    let tiles = run.plans.flatMap(\.tiles)
    #expect(tiles.contains { $0.identity.rawValue == "ann" })
    #expect(tiles.allSatisfy { $0.processor == ($0.identity.rawValue == "ann" ? .pixelate : nil) })
    #expect(sound(run) == ["0 ann.microphone voice-mask"])
    let said = try #require(run.outputs.firstIndex { if case .process = $0 { true } else { false } })
    let heard = try #require(run.outputs.firstIndex { if case .audio = $0 { true } else { false } })
    #expect(said < heard)
    #expect(notes(run) == ["0 ann Ann pixelate,voice-mask"])
  }

  @Test func aCommandHoldsFromItsInstantOnAndIsTakenBack() throws {
    let none = TrackProcessors()
    let script = room([(1_000, .process(try rule("Ann"))), (2_000, .process(try rule("Ann", none)))])
    let run = script.run(until: 4_000)
    for plan in run.plans {
      let isTreated = plan.time >= .seconds(1) && plan.time < .seconds(2)
      for tile in plan.tiles {
        #expect(tile.processor == (isTreated && tile.identity.rawValue == "ann" ? .pixelate : nil), "\(plan.time)")
      }
    }
    #expect(
      sound(run).map { $0.split(separator: " ").dropFirst().joined(separator: " ") } == [
        "ann.microphone voice-mask", "ann.microphone none",
      ])
    #expect(notes(run) == ["1000 ann Ann pixelate,voice-mask", "2000 ann Ann none"])
  }

  @Test func theLastRuleThatMeansSomebodyCounts() throws {
    let rules = [
      try rule("*"), try rule("bob", TrackProcessors(video: .mask)),
      try rule("attribute:consent=yes", TrackProcessors()),
    ]
    var script = room()
    script.at(
      1_000,
      .participant(Participant(identity: ParticipantIdentity("ann"), name: "Ann", attributes: ["consent": "yes"])))
    script.at(2_000, .participant(Participant(identity: ParticipantIdentity("ann"), name: "Ann")))
    let run = script.run(settings(rules), until: 3_000)
    #expect(run.tile("ann", at: 900)?.processor == .pixelate)
    #expect(run.tile("ann", at: 1_100)?.processor == nil)
    #expect(run.tile("ann", at: 2_100)?.processor == .pixelate)
    #expect(run.tile("bob", at: 1_100)?.processor == .mask)
    #expect(
      notes(run) == [
        "0 ann Ann pixelate,voice-mask", "0 bob Bob mask", "1000 ann Ann none", "2000 ann Ann pixelate,voice-mask",
      ])
  }

  @Test func anotherNameUncoversNobody() throws {
    var script = room()
    script.at(1_000, .participant(Participant(identity: ParticipantIdentity("ann"), name: "Zoe")))
    let run = script.run(settings([try rule("ANN")]), until: 3_000)
    #expect(
      run.plans.flatMap(\.tiles).filter { $0.identity.rawValue == "ann" }.allSatisfy { $0.processor == .pixelate })
  }

  @Test func whoComesAgainIsTreatedAgainAndSoIsWhatIsPublishedLater() throws {
    var script = RoomScript()
    script.at(0, .joined(room: "r"))
    script.join("ann", at: 0)
    script.at(1_000, .participantLeft(ParticipantIdentity("ann")))
    script.join("ann", at: 1_500)
    script.publish("ann", .screenShareAudio, at: 2_000)
    script.publish("ann", .screenShare, at: 2_000)
    script.video("ann.screenShare", from: 2_000, to: 3_000)
    let run = script.run(settings([try rule("ann")]), until: 3_000)
    #expect(run.plans.flatMap(\.tiles).allSatisfy { $0.processor == .pixelate })
    #expect(
      sound(run).map { $0.split(separator: " ")[1] } == ["ann.microphone", "ann.microphone", "ann.screenShareAudio"])
  }

  @Test func tracksOfSomebodyWhoIsNotAnnouncedYetAreTreatedToo() throws {
    var script = RoomScript()
    script.at(0, .joined(room: "r"))
    script.publish("ann", .microphone, at: 100)
    let run = script.run(settings([try rule("ann")]), until: 1_000)
    #expect(
      sound(run).map { $0.split(separator: " ").dropFirst().joined(separator: " ") } == [
        "ann.microphone voice-mask"
      ])
  }

  @Test func aLogThatSomebodyMadeHasNoMoreRulesThanThereMayBe() {
    let rules = (0..<3_000).map { ProcessorRule(.person("p\($0)"), Self.hide) }
    #expect(Processing(rules).count == Processing.most)
  }

  @Test func selectorsAreReadAndWritten() {
    let texts = ["*", "ann", "attribute:consent=no", "attribute:a=b=c", "attribute:empty=", "**"]
    #expect(texts.map { PersonSelector($0)?.description } == texts)
    for text in ["", "attribute:", "attribute:x", "attribute:=x"] { #expect(PersonSelector(text) == nil, "\(text)") }
  }

  @Test func processorsAreReadAndWritten() throws {
    #expect(try TrackProcessors(words: ["voice-mask", "blur"]) == TrackProcessors(video: .blur, audio: .voiceMask))
    #expect(try TrackProcessors(words: ["none"]).isEmpty)
    #expect(TrackProcessors(video: .blur, audio: .silence).description == "blur,silence")
    #expect(TrackProcessors().description == "none")
    for (words, error): ([String], TrackProcessors.WordError) in [
      ([], .none), (["none", "blur"], .none), (["blurr"], .unknown("blurr")),
      (["blur", "mask"], .both("blur", "mask")),
      (["silence", "voice-mask"], .both("silence", "voice-mask")),
    ] {
      #expect(throws: error) { try TrackProcessors(words: words) }
    }
  }
}
