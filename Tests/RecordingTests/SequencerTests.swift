import MediaCore
import Session
import Testing

@testable import Recording

/// The queue between a room connection and a recording.
struct SequencerTests {
  private static func frame(_ track: String, isKeyframe: Bool = false) -> SessionEvent.Payload {
    .frame(
      EncodedFrame(track: TrackID(track), codec: .vp8, payload: MediaBuffer([1]), rtpTime: 0, isKeyframe: isKeyframe))
  }

  private static func frames(_ events: [SessionEvent]) -> [String] {
    events.compactMap {
      guard case .frame(let frame) = $0.payload else { return nil }
      return frame.track.rawValue + (frame.followsLoss ? " after a loss" : "")
    }
  }

  @Test func whatFollowsADroppedFrameOfItsTrackIsMarked() {
    let sequencer = Sequencer(limit: 3)
    sequencer.put(.room(.joined(room: "r")))
    // Two find room, the next two of one track don't; room events always do.
    for track in ["a", "b", "a", "a"] { sequencer.put(Self.frame(track)) }
    sequencer.put(.room(.synchronized))
    #expect(sequencer.droppedFrames == 2)
    var events: [SessionEvent] = []
    _ = sequencer.drain(into: &events)
    #expect(events.count == 4)
    #expect(Self.frames(events) == ["a", "b"])
    events.removeAll()
    for track in ["b", "a", "a"] { sequencer.put(Self.frame(track)) }
    _ = sequencer.drain(into: &events)
    #expect(Self.frames(events) == ["b", "a after a loss", "a"])
    #expect(events.map(\.sequence) == [4, 5, 6])
  }
}
