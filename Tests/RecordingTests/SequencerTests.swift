import MediaCore
import Platform
import Session
import Testing

@testable import Recording

/// The queue between a room connection and a recording.
struct SequencerTests {
  private static func frame(_ track: String, isKeyframe: Bool = false) -> SessionEvent.Payload {
    .frame(
      EncodedFrame(codec: .vp8, payload: MediaBuffer([1]), rtpTime: 0, isKeyframe: isKeyframe), of: TrackID(track))
  }

  private static func frames(_ events: [SessionEvent]) -> [String] {
    events.compactMap {
      guard case .frame(let frame, let track) = $0.payload else { return nil }
      return track.rawValue + (frame.followsLoss ? " after a loss" : "")
    }
  }

  @Test func whatFollowsADroppedFrameOfItsTrackIsMarked() {
    let sequencer = Sequencer(limit: 3)
    sequencer.put(.room(.joined(room: "r")))
    // Three find room, the next two of one track don't; room events always do.
    for track in ["c", "a", "b", "a", "a"] { sequencer.put(Self.frame(track)) }
    sequencer.put(.room(.synchronized))
    #expect(sequencer.droppedFrames == 2)
    var events: [SessionEvent] = []
    _ = sequencer.drain(into: &events)
    #expect(events.count == 5)
    #expect(Self.frames(events) == ["c", "a", "b"])
    events.removeAll()
    for track in ["b", "a", "a"] { sequencer.put(Self.frame(track)) }
    _ = sequencer.drain(into: &events)
    #expect(Self.frames(events) == ["b", "a after a loss", "a"])
    #expect(events.map(\.sequence) == [5, 6, 7])
  }

  @Test func roomEventsTakeNoRoomFromFramesAndHoldUpWhoBringsThem() {
    let sequencer = Sequencer(limit: 2)
    sequencer.put(.room(.joined(room: "r")))
    for _ in 0..<20_000 { sequencer.put(.room(.synchronized)) }
    #expect(sequencer.isCrowded)
    for track in ["a", "b"] { sequencer.put(Self.frame(track)) }
    #expect(sequencer.droppedFrames == 0)
    var events: [SessionEvent] = []
    _ = sequencer.drain(into: &events, pending: 0)
    #expect(events.count == 20_003 && !sequencer.isCrowded)
    // The recording has taken them, but their instant has not come.
    events.removeAll()
    _ = sequencer.drain(into: &events, pending: 20_000)
    #expect(sequencer.isCrowded)
  }

  @Test func aStopIsSeenHoweverMuchWaitsBeforeIt() {
    let sequencer = Sequencer()
    sequencer.put(.room(.joined(room: "r")))
    for _ in 0..<1000 { sequencer.put(.room(.synchronized)) }
    sequencer.put(.room(.ended(.roomEnded)))
    #expect(sequencer.stoppedAt == nil)
    sequencer.put(.room(.ended(.stopped)))
    #expect(sequencer.stoppedAt != nil)
  }

  @Test func whoWaitsIsWokenByWhatComes() {
    for isInterrupted in [false, true] {
      let sequencer = Sequencer()
      let began = MonotonicClock.now
      guard let waiter = NamedThread("waiter", { sequencer.wait(atMost: .seconds(60)) }) else {
        Issue.record("the system has no thread")
        return
      }
      if isInterrupted { sequencer.interrupt() } else { sequencer.put(.room(.joined(room: "r"))) }
      waiter.join()
      #expect(MonotonicClock.now - began < .seconds(50))
    }
  }

  @Test func itIsQuietWhenNeitherPicturesNorSoundCome() {
    let sequencer = Sequencer()
    let (source, followed) = (LiveSource(sequencer, mayRest: true), LiveSource(sequencer, mayRest: false))
    #expect(source.isQuiet)
    sequencer.put(.room(.joined(room: "r")))
    var events: [SessionEvent] = []
    for source in [source, followed] {
      _ = source.take(into: &events, until: .zero, pending: 0)
      events.removeAll()
      #expect(!source.isQuiet)
    }
  }
}
