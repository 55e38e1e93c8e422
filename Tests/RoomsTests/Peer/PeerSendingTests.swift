import MediaCore
import Session
import Signaling
import Testing
import Transport

@testable import Rooms

/// What the bot sends in a two-party room, in manual time.
@Suite struct PeerSendingTests {
  /// A microphone and a camera that is off.
  static var speaker: PeerProfile {
    var profile = PeerProfile()
    profile.tracks = [
      .init(name: "voice", source: .microphone, codec: .opus), .init(name: "face", source: .camera, codec: .vp8),
    ]
    profile.tracks[1].isMuted = true
    return profile
  }

  @Test func whatTheBotSendsIsToldWhenItArrivesAndWhenItDoesNotAnyMore() {
    var script = PeerScript(profile: Self.speaker)
    script.connectedHost()
    #expect(script.handle(.channelOpened(generation: 1)) == ["say - camera=false microphone=true"])
    let lost = script.handle(.transport(generation: 1, .disconnected))
    #expect(lost.contains("tell interrupted 1") && lost.contains("tell interrupted 2"))
    let back = script.handle(.transport(generation: 1, .connected))
    #expect(back.contains("tell published 1 microphone") && back.contains("tell published 2 camera"))
    #expect(!script.handle(.heard(generation: 1)).contains { $0.hasPrefix("tell") })
  }

  @Test func whatTheOtherSideDoesNotTakeIsNotTold() {
    var script = PeerScript(profile: Self.speaker)
    script.taken = [LocalTrackID(2)]
    script.connectedHost()
    let lost = script.handle(.transport(generation: 1, .disconnected))
    #expect(lost.filter { $0.hasPrefix("tell") } == ["tell interrupted 2"])
    var sending = PeerSending(Self.speaker)
    #expect(sending.agreed([LocalTrackID(2)]) == ["voice"] && sending.news(isUp: false).isEmpty)
    #expect(sending.news(isUp: true) == [.published(LocalTrackID(2), TrackID("camera"))])
    // Another exchange over the same connection.
    #expect(sending.agreed([LocalTrackID(1)]) == ["face"])
    #expect(
      sending.news(isUp: true) == [.published(LocalTrackID(1), TrackID("microphone")), .interrupted(LocalTrackID(2))])
  }

  @Test func aTrackThatIsDisabledIsToldAtOnce() {
    var script = PeerScript(profile: Self.speaker)
    script.connectedHost()
    // Before there is a channel it is remembered.
    #expect(script.handle(.muted(LocalTrackID(1), true)).isEmpty)
    #expect(script.handle(.channelOpened(generation: 1)) == ["say - camera=false microphone=false"])
    #expect(script.handle(.muted(LocalTrackID(2), false)) == ["say - camera=true microphone=false"])
    // No news, and no track.
    #expect(
      script.handle(.muted(LocalTrackID(2), false)).isEmpty && script.handle(.muted(LocalTrackID(3), true)).isEmpty)
  }
}
