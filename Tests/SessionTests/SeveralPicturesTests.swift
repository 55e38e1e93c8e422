import Layouts
import MediaCore
import Testing

@testable import Session

/// People who publish more than one camera or screen.
struct SeveralPicturesTests {
  private static func track(_ id: String, _ source: TrackSource, name: String, isMuted: Bool = false) -> Track {
    Track(
      id: TrackID(id), participant: ParticipantIdentity("ann"), kind: .video, source: source, name: name,
      isMuted: isMuted)
  }

  private static func publish(
    _ room: inout RoomScript, _ id: String, _ source: TrackSource = .camera, name: String, at ms: Int64
  ) {
    room.at(ms, .track(track(id, source, name: name)))
    room.at(ms, .trackSubscribed(TrackID(id), true))
    room.video(id, from: ms, to: 6000)
  }

  /// What the tiles show: ids of publications, in their order.
  private static func tracks(_ run: SessionRun, at ms: Int64) -> [String] {
    (run.plan(at: ms)?.tiles ?? []).map {
      if case .picture(_, let track) = $0.content { track.rawValue } else { "card" }
    }
  }

  private static func room() -> RoomScript {
    var room = RoomScript()
    room.at(0, .participant(Participant(identity: ParticipantIdentity("ann"), name: "Ann")))
    publish(&room, "face", name: "face", at: 0)
    return room
  }

  @Test func aSecondCameraHasATileOfItsOwn() {
    var room = Self.room()
    Self.publish(&room, "desk", name: "desk", at: 1000)
    room.at(4000, .trackUnpublished(TrackID("desk")))
    let run = room.run(until: 6000)
    #expect(Self.tracks(run, at: 500) == ["face"])
    #expect(Self.tracks(run, at: 3000) == ["face", "desk"])
    #expect(run.plan(at: 3000)?.tiles.map(\.name) == ["Ann", "Ann"])
    #expect(Self.tracks(run, at: 5000) == ["face"])
  }

  @Test func aCameraGoesBeforeAPictureOfAnUnknownSource() {
    var room = RoomScript()
    room.at(0, .participant(Participant(identity: ParticipantIdentity("ann"), name: "Ann")))
    Self.publish(&room, "board", .unknown, name: "board", at: 0)
    Self.publish(&room, "face", name: "face", at: 1000)
    let run = room.run(until: 4000)
    #expect(Self.tracks(run, at: 500) == ["board"])
    #expect(run.tile("ann", at: 500)?.layer.key == .camera(ParticipantIdentity("ann")))
    #expect(Set(Self.tracks(run, at: 3000)) == ["face", "board"])
    let main = run.plan(at: 3000)?.tiles.first { $0.layer.key == .camera(ParticipantIdentity("ann")) }?.content
    guard case .picture(_, let track)? = main else {
      Issue.record("the main tile has no picture")
      return
    }
    #expect(track.rawValue == "face")
  }

  @Test func theMainTileGoesOnWithTheOtherCameraWhenItsOwnIsTurnedOff() {
    var room = Self.room()
    Self.publish(&room, "desk", name: "desk", at: 0)
    room.at(2000, .track(Self.track("face", .camera, name: "face", isMuted: true)))
    room.at(4000, .track(Self.track("desk", .camera, name: "desk", isMuted: true)))
    let run = room.run(until: 6000)
    #expect(Self.tracks(run, at: 1500) == ["face", "desk"])
    #expect(Self.tracks(run, at: 3000) == ["desk"])
    #expect(run.tile("ann", at: 3000)?.layer.key == .camera(ParticipantIdentity("ann")))
    #expect(Self.tracks(run, at: 5000) == ["card"])
  }

  @Test(arguments: ["face", ""]) func publishedAgainUnderTheSameNameItHasOneTile(name: String) {
    var room = RoomScript()
    room.at(0, .participant(Participant(identity: ParticipantIdentity("ann"), name: "Ann")))
    Self.publish(&room, "first", name: name, at: 0)
    // The old one is taken away only after the new one has come.
    Self.publish(&room, "second", name: name, at: 1000)
    room.at(2000, .trackUnpublished(TrackID("first")))
    let run = room.run(until: 4000)
    #expect(Self.tracks(run, at: 900) == ["first"])
    for ms in stride(from: Int64(1000), through: 3000, by: 100) { #expect(Self.tracks(run, at: ms).count == 1) }
    #expect(Self.tracks(run, at: 1800) == ["second"])
    #expect(Self.tracks(run, at: 3000) == ["second"])
  }

  @Test func twoScreensOfOnePersonAreBothShown() {
    var room = Self.room()
    Self.publish(&room, "slides", .screenShare, name: "slides", at: 1000)
    Self.publish(&room, "code", .screenShare, name: "code", at: 1000)
    let run = room.run(until: 4000)
    #expect(Set(Self.tracks(run, at: 3000)) == ["face", "slides", "code"])
  }

  @Test func aRegionCanShowOneOfTheCamerasByItsName() throws {
    var room = Self.room()
    Self.publish(&room, "desk", name: "desk", at: 0)
    let selector = SourceSelector([.track(try #require(Glob("desk")))])
    let layout = Layout(
      name: "desk", scenes: [Scene(name: "desk", regions: [Region(name: "desk", selector: selector)])])
    let run = room.run(
      SessionCore.Settings(canvas: CanvasSize(width: 1280, height: 720), layout: layout), until: 3000)
    #expect(Self.tracks(run, at: 2000) == ["desk"])
  }
}
