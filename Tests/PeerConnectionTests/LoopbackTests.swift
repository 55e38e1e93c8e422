import MediaCore
import Platform
import RTP
import Testing
import Transport

@testable import PeerConnection

@Suite(.serialized) struct LoopbackTests {
  @Test func mediaAndDataFlowBothWays() async throws {
    let pair = try Pair("both ways")
    defer { pair.close() }
    let senders = try pair.on { left, right -> [RTPSender] in
      let video = left.pc.addSender(kind: .video, codec: .vp8, streamID: "s", trackID: "v", alsoReceives: true)
      let audio = left.pc.addSender(kind: .audio, codec: .opus, streamID: "s", trackID: "a", alsoReceives: true)
      left.pc.openDataChannel(label: "chat")
      let back = right.pc.addSender(kind: .video, codec: .vp8, streamID: "t", trackID: "w")
      let voice = right.pc.addSender(kind: .audio, codec: .opus, streamID: "t", trackID: "b")
      try left.offer()
      return [video, audio, back, voice]
    }
    let source = FrameSource(senders)
    await pair.wait(
      "media",
      until: { left, right in
        [left, right].allSatisfy { end in
          Set(end.frames.map(\.frame.codec)).count == 2 && end.frames.contains { $0.frame.captureTime != nil }
        }
      }, each: { _, _ in source.step() })
    await pair.wait("data channel", until: { left, right in left.opened == ["chat"] && right.opened == ["chat"] })
    try pair.on { left, right in
      left.say("hello", on: "chat")
      right.say("welcome", on: "chat")
    }
    await pair.wait(
      "messages",
      until: { left, right in
        left.messages == ["chat: welcome"] && right.messages == ["chat: hello"]
      })
    try pair.on { left, right in
      #expect(right.added == ["+0 v", "+1 a"])
      #expect(left.added == ["+0 w", "+1 b"])
      #expect(right.frames.first { $0.frame.codec == .vp8 }?.frame.isKeyframe == true)
      #expect(right.frames.first { $0.frame.codec == .vp8 }?.frame.width == 640)
      #expect(right.frames.first { $0.frame.codec == .opus }?.frame.audioLevel == 33)
      #expect(left.keyframeWishes.count >= 1, "a new receiver asks for a keyframe")
      #expect(right.pc.counters == PeerConnectionCounters())
      #expect(left.pc.counters == PeerConnectionCounters())
    }
  }

  /// BYE ends nothing, for whichever sources and by whomever: sources come and go by negotiation.
  @Test func goodbyesEndNoStream() async throws {
    let pair = try Pair("goodbye")
    defer { pair.close() }
    let senders = try pair.on { left, _ -> [RTPSender] in
      let video = left.pc.addSender(kind: .video, codec: .vp8, streamID: "s", trackID: "v")
      try left.offer()
      return [video]
    }
    let source = FrameSource(senders)
    await pair.wait("a frame", until: { _, right in !right.frames.isEmpty }, each: { _, _ in source.step() })
    let before = try pair.on { left, right in
      var writer = RTCPWriter()
      writer.receiverReport(ssrc: SSRC(1), reports: [])
      writer.goodbye([SSRC(1), SSRC(2)] + left.pc.senders.flatMap { $0.streams.map(\.ssrc) })
      writer.withBytes { bytes in
        right.pc.engine.receiveRTCP(bytes, at: MonotonicClock.now)
        left.pc.engine.receiveRTCP(bytes, at: MonotonicClock.now)
      }
      return right.frames.count
    }
    await pair.wait(
      "more frames", until: { _, right in right.frames.count > before + 20 }, each: { _, _ in source.step() })
    try pair.on { left, right in
      #expect(right.added == ["+0 v"])
      #expect(left.states.last == .connected && right.states.last == .connected)
    }
  }

  @Test func forwardedPacketsKeepThePublishersClock() async throws {
    // left publishes to right, which forwards to a third one under a new source.
    let pair = try Pair("forwarding")
    defer { pair.close() }
    let (server, viewer) = try pair.loop.sync { () throws -> (End, End) in
      let server = try End(pair.loop)
      let viewer = try End(pair.loop)
      server.other = viewer
      viewer.other = server
      pair.right.wantsPackets = true
      return (server, viewer)
    }
    let setup = try pair.on { left, _ -> (RTPSender, RTPSender) in
      let published = left.pc.addSender(kind: .video, codec: .vp8, streamID: "s", trackID: "v")
      try left.offer()
      let forwarded = server.pc.addSender(kind: .video, codec: .vp8, streamID: "PA_1|TR_1", trackID: "TR_1")
      try server.offer()
      return (published, forwarded)
    }
    let source = FrameSource([setup.0])
    let forwarder = Forwarder(setup.1)
    await pair.wait(
      "forwarded frames with a clock",
      until: { _, right in
        forwarder.step(right)
        return viewer.frames.contains { $0.frame.captureTime != nil } && viewer.frames.count > 50
      }, each: { _, _ in source.step() })
    try pair.on { _, _ in
      let receiver = try #require(viewer.pc.receivers.first)
      #expect(receiver.trackID == "TR_1")
      let frame = try #require(viewer.frames.last?.frame)
      let wanted = source.captureTime(ofOriginal: UInt32(truncatingIfNeeded: frame.rtpTime) &- forwarder.offset)
      let got = try #require(frame.captureTime)
      let distance = got.nanoseconds - wanted.nanoseconds
      // Two reports and two roundings to a tick of 11 µs.
      #expect(abs(distance) < 100_000, "off by \(distance) ns")
      server.pc.close()
      viewer.pc.close()
    }
  }
}

extension End {
  func say(_ text: String, on label: String) {
    var text = text
    text.withUTF8 { _ = pc.sendData(label: label, UnsafeRawBufferPointer($0), isText: true) }
  }
}
