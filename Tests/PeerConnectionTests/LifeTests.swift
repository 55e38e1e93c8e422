import MediaCore
import Platform
import RTP
import SDP
import Testing
import Transport

@testable import PeerConnection

@Suite(.serialized) struct LifeTests {
  /// A pair that sends one video track from left to right.
  private func flowing(_ name: String) async throws -> (Pair, FrameSource) {
    let pair = try Pair(name)
    let sender = try pair.on { left, _ -> RTPSender in
      let sender = left.pc.addSender(kind: .video, codec: .vp8, streamID: "s", trackID: "one")
      left.pc.openDataChannel(label: "d")
      try left.offer()
      return sender
    }
    let source = FrameSource([sender])
    await pair.wait("frames", until: { _, right in right.frames.count > 5 }, each: { _, _ in source.step() })
    return (pair, source)
  }

  @Test(arguments: [true, false]) func mediaSurviveAnICERestart(byOfferer: Bool) async throws {
    let (pair, source) = try await flowing("restart")
    defer { pair.close() }
    try pair.on { left, right in
      let before = try SessionDescription(parsing: try #require(left.pc.localDescription)).media[0].transport
      let beforeRight = try SessionDescription(parsing: try #require(right.pc.localDescription)).media[0].transport
      right.frames = []
      if byOfferer {
        left.pc.restartICE()
        try left.offer()
      } else {
        // The side that answered before begins.
        try right.offer(iceRestart: true)
      }
      let after = try SessionDescription(parsing: try #require(left.pc.localDescription)).media[0].transport
      let afterRight = try SessionDescription(parsing: try #require(right.pc.localDescription)).media[0].transport
      #expect(before.iceUfrag != after.iceUfrag && before.icePassword != after.icePassword)
      #expect(beforeRight.iceUfrag != afterRight.iceUfrag)
      #expect(before.fingerprints == after.fingerprints)
    }
    await pair.wait(
      "frames after the restart",
      until: { left, right in
        right.frames.count > 200 && left.pc.state == .connected && right.pc.state == .connected
      }, each: { _, _ in source.step() })
    try pair.on { left, right in
      #expect(!left.states.contains(.failed) && !right.states.contains(.failed))
      let times = right.frames.map(\.frame.rtpTime)
      #expect(Set(zip(times, times.dropFirst()).map { $1 - $0 }) == [900], "no frame was lost")
    }
  }

  @Test func aReusedSectionFlowsForTheNewTrack() async throws {
    let (pair, _) = try await flowing("reuse")
    defer { pair.close() }
    let second = try pair.on { left, right -> RTPSender in
      left.pc.removeSender(left.pc.senders[0])
      try left.offer()
      #expect(right.added == ["+0 one", "-0"])
      #expect(right.pc.engine.sourceCount == 0)
      let sender = left.pc.addSender(kind: .video, codec: .vp8, streamID: "s", trackID: "two")
      try left.offer()
      #expect(right.added == ["+0 one", "-0", "+0 two"])
      #expect(right.pc.receivers.count == 1)
      right.frames = []
      return sender
    }
    let source = FrameSource([second])
    await pair.wait(
      "frames of the second track", until: { _, right in right.frames.count > 5 },
      each: { _, _ in
        source.step()
      })
    try pair.on { _, right in #expect(right.frames[0].frame.isKeyframe) }
  }

  @Test func aTrackReplacedWithinOneOfferGetsASectionOfItsOwn() async throws {
    let (pair, _) = try await flowing("change")
    defer { pair.close() }
    let second = try pair.on { left, right -> RTPSender in
      left.pc.removeSender(left.pc.senders[0])
      let sender = left.pc.addSender(kind: .video, codec: .vp8, streamID: "s", trackID: "two")
      try left.offer()
      // Real clients do not tell of a new track in a section that they never saw end.
      #expect(right.added == ["+0 one", "-0", "+2 two"])
      right.frames = []
      return sender
    }
    let source = FrameSource([second])
    await pair.wait(
      "frames of the second track", until: { _, right in right.frames.count > 5 },
      each: { _, _ in
        source.step()
      })
  }

  @Test func earlyCandidatesWaitForTheDescription() async throws {
    let pair = try Pair("early")
    defer { pair.close() }
    try pair.on { left, right in
      left.pc.openDataChannel(label: "d")
      let offer = try left.pc.createOffer()
      right.pc.addRemoteCandidate("candidate:1 1 udp 1 127.0.0.1 9 typ host")
      right.pc.addRemoteCandidate("garbage")
      try right.pc.setRemoteOffer(offer)
      let answer = try right.pc.createAnswer()
      try left.pc.setRemoteAnswer(answer)
    }
    await pair.wait("channel", until: { left, right in left.opened == ["d"] && right.opened == ["d"] })
  }

  @Test func theLocalDescriptionShowsGatheredCandidates() async throws {
    let (pair, _) = try await flowing("candidates")
    defer { pair.close() }
    try pair.on { left, _ in
      let description = try SessionDescription(parsing: try #require(left.pc.localDescription))
      #expect(!description.media[0].candidates.isEmpty)
      #expect(description.media[0].candidates.allSatisfy { $0.address == "127.0.0.1" })
    }
  }

  @Test func keyframeRequestsAreThrottled() async throws {
    let (pair, source) = try await flowing("throttle")
    defer { pair.close() }
    try pair.on { left, right in
      left.keyframeWishes = []
      for _ in 0..<100 { right.pc.receivers[0].requestKeyframe() }
    }
    await pair.wait("PLI", until: { left, _ in !left.keyframeWishes.isEmpty })
    // The source's next keyframe is up to 100 steps away.
    await pair.wait(
      "a second of media", until: { _, right in right.frames.count > 110 },
      each: { _, _ in
        source.step()
      })
    try pair.on { left, _ in #expect(left.keyframeWishes.count < 6) }
  }

  @Test func aClosedConnectionIsQuiet() async throws {
    let (pair, source) = try await flowing("closed")
    defer { pair.close() }
    try pair.on { left, right in
      let states = right.states
      right.pc.close()
      right.pc.close()
      #expect(right.pc.state == .closed && right.pc.signalingState == .closed)
      #expect(throws: PeerConnectionError.wrongState(operation: "Making an offer", state: .closed)) {
        try right.pc.createOffer()
      }
      #expect(throws: PeerConnectionError.self) { try right.pc.setRemoteOffer(Fixtures.aiortcOffer) }
      right.pc.addRemoteCandidate("candidate:1 1 udp 1 127.0.0.1 9 typ host")
      right.pc.receivers.first?.requestKeyframe()
      #expect(!right.pc.sendData(label: "d", UnsafeRawBufferPointer(start: nil, count: 0)))
      source.step()
      #expect(right.states == states)
      left.pc.close()
      #expect(!left.pc.senders[0].isSending)
    }
  }

  @Test func noPacketTraps() async throws {
    let (pair, _) = try await flowing("malformed")
    defer { pair.close() }
    try pair.on { _, right in
      var random = SeededRandom(seed: 21)
      let ssrc = right.pc.receivers[0].streams[0].ssrc.rawValue
      for round in 0..<20_000 {
        var bytes = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        // Most of them look right at the begin, so that they get far.
        if round % 4 != 0, bytes.count > 12 {
          bytes[0] = 0x80 | UInt8(random.next() & 0x30)
          bytes[1] = [96, 97, 224, 225][Int(random.next() % 4)]
          withUnsafeBytes(of: ssrc.bigEndian) { source in
            for index in 0..<4 { bytes[8 + index] = source[index] }
          }
        }
        right.pc.engine.receiveRTP(MediaBuffer(bytes), at: MonotonicClock.now)
        if bytes.count > 4 {
          bytes[0] = 0x80 | UInt8(random.next() & 0x1f)
          bytes[1] = 200 + UInt8(random.next() % 8)
          bytes[2] = 0
          bytes[3] = UInt8(bytes.count / 4 - 1)
        }
        bytes.withUnsafeBytes { right.pc.engine.receiveRTCP($0, at: MonotonicClock.now) }
      }
      #expect(right.pc.counters.malformedRTP > 0)
      #expect(right.pc.engine.sourceCount < 64)
    }
  }
}
