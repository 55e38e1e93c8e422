import MediaCore
import Signaling
import TestKit
import Testing

@testable import RoomServer

/// The values of which a room's machine is made.
@Suite struct RoomValueTests {
  private static let now = Moment(steady: .seconds(1000), wall: 1_700_000_000_000_000)

  private func announcement(
    _ cid: String, _ type: Livekit_TrackType = .video, codecs: [String] = []
  ) -> Livekit_AddTrackRequest {
    var request = Livekit_AddTrackRequest()
    request.cid = cid
    request.type = type
    request.simulcastCodecs = codecs.map { name in
      var codec = Livekit_SimulcastCodec()
      codec.codec = name
      return codec
    }
    return request
  }

  private func section(_ mid: String, _ kind: MediaKind, track: String?, _ codecs: [Codec], layers: Int = 0)
    -> OfferedSection
  { OfferedSection(mid: mid, kind: kind, trackID: track, codecs: codecs, layers: layers) }

  @Test func aSectionGetsWhatWasAnnouncedByNameElseByTypeAndOrder() throws {
    var tracks = MemberTracks()
    for (cid, sid) in [("one", "TR_1"), ("two", "TR_2"), ("three", "TR_3")] {
      _ = tracks.announce(announcement(cid, codecs: ["rubbish", "VP9"]), sid: sid, at: Self.now)
    }
    _ = tracks.announce(announcement("voice", .audio), sid: "TR_4", at: Self.now)
    let named = try #require(tracks.preview(bound: nil, name: "two", type: .video))
    #expect(named.info.sid == "TR_2" && named.codec == .vp9)
    let second = tracks.bind(section("0", .video, track: "two", [.vp8, .vp9], layers: 3), position: 1)
    #expect(second?.sid == "TR_2" && second?.codec == .vp9 && second?.info.simulcast == true)
    #expect(second?.info.mimeType == "video/VP9" && second?.info.codecs.map(\.cid) == ["two"])
    let first = tracks.bind(section("1", .video, track: "unknown", [.vp8]), position: 2)
    #expect(first?.sid == "TR_1" && first?.info.simulcast == false)
    let voice = tracks.bind(section("2", .audio, track: nil, [.g722, .opus]), position: 3)
    #expect(voice?.sid == "TR_4" && voice?.codec == .g722 && voice?.info.codecs == [])
    let nothing = tracks.bind(section("3", .audio, track: nil, [.opus]), position: 4)
    #expect(nothing == nil && tracks.isAnnounced("TR_3") && !tracks.isAnnounced("TR_1"))
  }

  @Test func whatIsAnnouncedAndWhatIsThereCanBeChanged() throws {
    var tracks = MemberTracks()
    _ = tracks.announce(announcement("one"), sid: "TR_1", at: Self.now)
    let early = tracks.setMuted("TR_1", true)
    let bound = tracks.bind(section("0", .video, track: "one", [.vp8]), position: 1)
    let track = try #require(bound)
    #expect(!early && track.info.muted)
    tracks.publish(track)
    let changes = [tracks.setMuted("TR_1", true), tracks.setMuted("TR_1", false), tracks.setMuted("TR_2", true)]
    #expect(changes == [false, true, false])
    let subscribed = [tracks.noteSubscribed("TR_1"), tracks.noteSubscribed("TR_1")]
    #expect(subscribed == [true, false])
    let removed = [tracks.remove("TR_1")?.sid, tracks.remove("TR_1")?.sid]
    #expect(removed == ["TR_1", nil])
    for number in 0..<MemberTracks.announcedLimit {
      #expect(!tracks.isFull)
      _ = tracks.announce(announcement("\(number)"), sid: "TR_x\(number)", at: Self.now)
    }
    #expect(tracks.isFull)
  }

  @Test func wishesAreKeptWithinALimit() {
    var subscriptions = MemberSubscriptions()
    for number in 0..<MemberSubscriptions.wishLimit { _ = subscriptions.setWanted("TR_\(number)", false) }
    let (more, again) = (subscriptions.setWanted("TR_more", true), subscriptions.setWanted("TR_0", true))
    #expect(!more && again && subscriptions.isWanted("TR_0") == true && subscriptions.isWanted("TR_more") == nil)
    let unheard = subscriptions.setVideo("TR_0", VideoWish(quality: 0))
    let added = [subscriptions.add("TR_0"), subscriptions.add("TR_0")]
    let heard = subscriptions.setVideo("TR_0", VideoWish(quality: 1))
    #expect(!unheard && heard && added == [true, false] && subscriptions.video("TR_0")?.quality == 1)
  }

  @Test func qualitiesAreToldWhenTheyChangeAndAgainAfterALoss() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    let bob = try world.joinConnected("bob")
    func told(_ sid: String) -> [[Livekit_ConnectionQuality]] {
      (world.clients[sid]?.messages ?? []).compactMap { message in
        if case .connectionQuality(let update) = message.message { update.updates.map(\.quality) } else { nil }
      }
    }
    world.handle(.qualities([:]))
    world.handle(.qualities([:]))
    #expect(told(alice) == [[.excellent, .excellent]])
    world.handle(.signalLost(bob, try #require(world.clients[bob]?.link)))
    world.handle(.qualities([alice: .init(loss: 0.05)]))
    #expect(told(alice).last == [.good, .lost] && told(bob).count == 1)
    world.handle(.resume(bob, world.wire()))
    world.handle(.qualities([alice: .init(loss: 0.05)]))
    #expect(told(alice).last == [.excellent] && told(bob).last == [.good, .excellent])
  }

  @Test func lateTicksAreToldNowAndThen() {
    var monitor = TickMonitor(interval: .milliseconds(100))
    func note(_ milliseconds: Int64) -> Duration? { monitor.note(.milliseconds(milliseconds)) }
    let told = [note(0), note(100), note(600), note(1_200), note(10_000), note(21_000)]
    #expect(told == [nil, nil, .milliseconds(400), nil, nil, .milliseconds(10_900)])
    monitor.pause()
    let after = note(60_000)
    #expect(after == nil)
  }
}
