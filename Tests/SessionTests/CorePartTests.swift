import Layouts
import MediaCore
import Testing

@testable import Session

/// The values that `SessionCore` is put together of, each alone.
@Suite struct CorePartTests {
  private let ann = ParticipantIdentity("ann")
  private let ben = ParticipantIdentity("ben")

  // MARK: - FIFO

  @Test func whatWasPutInFirstComesOutFirstAlsoOverManyRounds() {
    var queue = FIFO<Int>()
    var (next, expected) = (0, 0)
    for round in 0..<300 {
      for _ in 0..<(round % 7 + 1) {
        queue.append(next)
        next += 1
      }
      for _ in 0..<(round % 5) {
        guard let taken = queue.popFirst() else { break }
        #expect(taken == expected)
        expected += 1
      }
      #expect(queue.count == next - expected)
    }
    while let taken = queue.popFirst() {
      #expect(taken == expected)
      expected += 1
    }
    #expect(expected == next && queue.count == 0)
  }

  @Test func whatIsNotAsItShouldBeStays() {
    var queue = FIFO<Int>()
    queue.append(5)
    #expect(queue.popFirst { $0 < 5 } == nil)
    #expect(queue.count == 1)
    #expect(queue.popFirst { $0 == 5 } == 5)
    #expect(queue.popFirst { _ in true } == nil)
  }

  @Test func whatWasTakenOutIsLetGo() {
    final class Token {}
    var queue = FIFO<Token>()
    weak var first: Token?
    do {
      let token = Token()
      first = token
      queue.append(token)
      queue.append(Token())
    }
    _ = queue.popFirst()
    #expect(first == nil)
  }

  // MARK: - Backlog

  private func event(_ ms: Int64, _ room: RoomEvent) -> SessionEvent {
    SessionEvent(sequence: 0, arrived: .milliseconds(ms), payload: .room(room))
  }

  @Test func roomEventsWaitForTheirInstantAndNothingFollowsAnEnd() {
    var backlog = SessionBacklog()
    #expect(backlog.take(event(10, .title("a"))) == false)
    #expect(backlog.take(event(20, .ended(.stopped))) == false)
    #expect(backlog.take(event(30, .title("late"))) == false)
    #expect(backlog.roomEventCount == 2)
    #expect(backlog.ending?.arrived == .milliseconds(20) && backlog.ending?.reason == .stopped)
    #expect(backlog.nextRoomEvent(until: .milliseconds(9)) == nil)
    #expect(backlog.nextRoomEvent(until: .milliseconds(10))?.arrived == .milliseconds(10))
    #expect(backlog.nextRoomEvent(until: .milliseconds(19)) == nil)
    #expect(backlog.nextRoomEvent(until: .seconds(9))?.arrived == .milliseconds(20))
    #expect(backlog.nextRoomEvent(until: .seconds(9)) == nil)
  }

  @Test func pausesAreKnownBeforeTheirInstant() {
    var backlog = SessionBacklog()
    #expect(backlog.take(event(100, .pause(.cut))) == false)
    #expect(backlog.endsInCut)
    #expect(backlog.nextPause(until: .milliseconds(99)) == nil)
    #expect(backlog.nextPause(until: .milliseconds(100)) == .milliseconds(100))
    #expect(backlog.take(event(200, .resume)) == false, "a cut is no redaction")
    #expect(!backlog.endsInCut)
    #expect(backlog.take(event(300, .pause(.redact))) == false)
    #expect(backlog.take(event(400, .resume)) == true)
    #expect(backlog.take(event(500, .resume)) == false, "it has ended")
    _ = backlog.nextRoomEvent(until: .milliseconds(100))
    #expect(backlog.nextPause(until: .seconds(1)) == .milliseconds(300))
  }

  @Test func aFrameBelongsToTheAnnouncementBeforeIt() {
    var backlog = SessionBacklog()
    let track = RoomScript.track("ann", .camera)
    let muted = RoomScript.track("ann", .camera, isMuted: true)
    _ = backlog.take(event(50, .track(track)))
    _ = backlog.take(event(60, .track(muted)))
    #expect(backlog.announced(track.id, until: .milliseconds(49)) == nil)
    #expect(backlog.announced(track.id, until: .milliseconds(90)) == track)
    _ = backlog.nextRoomEvent(until: .milliseconds(50))
    #expect(backlog.announced(track.id, until: .milliseconds(90)) == muted)
    _ = backlog.nextRoomEvent(until: .milliseconds(60))
    #expect(backlog.announced(track.id, until: .milliseconds(90)) == nil)
  }

  // MARK: - Pins

  @Test func pinsMeanThePeopleWhoAreThere() {
    var people = People()
    var pins = Pins()
    let selector = TileSelector(participant: "ann")
    #expect(pins.pin(selector) == true)
    #expect(pins.pin(selector) == false)
    #expect(pins.spotlight(TileSelector(participant: "ben")) == true)
    #expect(pins.spotlight(TileSelector(participant: "ben")) == false)
    #expect(pins.tiles(among: people).keys.isEmpty)
    _ = people.put(Participant(identity: ann))
    #expect(pins.tiles(among: people).keys == [.camera(ann)])
    #expect(pins.tiles(among: people).spotlight == nil)
    _ = people.put(Participant(identity: ben))
    #expect(pins.tiles(among: people).spotlight == .camera(ben))
    #expect(pins.unpin(nil) == true)
    #expect(pins.unpin(selector) == false)
    #expect(pins.tiles(among: people).keys.isEmpty)
    #expect(pins.tiles(among: people).spotlight == .camera(ben), "a spotlight is no pin")
  }

  // MARK: - End

  private func watch(maximum: Duration? = nil, patience: Duration? = nil) -> EndWatch {
    EndWatch(
      SessionCore.Settings(
        canvas: CanvasSize(width: 640, height: 360), layout: .grid, stopWhenEmpty: patience, maximumDuration: maximum))
  }

  @Test func anEmptyRoomIsPatientAndAnOutageSaysNothing() {
    var watch = watch(patience: .seconds(10))
    watch.somebodyCame()
    watch.check(at: .seconds(60), fileTime: .seconds(60), isLost: false)
    watch.everybodyLeft(at: .seconds(60))
    watch.everybodyLeft(at: .seconds(65))
    watch.check(at: .seconds(69), fileTime: .seconds(69), isLost: false)
    watch.check(at: .seconds(75), fileTime: .seconds(75), isLost: true)
    #expect(watch.end == nil)
    watch.check(at: .seconds(76), fileTime: .seconds(76), isLost: false)
    #expect(watch.end?.reason == .empty && watch.end?.at == .seconds(76))
  }

  @Test func theFirstEndStays() {
    var watch = watch(maximum: .seconds(5))
    // Cuts don't count towards the duration.
    watch.check(at: .seconds(7), fileTime: .seconds(4), isLost: false)
    #expect(watch.end == nil)
    watch.check(at: .seconds(8), fileTime: .seconds(5), isLost: false)
    watch.finish(.stopped, at: .seconds(9))
    #expect(watch.end?.reason == .maxDuration && watch.end?.at == .seconds(8))
  }

  // MARK: - Pause

  @Test(arguments: [PausePolicy.cut, .slate, .redact]) func afterAPauseWhatWasInItStaysUnheard(_ policy: PausePolicy) {
    var gate = PauseGate()
    #expect(gate.hears(at: .zero) && gate.sees(at: .zero))
    gate.close(policy)
    #expect(!gate.hears(at: .seconds(1)) && gate.policy == policy)
    #expect(gate.open(at: .seconds(2)) == policy)
    let tail = policy == .redact ? PauseGate.redactionTail : .zero
    #expect(!gate.hears(at: .seconds(2) + tail - .nanoseconds(1)))
    #expect(gate.hears(at: .seconds(2) + tail))
    #expect(gate.sees(at: .milliseconds(1_999)) == (policy != .redact))
    #expect(gate.sees(at: .seconds(2)))
    #expect(gate.open(at: .seconds(3)) == nil)
  }

  // MARK: - What was told

  @Test func whoTalksIsToldOnceAndAgainAfterLeaving() {
    var notes = TalkerNotes()
    #expect(!notes.tells(ann))
    notes.tell(ann)
    #expect(notes.tells(ann))
    notes.forget(ben)
    #expect(notes.tells(ann))
    notes.forget(ann)
    #expect(!notes.tells(ann))
    #expect(notes.tell(active: [ann, ben]) == true)
    #expect(notes.tell(active: [ann, ben]) == false)
    #expect(notes.tell(active: [ben, ann]) == true)
  }
}
