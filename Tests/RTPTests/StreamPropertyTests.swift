import MediaCore
import TestKit
import Testing

@testable import RTP

/// A path that loses, delays, overtakes and doubles packets, the same way for the same seed.
struct SeededPath {
  var random: SeededRandom
  var lossPercent: Int
  var duplicatePercent: Int
  var jitter: Duration
  private var inFlight: [(at: Instant, order: Int, sequence: Int64, packet: RTPPacket)] = []
  private var order = 0

  init(seed: UInt64, lossPercent: Int, duplicatePercent: Int = 2, jitter: Duration = .milliseconds(15)) {
    random = SeededRandom(seed: seed)
    self.lossPercent = lossPercent
    self.duplicatePercent = duplicatePercent
    self.jitter = jitter
  }

  mutating func send(_ packet: RTPPacket, sequence: Int64, at now: Instant) {
    if Int.random(in: 0..<100, using: &random) < lossPercent { return }
    for _ in 0...(Int.random(in: 0..<100, using: &random) < duplicatePercent ? 1 : 0) {
      order += 1
      let arrival = now + .milliseconds(10) + .nanoseconds(Int64.random(in: 0...jitter.nanoseconds, using: &random))
      inFlight.append((arrival, order, sequence, packet))
    }
  }

  mutating func arrivals(until now: Instant) -> [(at: Instant, packet: RTPPacket)] {
    let due = inFlight.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
    inFlight.removeAll { $0.at <= now }
    return due.map { (at: $0.at, packet: $0.packet) }
  }
}

@Suite struct StreamPropertyTests {
  struct VideoRun {
    var shown: [EncodedFrame] = []
    var sent: [[UInt8]] = []
    var keyframes: Set<Int> = []
    var buffer = JitterBuffer()
    var nack = NackGenerator()
    var longestWait = Duration.zero
  }

  /// A stream that starts just before the wrap, over a path in both directions, with NACK and keyframe requests.
  func runVideo(seed: UInt64, loss: Int, answersNack: Bool, frames: Int = 300) throws -> VideoRun {
    var random = SeededRandom(seed: seed &+ 1000)
    var run = VideoRun()
    var source = VideoSource(maximumPayload: 200)
    var path = SeededPath(seed: seed, lossPercent: loss)
    var back = SeededRandom(seed: seed &+ 2000)
    var history = RetransmissionHistory()
    var requester = KeyframeRequester()
    var unwrapper = SequenceUnwrapper()
    var sent: [UInt16: RTPPacket] = [:]
    var arrived: [Int64: Instant] = [:]
    var wantsKeyframe = true
    var now = Instant.zero
    for index in 0..<frames {
      let isKeyframe = wantsKeyframe
      wantsKeyframe = false
      if isKeyframe { run.keyframes.insert(index) }
      var packets = try source.frame(keyframe: isKeyframe, count: Int.random(in: 10...2000, using: &random))
      if Int.random(in: 0..<10, using: &random) == 0 { packets.append(try source.padding()) }
      for packet in packets {
        history.store(packet.packet.buffer, sequenceNumber: packet.packet.sequenceNumber, at: now)
        sent[packet.packet.sequenceNumber] = packet.packet
        path.send(packet.packet, sequence: packet.sequence, at: now)
      }
      let end = now + .milliseconds(33)
      while now < end {
        now += .milliseconds(3)
        for arrival in path.arrivals(until: now) {
          let sequence = unwrapper.unwrap(arrival.packet.sequenceNumber)
          if arrived[sequence] == nil { arrived[sequence] = now }
          run.nack.received(sequence, at: now)
          run.buffer.insert(arrival.packet, sequence: sequence, at: now)
        }
        for number in run.nack.poll(at: now) where answersNack {
          // Requests are lost like everything else.
          if Int.random(in: 0..<100, using: &back) < loss { continue }
          if history.retransmit(number, at: now) != nil, let packet = sent[number] {
            path.send(packet, sequence: 0, at: now + .milliseconds(10))
          }
        }
        for (frame, sequences, _) in run.buffer.assembled(at: now) {
          let first = sequences.compactMap { arrived[$0] }.min() ?? now
          run.longestWait = max(run.longestWait, now - first)
          if frame.isKeyframe { requester.keyframeReceived() }
          run.shown.append(frame)
        }
        if let useful = run.buffer.lowestUseful { run.nack.forget(below: useful) }
        if run.buffer.needsKeyframe { requester.want(.gap) }
        if requester.poll(at: now) { wantsKeyframe = true }
      }
    }
    run.sent = source.frames
    return run
  }

  /// Every frame handed out is one that was sent, in order, and decodable: without gaps since a keyframe.
  func check(_ run: VideoRun, seed: UInt64) {
    var last = -1
    var previous: Int?
    for frame in run.shown {
      // The first frame shown may lie behind the wrap: its extended time then begins anew.
      let index = Int(UInt32(truncatingIfNeeded: frame.rtpTime - 4_294_960_000) / 3000)
      guard index < run.sent.count else {
        Issue.record("seed \(seed): frame \(index) was never sent")
        return
      }
      #expect(index > last, "seed \(seed): frame \(index) after \(last)")
      #expect(frame.payload.array == run.sent[index], "seed \(seed): frame \(index) is damaged")
      #expect(frame.isKeyframe == run.keyframes.contains(index), "seed \(seed)")
      if !frame.isKeyframe { #expect(previous == index - 1, "seed \(seed): frame \(index) can't be decoded") }
      if frame.isKeyframe, let previous, index != previous + 1 { #expect(frame.followsLoss, "seed \(seed)") }
      previous = index
      last = index
    }
  }

  @Test(arguments: 0..<20) func reorderedAndDoubledStreamLosesNothing(seed: UInt64) throws {
    let run = try runVideo(seed: seed, loss: 0, answersNack: false)
    check(run, seed: seed)
    #expect(run.shown.count >= 298, "seed \(seed): \(run.shown.count)")
    #expect(run.buffer.statistics.lostPackets == 0, "seed \(seed)")
    #expect(run.keyframes == [0], "seed \(seed)")
  }

  @Test(arguments: 0..<20) func lossyStreamIsRepairedByRetransmission(seed: UInt64) throws {
    let run = try runVideo(seed: seed, loss: 5, answersNack: true)
    check(run, seed: seed)
    #expect(run.shown.count >= 285, "seed \(seed): \(run.shown.count)")
    #expect(run.nack.statistics.recovered > 0, "seed \(seed)")
  }

  @Test(arguments: 0..<20) func streamWithoutRepairGoesOnAtKeyframes(seed: UInt64) throws {
    let run = try runVideo(seed: seed, loss: 1, answersNack: false)
    check(run, seed: seed)
    #expect(run.shown.contains { $0.followsLoss }, "seed \(seed)")
    #expect(run.keyframes.count > 1, "seed \(seed)")
  }

  @Test(arguments: 0..<10) func heavyLossNeverShowsADamagedFrame(seed: UInt64) throws {
    let run = try runVideo(seed: seed, loss: 30, answersNack: true)
    check(run, seed: seed)
    // What a frame waits for was noticed missing no later than its own last packet came.
    #expect(run.longestWait <= .milliseconds(500), "seed \(seed)")
  }

  @Test(arguments: 0..<20) func soundComesInOrderAndAccountsForEverySample(seed: UInt64) throws {
    var random = SeededRandom(seed: seed &+ 500)
    var path = SeededPath(seed: seed, lossPercent: 8, jitter: .milliseconds(30))
    var buffer = AudioReorderBuffer()
    var unwrapper = SequenceUnwrapper()
    var red = REDPacketizer(distance: 1)
    let usesRED = seed % 2 == 0
    var sent: [Int64: [UInt8]] = [:]
    var silences: Int64 = 0
    var time: Int64 = 4_294_900_000
    let start = time
    var found: [AudioReorderBuffer.Packet] = []
    for index in Int64(0)..<500 {
      let now = Instant.milliseconds(index * 20)
      if Int.random(in: 0..<40, using: &random) == 0 {
        time += 9600
        silences += 9600
      }
      let payload = [0xf8, 0xff, UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: index >> 8)]
      sent[time] = payload
      let bytes = MediaBuffer(capacity: 100)
      RTPHeader(
        marker: false, payloadType: PayloadType(usesRED ? 63 : 111),
        sequenceNumber: UInt16(truncatingIfNeeded: 65_500 + index), timestamp: UInt32(truncatingIfNeeded: time),
        ssrc: SSRC(1)
      ).write(into: bytes)
      if usesRED {
        _ = payload.withUnsafeBytes {
          red.append(
            $0, payloadType: PayloadType(111), timestamp: UInt32(truncatingIfNeeded: time), to: bytes)
        }
      } else {
        payload.withUnsafeBytes { _ = bytes.append($0) }
      }
      time += 960
      // The first and the last ones arrive, so that the sum can be checked.
      let saved = path.lossPercent
      if index == 0 || index > 495 { path.lossPercent = 0 }
      path.send(try #require(RTPPacket(bytes)), sequence: 0, at: now)
      path.lossPercent = saved
      for step in [now, now + .milliseconds(10)]
        + (index == 499 ? [now + .milliseconds(40), now + .milliseconds(900)] : [])
      {
        for arrival in path.arrivals(until: step) {
          let sequence = unwrapper.unwrap(arrival.packet.sequenceNumber)
          if usesRED {
            buffer.insertRED(arrival.packet, sequence: sequence, primary: PayloadType(111), at: step)
          } else {
            buffer.insert(arrival.packet, sequence: sequence, at: step)
          }
        }
        found += buffer.packets(at: step)
      }
    }
    var expected = start
    var lost: Int64 = 0
    var silent: Int64 = 0
    for packet in found {
      #expect(packet.payload.array == sent[packet.rtpTime], "seed \(seed)")
      #expect(packet.rtpTime == expected + packet.lostBefore + packet.silenceBefore, "seed \(seed)")
      expected = packet.rtpTime + Int64(packet.duration)
      lost += packet.lostBefore
      silent += packet.silenceBefore
    }
    #expect(expected == time, "seed \(seed): the end is missing")
    #expect(silent <= silences, "seed \(seed): loss was taken for silence")
    #expect(lost / 960 >= Int64(buffer.statistics.lost), "seed \(seed)")
    if usesRED {
      #expect(buffer.statistics.recovered > 20, "seed \(seed)")
      #expect(buffer.statistics.lost < 15, "seed \(seed)")
    }
  }
}
