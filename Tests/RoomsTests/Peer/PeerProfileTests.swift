import Session
import Testing

@testable import Rooms

/// What one side of a two-party room may send.
@Suite struct PeerProfileTests {
  static func profile(_ tracks: [LocalTrackDescription]) -> PeerProfile {
    var profile = PeerProfile()
    profile.tracks = tracks
    return profile
  }

  static let camera = LocalTrackDescription(name: "face", source: .camera, codec: .vp8)
  static let microphone = LocalTrackDescription(name: "voice", source: .microphone, codec: .opus)
  static let screen = LocalTrackDescription(name: "slides", source: .screenShare, codec: .vp9)
  static let film = LocalTrackDescription(name: "film", source: .screenShareAudio, codec: .opus)

  @Test func aPersonIsBeforeItsScreenWhateverIsSaidFirst() {
    let profile = Self.profile([Self.screen, Self.microphone, Self.film, Self.camera])
    #expect(profile.fault == nil)
    #expect(profile.ordered.map(\.id.rawValue) == [2, 4, 1, 3])
    #expect(PeerProfile.recorder.fault == nil && PeerProfile().fault == nil)
  }

  @Test func whatCannotBeSentIsNamed() throws {
    var (large, odd, wrong) = (Self.camera, Self.camera, Self.camera)
    let size = LocalTrackDescription.Layer(width: 640, height: 360, bitrate: 500_000)
    large.layers = [size, size]
    odd.source = .unknown
    wrong.codec = .opus
    for (tracks, words) in [
      ([large], "2 sizes"), ([odd], "neither"), ([wrong], "audio of a source of video"), ([Self.screen], "beside"),
      ([Self.film, Self.camera], "beside"), ([Self.camera, Self.microphone, Self.camera], "two tracks"),
    ] {
      let fault = try #require(Self.profile(tracks).fault)
      #expect(fault.contains(words), "\(fault)")
    }
  }
}
