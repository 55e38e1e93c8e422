import MediaCore
import TestKit
import Testing

@testable import RTP

@Suite struct JitterBufferTests {
  @Test func framesComeOutWholeAndAtOnce() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    for index in 0..<50 {
      let packets = try source.frame(keyframe: index == 0, count: 10 + index * 20)
      let now = Instant.milliseconds(Int64(index) * 33)
      buffer.insertAll(packets.dropLast(), at: now)
      #expect(buffer.frames(at: now).isEmpty)
      buffer.insertAll(packets.suffix(1), at: now + .nanoseconds(1))
      let assembled = buffer.assembled(at: now + .nanoseconds(1))
      let frames = assembled.map(\.frame)
      #expect(frames.map(\.payload.array) == [source.frames[index]])
      #expect(frames.first?.isKeyframe == (index == 0))
      #expect(frames.first?.width == (index == 0 ? 640 : 0))
      #expect(frames.first?.rtpTime == 4_294_960_000 + Int64(index) * 3000)
      #expect(assembled.first?.completed == now + .nanoseconds(1))
      #expect(frames.first?.followsLoss == false)
    }
    #expect(buffer.statistics.frames == 50)
    #expect(buffer.statistics.lostPackets == 0)
    #expect(!buffer.needsKeyframe)
  }

  @Test func waitsForARetransmissionAndGoesOnWithoutLoss() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
    let broken = try source.frame(keyframe: false, count: 500)
    let after = try source.frame(keyframe: false, count: 50)
    buffer.insertAll([broken[0]] + broken[2...] + after, at: .zero)
    #expect(buffer.frames(at: .zero).count == 1)
    #expect(buffer.deadline(at: .milliseconds(1)) == .milliseconds(400))
    buffer.insertAll([broken[1]], at: .milliseconds(399))
    let frames = buffer.assembled(at: .milliseconds(399))
    #expect(frames.map(\.frame.payload.array) == Array(source.frames[1...]))
    #expect(frames.first?.sequences == broken[0].sequence...broken[broken.count - 1].sequence)
    #expect(frames.first?.completed == .milliseconds(399))
    #expect(buffer.statistics.lostPackets == 0)
  }

  @Test func asksForAKeyframeWhileAnOverduePacketMayStillCome() throws {
    for comes in [true, false] {
      var source = VideoSource()
      var buffer = JitterBuffer()
      buffer.overdueAfter = .milliseconds(200)
      buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
      var broken = try source.frame(keyframe: false, count: 500)
      let missing = broken.remove(at: 2)
      buffer.insertAll(broken, at: .zero)
      #expect(buffer.frames(at: .zero).count == 1)
      #expect(buffer.deadline(at: .milliseconds(1)) == .milliseconds(200))
      #expect(!buffer.needsKeyframe)
      #expect(buffer.frames(at: .milliseconds(200)).isEmpty)
      #expect(buffer.needsKeyframe)
      #expect(buffer.deadline(at: .milliseconds(200)) == .milliseconds(400))
      if comes {
        buffer.insertAll([missing], at: .milliseconds(300))
        #expect(buffer.frames(at: .milliseconds(300)).count == 1)
        #expect(!buffer.needsKeyframe, "the wish is withdrawn")
      } else {
        buffer.insertAll(try source.frame(keyframe: true, count: 500), at: .milliseconds(300))
        #expect(buffer.frames(at: .milliseconds(399)).isEmpty, "what is missing is still waited for")
        let frames = buffer.frames(at: .milliseconds(400))
        #expect(frames.map(\.isKeyframe) == [true])
        #expect(!buffer.needsKeyframe)
      }
    }
  }

  @Test func goesOnAtTheNextKeyframeAfterALossAndAsksForOne() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
    _ = buffer.frames(at: .zero)
    var broken = try source.frame(keyframe: false, count: 500)
    broken.remove(at: 2)
    buffer.insertAll(broken + (try source.frame(keyframe: false, count: 50)), at: .zero)
    #expect(buffer.frames(at: .milliseconds(399)).isEmpty)
    #expect(!buffer.needsKeyframe)
    #expect(buffer.frames(at: .milliseconds(400)).isEmpty)
    #expect(buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: .milliseconds(410))
    #expect(buffer.frames(at: .milliseconds(410)).isEmpty)
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: .milliseconds(420))
    let frames = buffer.frames(at: .milliseconds(420))
    #expect(frames.map(\.payload.array) == [source.frames[4]])
    #expect(frames.first?.followsLoss == true)
    #expect(!buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: .milliseconds(430))
    #expect(buffer.frames(at: .milliseconds(430)).map(\.followsLoss) == [false])
    #expect(buffer.statistics.lostPackets == 1)
    #expect(buffer.statistics.droppedFrames == 3)
  }

  @Test func keyframeBehindAGapIsTakenAtOnceWhenOnlyAKeyframeHelps() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: .zero)
    _ = try source.frame(keyframe: false, count: 50)
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: .milliseconds(1))
    #expect(buffer.frames(at: .milliseconds(1)).map(\.isKeyframe) == [true])
    #expect(buffer.statistics.late == 0)
  }

  @Test func streamThatBeginsInTheMiddleOfAFrameAsksForAKeyframe() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    let first = try source.frame(keyframe: true, count: 500)
    buffer.insertAll(first.suffix(2), at: .zero)
    #expect(buffer.frames(at: .zero).isEmpty)
    // The begin may still come.
    #expect(!buffer.needsKeyframe)
    #expect(buffer.frames(at: .milliseconds(30)).isEmpty)
    #expect(buffer.needsKeyframe)
    buffer.insertAll([first[0]], at: .milliseconds(40))
    #expect(buffer.statistics.late == 1)
  }

  @Test func firstPacketsMayOvertakeEachOther() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    for packet in try source.frame(keyframe: true, count: 500).reversed() {
      #expect(buffer.frames(at: .zero).isEmpty)
      buffer.insertAll([packet], at: .zero)
    }
    #expect(buffer.frames(at: .zero).map(\.payload.array) == source.frames)
    #expect(!buffer.needsKeyframe)
  }

  @Test func paddingConsumesSequenceNumbersAndNothingElse() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: .zero)
    for _ in 0..<5 { buffer.insertAll([try source.padding()], at: .zero) }
    buffer.insertAll(try source.frame(keyframe: false, count: 500), at: .zero)
    #expect(buffer.frames(at: .zero).count == 2)
    #expect(buffer.statistics.padding == 5)
    #expect(buffer.statistics.lostPackets == 0)
  }

  @Test func lostPaddingCostsNoWait() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: .zero)
    _ = try source.padding()
    buffer.insertAll([try source.padding()], at: .zero)
    _ = try source.padding()
    buffer.insertAll(try source.frame(keyframe: false, count: 500), at: .zero)
    let frames = buffer.frames(at: .zero)
    #expect(frames.map(\.payload.array) == source.frames)
    #expect(frames.map(\.followsLoss) == [false, false])
  }

  @Test func duplicatesAndRetransmittedProbesAreDropped() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    let packets = try source.frame(keyframe: true, count: 300)
    buffer.insertAll(packets.dropLast() + packets.dropLast(), at: .zero)
    buffer.insertAll(packets.suffix(1), at: .zero)
    #expect(buffer.frames(at: .zero).count == 1)
    buffer.insertAll(packets, at: .zero)
    #expect(buffer.frames(at: .zero).isEmpty)
    #expect(buffer.statistics.duplicates == packets.count - 1)
    #expect(buffer.statistics.late == packets.count)
  }

  @Test func lossOfAFrameThatNobodyNeedsIsNoLoss() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
    // The begin of the frame tells that nothing depends on it.
    buffer.insertAll(try source.frame(keyframe: false, count: 500, isNonReference: true).dropLast(2), at: .zero)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: .zero)
    _ = buffer.frames(at: .zero)
    let frames = buffer.frames(at: .milliseconds(400))
    #expect(frames.map(\.payload.array) == [source.frames[2]])
    #expect(!buffer.needsKeyframe)
  }

  @Test func lossInAnUpperTemporalLayerLeavesTheBaseLayer() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    func frame(_ layer: UInt8, _ base: UInt8, sync: Bool = false, keyframe: Bool = false) throws
      -> [(sequence: Int64, packet: RTPPacket)]
    {
      try source.frame(
        keyframe: keyframe, count: 50,
        layer: .init(layer: layer, baseLayerIndex: base, isLayerSync: sync))
    }
    buffer.insertAll(try frame(0, 254, keyframe: true), at: .zero)
    buffer.insertAll(try frame(1, 254, sync: true), at: .zero)
    _ = try frame(2, 254)
    buffer.insertAll(try frame(0, 255), at: .zero)
    buffer.insertAll(try frame(2, 255), at: .zero)
    buffer.insertAll(try frame(1, 255, sync: true), at: .zero)
    buffer.insertAll(try frame(1, 255), at: .zero)
    buffer.insertAll(try frame(0, 0), at: .zero)
    var shown = buffer.frames(at: .zero)
    shown += buffer.frames(at: .milliseconds(400))
    // The lost one and the one of layer 2 behind it are missing.
    #expect(shown.map(\.payload.array) == [0, 1, 3, 5, 6, 7].map { source.frames[$0] })
    #expect(!buffer.needsKeyframe)
    // A base layer frame is lost: now only a keyframe helps.
    _ = try frame(0, 1)
    buffer.insertAll(try frame(1, 1, sync: true), at: .milliseconds(500))
    #expect(buffer.frames(at: .milliseconds(900)).isEmpty)
    #expect(buffer.needsKeyframe)
  }

  @Test func blankFramesAreNoPictures() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
    buffer.insertAll(try source.frame(keyframe: true, count: 20, width: 8, height: 8), at: .zero)
    #expect(buffer.frames(at: .zero).count == 1)
    #expect(buffer.statistics.blankFrames == 1)
    #expect(!buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: .zero)
    #expect(buffer.frames(at: .zero).isEmpty)
    #expect(buffer.needsKeyframe)
  }

  @Test func frameWithoutMarkerEndsWhereTheNextBegins() throws {
    var buffer = JitterBuffer()
    let first = vp8Frame(keyframe: true, count: 50, fill: 1)
    buffer.insert(try makePacket(sequence: 1, timestamp: 0, payload: [0x10] + first), sequence: 1, at: .zero)
    #expect(buffer.frames(at: .zero).isEmpty)
    let second = vp8Frame(keyframe: false, count: 50, fill: 2)
    buffer.insert(
      try makePacket(sequence: 2, timestamp: 3000, marker: true, payload: [0x10] + second), sequence: 2, at: .zero)
    #expect(buffer.frames(at: .zero).map(\.payload.array) == [first, second])
  }

  @Test func malformedFirstPacketCostsItsFrame() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
    let broken = try source.frame(keyframe: false, count: 300)
    buffer.insert(
      try makePacket(sequence: broken[0].sequence, payload: [0x90, 0x80]), sequence: broken[0].sequence, at: .zero)
    buffer.insertAll(Array(broken.dropFirst()), at: .zero)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: .zero)
    #expect(buffer.frames(at: .zero).count == 1)
    #expect(buffer.needsKeyframe)
    #expect(buffer.statistics.malformed == 1)
  }

  @Test func streamFarAheadStartsAgain() throws {
    var configuration = JitterBuffer.Configuration()
    configuration.capacity = 64
    var source = VideoSource(sequence: 0)
    var buffer = JitterBuffer(configuration: configuration)
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
    _ = buffer.frames(at: .zero)
    source.sequence += 1000
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: .zero)
    #expect(buffer.frames(at: .zero).isEmpty)
    #expect(buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: .zero)
    #expect(buffer.frames(at: .zero).map(\.followsLoss) == [true])
    #expect(buffer.statistics.overflows == 1)
  }

  @Test func buffersAreUsedAgain() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    var seen = Set<UnsafeRawPointer>()
    for index in 0..<200 {
      buffer.insertAll(try source.frame(keyframe: index == 0, count: 500), at: .zero)
      for frame in buffer.frames(at: .zero) { seen.insert(UnsafeRawPointer(frame.payload.base)) }
    }
    #expect(seen.count < 8)
  }
}
