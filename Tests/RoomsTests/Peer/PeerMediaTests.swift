import MediaCore
import Session
import Signaling
import TestKit
import Testing
import Transport

@testable import Rooms

/// The peer connection of a two-party room by itself, as drawn at `PeerMedia`.
@Suite struct PeerMediaTests {
  static let now = Instant.seconds(1000)
  static let ann = ParticipantIdentity("ann")

  static func media(_ states: TransportState...) -> PeerMedia {
    var media = PeerMedia()
    media.open()
    for state in states { _ = media.changed(state, at: now) }
    return media
  }

  @Test func theTable() {
    typealias Row = (before: [TransportState], TransportState, PeerMedia.Change, isUp: Bool)
    let table: [Row] = [
      ([], .connecting, .none, false),
      ([], .connected, .connected, true),
      ([], .failed, .failed, false),
      ([.connected], .disconnected, .interrupted, true),
      ([.connected], .failed, .failed, true),
      ([.connected], .closed, .none, true),
      ([.connected, .disconnected], .connected, .connected, true),
    ]
    for (before, state, change, isUp) in table {
      var media = Self.media()
      for state in before { _ = media.changed(state, at: Self.now) }
      #expect(media.changed(state, at: Self.now) == change, "\(before) \(state)")
      #expect(media.isUp == isUp, "\(before) \(state)")
      // Whoever owns it says when it is down, once.
      #expect(media.goDown() == isUp && !media.goDown() && !media.isUp, "\(before) \(state)")
    }
    var closed = PeerMedia()
    #expect(closed.changed(.connected, at: Self.now) == .none && !closed.isUp && !closed.goDown())
  }

  @Test func whatIsHeardBringsBackWhatTheTransportStillHolds() {
    var media = Self.media(.connected)
    #expect(media.heard(at: Self.now) == false)
    _ = media.goDown()
    #expect(media.heard(at: Self.now) && media.isUp)
    // A transport that is gone is not there because a late packet came.
    for state in [TransportState.disconnected, .failed] {
      _ = media.changed(state, at: Self.now)
      _ = media.goDown()
      #expect(!media.heard(at: Self.now) && !media.isUp)
    }
  }

  @Test func onlyWhoSpeaksEachSecondCanBeQuiet() {
    var media = Self.media(.connected)
    let end = Self.now + PeerMedia.quietTime
    #expect(media.nextDeadline == nil && !media.isQuiet(at: end))
    media.take(PeerMessage())
    #expect(media.nextDeadline == end)
    #expect(!media.isQuiet(at: end - .nanoseconds(1)) && media.isQuiet(at: end))
    _ = media.heard(at: end)
    #expect(!media.isQuiet(at: end) && media.nextDeadline == end + PeerMedia.quietTime)
    _ = media.goDown()
    #expect(media.nextDeadline == nil && !media.isQuiet(at: end + PeerMedia.quietTime))
  }

  @Test func aWordIsDueEachSecondFromTheOpeningOfTheChannelOn() {
    var media = Self.media(.connected)
    #expect(media.mustSay(at: Self.now) == false)
    media.channelOpened(at: Self.now)
    #expect(media.mustSay(at: Self.now) && !media.mustSay(at: Self.now + .nanoseconds(1)))
    #expect(media.nextDeadline == Self.now + PeerMedia.heartbeat)
    #expect(media.mustSay(at: Self.now + PeerMedia.heartbeat) == true)
    media.close()
    #expect(!media.mustSay(at: Self.now + PeerMedia.heartbeat * 10) && media.nextDeadline == nil)
  }

  @Test func anotherConnectionKnowsNothingOfTheOneBefore() {
    var media = PeerMedia()
    #expect(!media.isCurrent(0))
    media.open()
    _ = media.changed(.connected, at: Self.now)
    media.channelOpened(at: Self.now)
    media.take(PeerMessage(camera: false))
    media.applied([MediaSection(mid: MID("0"), kind: .video, isActive: true)])
    #expect(media.isCurrent(1) && media.tracks(of: Self.ann).map(\.track.isMuted) == [true])
    media.open()
    #expect(media.isCurrent(2) && !media.isCurrent(1) && !media.isUp && media.nextDeadline == nil)
    #expect(media.tracks(of: Self.ann).isEmpty)
    media.close()
    #expect(!media.isCurrent(2))
  }

  @Test func theFirstOfAKindIsCameraOrMicrophoneTheSecondASharedScreens() {
    var media = Self.media(.connected)
    func section(_ mid: String, _ kind: MediaKind, _ isActive: Bool = true) -> MediaSection {
      MediaSection(mid: MID(mid), kind: kind, isActive: isActive)
    }
    media.applied([
      section("0", .audio), section("1", .video, false), section("2", .video), section("3", .video),
      section("4", .audio), section("5", .video), section("6", .audio),
    ])
    media.take(PeerMessage(camera: true, microphone: false))
    #expect(
      media.tracks(of: Self.ann).map { "\($0.mid) \($0.track.id)\($0.track.isMuted ? " muted" : "")" } == [
        "0 ann/microphone/1 muted", "2 ann/camera/1", "3 ann/\(TrackSource.screenShare.rawValue)/1",
        "4 ann/\(TrackSource.screenShareAudio.rawValue)/1",
      ])
  }
}
