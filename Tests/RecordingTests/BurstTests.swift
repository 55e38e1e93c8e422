import Codecs
import MediaCore
import Testing

@testable import Recording
@testable import Session

/// The order in which the outputs of a few slots are carried out.
struct BurstTests {
  private static func decode(_ id: UInt64, _ track: String) -> SessionOutput {
    .decode(
      FrameID(id), EncodedFrame(codec: .vp8, payload: MediaBuffer([1]), rtpTime: 0, isKeyframe: true),
      of: TrackID(track), at: .zero)
  }

  private static func plan(_ slot: Int64) -> SessionOutput {
    .compose(
      FramePlan(
        slot: slot, time: .zero, sessionTime: .zero, participants: 0, talker: nil, layout: "", isReconnecting: false))
  }

  private static func order(_ outputs: [SessionOutput]) -> [String] {
    var outputs = outputs
    Burst.order(&outputs)
    return outputs.map { output in
      switch output {
      case .decode(let id, _, let track, _): "\(track) \(id.rawValue)"
      case .compose(let plan): "plan \(plan.slot)"
      case .release(let track): "release \(track)"
      case .usePictures(let isUse): "pictures \(isUse)"
      default: "other"
      }
    }
  }

  @Test func aTracksFramesAreDecodedTogetherBeforeThePlans() {
    #expect(
      Self.order([
        Self.decode(1, "b"), Self.decode(2, "a"), Self.plan(0), .requestKeyframe(TrackID("c")), Self.decode(3, "a"),
        Self.decode(4, "b"), Self.plan(1),
      ]) == ["b 1", "b 4", "a 2", "a 3", "plan 0", "other", "plan 1"])
  }

  @Test func nothingMovesPastTheReleaseOfADecoder() {
    let track = TrackID("a")
    #expect(
      Self.order([
        Self.plan(0), Self.decode(1, "a"), Self.decode(2, "a"), .usePictures(true), Self.plan(1), Self.decode(3, "a"),
        Self.decode(4, "a"),
      ]) == ["a 1", "a 2", "plan 0", "pictures true", "a 3", "a 4", "plan 1"])
    #expect(
      Self.order([
        Self.decode(1, "a"), Self.plan(0), Self.decode(2, "a"), Self.plan(1), .release(track), Self.decode(3, "a"),
        Self.plan(2), Self.decode(4, "a"), Self.plan(3),
      ]) == ["a 1", "a 2", "plan 0", "plan 1", "release a", "a 3", "a 4", "plan 2", "plan 3"])
  }

  @Test func whatIsInNoNeedOfOrderStaysAsItIs() {
    #expect(Self.order([]) == [])
    #expect(Self.order([Self.plan(0), Self.decode(1, "a"), Self.plan(1)]) == ["plan 0", "a 1", "plan 1"])
  }

  @Test func aPlanFindsThePictureThatItNames() throws {
    let encoder = try VPXEncoder(.vp8, width: 64, height: 48, framesPerSecond: 30, bitrate: 100_000)
    let source = Picture(width: 64, height: 48)
    let track = TrackID("a")
    var videos = VideoTracks()
    func decode(_ number: UInt64) throws {
      var payload = MediaBuffer([])
      _ = try encoder.encode(source, pts: Int64(number) * 3000) { bytes, _ in payload = MediaBuffer(copying: bytes) }
      let frame = EncodedFrame(codec: .vp8, payload: payload, rtpTime: 0, isKeyframe: number == 1)
      guard case .decoded = videos.decode(FrameID(number), frame, of: track) else {
        Issue.record("frame \(number) is not decoded")
        return
      }
    }
    func shown(_ number: UInt64) -> UInt64? { videos.picture(FrameID(number), of: track)?.id.rawValue }
    videos.beginBurst()
    for number in 1...3 as ClosedRange<UInt64> { try decode(number) }
    #expect((0...4).map { shown($0) } == [nil, 1, 2, 3, 3])
    videos.beginBurst()
    #expect(shown(3) == 3, "a track that has nothing new goes on showing what it had")
    for number in 5...6 as ClosedRange<UInt64> { try decode(number) }
    #expect((2...6).map { shown($0) } == [nil, 3, 3, 5, 6], "of the burst before only the newest picture is left")
  }

  @Test func whatIsDecodedAheadIsWhatIsDecodedInOrder() throws {
    // Two bursts of four tracks: one that goes on does so with what it has.
    var bursts: [[SessionOutput]] = [[], []]
    for (place, codec) in [Codec.vp8, .vp9, .vp8, .h264].enumerated() {
      let encoder = try VPXEncoder(
        codec == .vp9 ? .vp9 : .vp8, width: 64, height: 48, framesPerSecond: 30, bitrate: 100_000)
      let source = Picture(width: 64, height: 48)
      source.fill(y: UInt8(40 * place + 40), u: 100, v: 160)
      for number in 0..<6 {
        var frame = EncodedFrame(codec: codec, payload: MediaBuffer([0]), rtpTime: 0, isKeyframe: false)
        _ = try encoder.encode(source, pts: Int64(number) * 3000) { bytes, isKeyframe in
          frame = EncodedFrame(codec: codec, payload: MediaBuffer(copying: bytes), rtpTime: 0, isKeyframe: isKeyframe)
        }
        // The third track breaks in the middle, and what the fourth sends is no H.264.
        if place == 2, number == 4 { frame.payload = MediaBuffer([0, 0, 0]) }
        bursts[number / 3].append(
          .decode(FrameID(UInt64(10 * number + place)), frame, of: TrackID("\(place)"), at: .zero))
      }
    }
    // Behind a release a track begins anew.
    bursts[1] += [.release(TrackID("0"))] + bursts[1].prefix(3)
    func decoded(isAhead: Bool) -> [String] {
      var videos = VideoTracks()
      var lines: [String] = []
      for burst in bursts {
        videos.beginBurst()
        if isAhead { videos.decodeAhead(burst) }
        for output in burst {
          switch output {
          case .decode(let id, let frame, let track, _):
            let outcome = videos.decode(id, frame, of: track)
            let shown = videos.picture(id, of: track).map { "\($0.id.rawValue): \($0.picture.y[0])" } ?? "nothing"
            lines.append("\(track) \(id.rawValue) \(outcome), shows \(shown)")
          case .release(let track): videos.release(track)
          default: break
          }
        }
        lines.append("\(videos.errors) errors")
      }
      return lines
    }
    let inOrder = decoded(isAhead: false)
    #expect(decoded(isAhead: true) == inOrder)
    #expect(inOrder.count == 29 && inOrder.last == "2 errors")
  }
}
