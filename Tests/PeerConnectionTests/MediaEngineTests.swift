import MediaCore
import RTP
import TestKit
import Testing

@testable import PeerConnection

/// The media of a connection over bad networks, in manual time.
@Suite struct MediaEngineTests {
  /// A picture is only handed out when all that it refers to was; each is whole, and in order.
  private func judge(_ frames: [EncodedFrame], _ comment: Comment) {
    var last: Int64?
    for frame in frames {
      let number = frame.rtpTime / 3600
      if let last {
        #expect(number > last, comment)
        #expect(
          frame.isKeyframe || number == last + 1, "frame \(number) after \(last): its reference is missing; \(comment)")
      } else {
        #expect(frame.isKeyframe, comment)
      }
      last = number
      #expect(frame.payload.count == MadeCamera.frameSize, comment)
      #expect(frame.payload.bytes.last == UInt8(truncatingIfNeeded: number &+ Int64(MadeCamera.frameSize - 1)), comment)
    }
  }

  /// `share`: of all pictures, in 1/1000; `wait`: from the making of a picture to its handing out, at most, ms. The jitter
  /// buffer waits for 400 ms; the way takes its time too, and that a picture's end is missing is seen 40 ms later.
  @Test(arguments: [
    ("delay=20ms", 1000, 30), ("delay=20ms loss=1%", 1000, 200), ("delay=20ms jitter=15ms loss=5%", 995, 435),
    ("delay=60ms loss=5% reorder=5%/20ms duplicate=1%", 990, 480), ("delay=20ms burst=10%/4", 950, 420),
    ("delay=20ms loss=15%", 900, 460),
  ])
  func picturesComeWholeAndInOrder(script: String, share: Int, wait: Int) throws {
    for seed in [1, 2, 3] as [UInt64] {
      let pair = try EnginePair(script, seed: seed)
      var camera = MadeCamera(pair.near.add(.vp8))
      try pair.connect()
      pair.run(for: .seconds(60)) { camera.step(pair.near) }
      pair.run(for: .seconds(1))
      let comment: Comment = "\(script), seed \(seed): \(pair.far.frames.count) of \(camera.count)"
      judge(pair.far.frames, comment)
      #expect(pair.far.frames.count * 1000 >= camera.count * share, comment)
      let longest = zip(pair.far.frames, pair.far.frameTimes).map { frame, at in
        at - camera.startedAt - .milliseconds(frame.rtpTime / 3600 * 40)
      }.max()
      #expect(try #require(longest) <= .milliseconds(wait), "\(comment), longest wait \(longest ?? .zero)")
    }
  }

  /// Repair works with a stream of its own (RFC 4588), and by the same packets under their own numbers.
  @Test(arguments: [true, false]) func lostPacketsAreRepaired(byRetransmissionStream: Bool) throws {
    let pair = try EnginePair(
      "delay=10ms; up loss=8%", seed: 3, near: { $0.usesRetransmission = byRetransmissionStream },
      // What is repaired is looked at here, and not how long somebody waits for it.
      far: { $0.jitterBufferDelay = .seconds(20) })
    var camera = MadeCamera(pair.near.add(.vp8))
    try pair.connect()
    pair.run(for: .seconds(20)) { camera.step(pair.near) }
    pair.run(for: .seconds(5))
    #expect(pair.far.frames.map { $0.rtpTime / 3600 } == Array(0..<Int64(camera.count)))
    #expect(pair.far.frames.allSatisfy { !$0.followsLoss })
    let statistics = pair.far.engine.receivers[0].statistics
    #expect(statistics.recovered > 100)
    #expect(statistics.givenUp == 0)
    #expect(camera.sender.retransmittedCount >= statistics.recovered)
  }

  /// Sound is in order and complete, each packet once; what is lost for good is told as lost.
  @Test func soundIsInOrderAndLossesAreTold() throws {
    for seed in 1...5 as ClosedRange<UInt64> {
      let pair = try EnginePair("delay=30ms jitter=20ms loss=10% duplicate=2%", seed: seed)
      var microphone = MadeMicrophone(pair.near.add(.opus))
      try pair.connect()
      pair.run(for: .seconds(60)) { microphone.step(pair.near) }
      pair.run(for: .seconds(1))
      let times = pair.far.frames.map { $0.rtpTime / 960 }
      let comment: Comment = "seed \(seed): \(pair.far.frames.count { $0.payload.count == 0 }) lost"
      #expect(times == Array(times[0]..<(times[0] + Int64(times.count))), comment)
      #expect(times.count >= microphone.count - 3, comment)
      #expect(pair.far.frames.allSatisfy { $0.payload.count == 0 || $0.audioLevel == 33 }, comment)
      // A lost packet is asked for, and comes with one of several tries.
      #expect(pair.far.frames.count { $0.payload.count == 0 } * 200 < times.count, comment)
    }
  }

  /// After an outage pictures come again within the time that a keyframe takes, whatever is asked for meanwhile.
  @Test(arguments: [1, 3, 10, 60]) func anOutageEndsWithAKeyframe(seconds: Int) throws {
    let pair = try EnginePair("delay=30ms; 5s outage \(seconds)s", seed: 11)
    var camera = MadeCamera(pair.near.add(.vp8))
    try pair.connect()
    pair.run(for: .seconds(seconds + 10)) { camera.step(pair.near) }
    judge(pair.far.frames, "outage of \(seconds) s")
    let end = Instant.seconds(1) + .seconds(5 + seconds)
    let again = try #require(pair.far.frameTimes.first { $0 > end })
    #expect(again - end < .milliseconds(1200), "pictures came again after \(again - end)")
    let late = zip(pair.far.frames, pair.far.frameTimes).filter { $1 > again + .seconds(1) }
    #expect(late.count > 50)
  }

  /// Layers of simulcast arrive by their names, and so do their repairs.
  @Test func simulcastLayersArriveByTheirNames() throws {
    let layers = [RID("q"), RID("h"), RID("f")]
    let feedback: (inout RTCPeerConnection.Configuration) -> Void = {
      $0.bandwidthFeedback = [.transportWide, .maximumBitrate]
    }
    let pair = try EnginePair("delay=10ms; up loss=5%", seed: 5, near: feedback, far: feedback)
    pair.far.wantsPackets = true
    var camera = MadeCamera(pair.near.add(.vp8, layers: layers))
    try pair.connect()
    pair.run(for: .seconds(10)) { camera.step(pair.near, layers: 3) }
    for rid in layers { #expect(pair.far.packets.count { $0.rid == rid } > 1000) }
    let receiver = try #require(pair.far.engine.receivers.first)
    #expect(receiver.rids == layers)
    #expect(receiver.statistics.recovered > 50, "retransmissions are routed by repaired-rid")
    let before = pair.near.keyframeWishes.count
    receiver.requestKeyframe(rid: layers[1])
    pair.run(for: .milliseconds(100)) { camera.step(pair.near, layers: 3) }
    #expect(pair.near.keyframeWishes[before...].first == layers[1])
  }

  /// What is sent again under its own number is the very same packet: its number is the nonce of AES-GCM.
  @Test func aPacketThatIsSentAgainUnderItsOwnNumberIsTheSame() throws {
    let feedback: (inout RTCPeerConnection.Configuration) -> Void = {
      $0.bandwidthFeedback = [.transportWide, .maximumBitrate]
    }
    let pair = try EnginePair(
      "delay=10ms; up loss=10%", seed: 8,
      near: {
        feedback(&$0)
        $0.usesRetransmission = false
      }, far: feedback)
    pair.far.wantsPackets = true
    var camera = MadeCamera(pair.near.add(.vp8))
    try pair.connect()
    pair.run(for: .seconds(10)) { camera.step(pair.near) }
    #expect(camera.sender.retransmittedCount > 50)
    let extensions = try #require(pair.far.engine.receivers.first).extensions
    var unwrapper = SequenceUnwrapper()
    let stamps = try pair.far.packets.map { _, packet in
      (
        sequence: unwrapper.unwrap(packet.sequenceNumber),
        transport: try #require(packet.transportSequence(extensions)),
        time: try #require(packet.absoluteSendTime(extensions))
      )
    }.sorted { $0.sequence < $1.sequence }
    // What was first sent is stamped in the order of the numbers; a packet with a new stamp would stand out.
    for (before, after) in zip(stamps, stamps.dropFirst()) {
      #expect(Int16(bitPattern: after.transport &- before.transport) > 0, "packet \(after.sequence)")
      #expect(after.time.nanoseconds(since: before.time) >= 0, "packet \(after.sequence)")
    }
  }

  /// Each second a report of each stream, from which the other side knows its clock, losses and round trip time.
  @Test func reportsTellClockLossAndRoundTripTime() throws {
    let pair = try EnginePair("delay=50ms; up loss=20%", seed: 17)
    var camera = MadeCamera(pair.near.add(.vp8))
    try pair.connect()
    pair.run(for: .seconds(30)) { camera.step(pair.near) }
    #expect(25...40 ~= pair.far.reports.count)
    for report in pair.far.reports.dropFirst(5).prefix(15) {
      let captured = pair.near.wallClock(at: camera.startedAt).nanoseconds + Int64(report.rtp) * 100_000 / 9
      #expect(abs(report.ntp.nanoseconds - captured) < 100_000)
    }
    let roundTripTime = try #require(camera.sender.roundTripTime)
    #expect(roundTripTime > .milliseconds(99) && roundTripTime < .milliseconds(101), "\(roundTripTime)")
    #expect(0.1...0.3 ~= camera.sender.fractionLost)
  }

  @Test func whoHasNothingToReportSaysSoEachFiveSeconds() throws {
    let pair = try EnginePair("delay=20ms", seed: 5)
    let sender = pair.near.add(.vp8)
    try pair.connect()
    pair.run(for: .seconds(60))
    // With what it asks for at the beginning.
    #expect(10...20 ~= pair.far.sentRTCP, "\(pair.far.sentRTCP)")
    #expect(10...13 ~= pair.near.sentRTCP, "\(pair.near.sentRTCP)")
    // What begins is reported as soon as ever.
    var camera = MadeCamera(sender)
    pair.run(for: .milliseconds(1200)) { camera.step(pair.near) }
    #expect(pair.far.reports.count >= 1)
  }

  /// Datagrams with changed bits never trap, and what is whole still comes.
  @Test func damagedDatagramsAreDropped() throws {
    let pair = try EnginePair("delay=10ms corrupt=20%", seed: 23)
    var camera = MadeCamera(pair.near.add(.vp8))
    var microphone = MadeMicrophone(pair.near.add(.opus))
    try pair.connect()
    pair.run(for: .seconds(60)) {
      camera.step(pair.near)
      microphone.step(pair.near)
    }
    #expect(pair.far.engine.sourceCount < 64)
    #expect(pair.far.frames.count > 1000)
  }

  /// The same seed gives the same meeting, to the nanosecond.
  @Test func aSeedIsAMeeting() throws {
    func meeting(_ seed: UInt64) throws -> [Instant] {
      let pair = try EnginePair("delay=20ms jitter=20ms loss=10%", seed: seed)
      var camera = MadeCamera(pair.near.add(.vp8))
      try pair.connect()
      pair.run(for: .seconds(10)) { camera.step(pair.near) }
      return pair.far.frameTimes
    }
    #expect(try meeting(5) == meeting(5))
    #expect(try meeting(5) != meeting(6))
  }
}
