import MediaCore
import Testing

@testable import RTP

@Suite struct JitterBufferTests {
  @Test func framesComeOutWholeAndAtOnce() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    for index in 0..<50 {
      let packets = try source.frame(keyframe: index == 0, count: 10 + index * 20)
      let now = Int64(index) * 33 * millisecond
      buffer.insertAll(packets.dropLast(), at: now)
      #expect(buffer.frames(at: now).isEmpty)
      buffer.insertAll(packets.suffix(1), at: now + 1)
      let assembled = buffer.assembled(at: now + 1)
      let frames = assembled.map(\.frame)
      #expect(frames.map(\.payload.array) == [source.frames[index]])
      #expect(frames.first?.isKeyframe == (index == 0))
      #expect(frames.first?.width == (index == 0 ? 640 : 0))
      #expect(frames.first?.rtpTime == 4_294_960_000 + Int64(index) * 3000)
      #expect(assembled.first?.completed == now + 1)
      #expect(frames.first?.followsLoss == false)
    }
    #expect(buffer.statistics.frames == 50)
    #expect(buffer.statistics.lostPackets == 0)
    #expect(!buffer.needsKeyframe)
  }

  @Test func waitsForARetransmissionAndGoesOnWithoutLoss() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
    let broken = try source.frame(keyframe: false, count: 500)
    let after = try source.frame(keyframe: false, count: 50)
    buffer.insertAll([broken[0]] + broken[2...] + after, at: 0)
    #expect(buffer.frames(at: 0).count == 1)
    #expect(buffer.deadline(at: millisecond) == 400 * millisecond)
    buffer.insertAll([broken[1]], at: 399 * millisecond)
    let frames = buffer.assembled(at: 399 * millisecond)
    #expect(frames.map(\.frame.payload.array) == Array(source.frames[1...]))
    #expect(frames.first?.sequences == broken[0].sequence...broken[broken.count - 1].sequence)
    #expect(frames.first?.completed == 399 * millisecond)
    #expect(buffer.statistics.lostPackets == 0)
  }

  @Test func asksForAKeyframeWhileAnOverduePacketMayStillCome() throws {
    for comes in [true, false] {
      var source = VideoSource()
      var buffer = JitterBuffer()
      buffer.overdueAfter = 200 * millisecond
      buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
      var broken = try source.frame(keyframe: false, count: 500)
      let missing = broken.remove(at: 2)
      buffer.insertAll(broken, at: 0)
      #expect(buffer.frames(at: 0).count == 1)
      #expect(buffer.deadline(at: millisecond) == 200 * millisecond)
      #expect(!buffer.needsKeyframe)
      #expect(buffer.frames(at: 200 * millisecond).isEmpty)
      #expect(buffer.needsKeyframe)
      #expect(buffer.deadline(at: 200 * millisecond) == 400 * millisecond)
      if comes {
        buffer.insertAll([missing], at: 300 * millisecond)
        #expect(buffer.frames(at: 300 * millisecond).count == 1)
        #expect(!buffer.needsKeyframe, "the wish is withdrawn")
      } else {
        buffer.insertAll(try source.frame(keyframe: true, count: 500), at: 300 * millisecond)
        #expect(buffer.frames(at: 399 * millisecond).isEmpty, "what is missing is still waited for")
        let frames = buffer.frames(at: 400 * millisecond)
        #expect(frames.map(\.isKeyframe) == [true])
        #expect(!buffer.needsKeyframe)
      }
    }
  }

  @Test func goesOnAtTheNextKeyframeAfterALossAndAsksForOne() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
    _ = buffer.frames(at: 0)
    var broken = try source.frame(keyframe: false, count: 500)
    broken.remove(at: 2)
    buffer.insertAll(broken + (try source.frame(keyframe: false, count: 50)), at: 0)
    #expect(buffer.frames(at: 399 * millisecond).isEmpty)
    #expect(!buffer.needsKeyframe)
    #expect(buffer.frames(at: 400 * millisecond).isEmpty)
    #expect(buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: 410 * millisecond)
    #expect(buffer.frames(at: 410 * millisecond).isEmpty)
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: 420 * millisecond)
    let frames = buffer.frames(at: 420 * millisecond)
    #expect(frames.map(\.payload.array) == [source.frames[4]])
    #expect(frames.first?.followsLoss == true)
    #expect(!buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: 430 * millisecond)
    #expect(buffer.frames(at: 430 * millisecond).map(\.followsLoss) == [false])
    #expect(buffer.statistics.lostPackets == 1)
    #expect(buffer.statistics.droppedFrames == 3)
  }

  @Test func keyframeBehindAGapIsTakenAtOnceWhenOnlyAKeyframeHelps() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: 0)
    _ = try source.frame(keyframe: false, count: 50)
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: millisecond)
    #expect(buffer.frames(at: millisecond).map(\.isKeyframe) == [true])
    #expect(buffer.statistics.late == 0)
  }

  @Test func streamThatBeginsInTheMiddleOfAFrameAsksForAKeyframe() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    let first = try source.frame(keyframe: true, count: 500)
    buffer.insertAll(first.suffix(2), at: 0)
    #expect(buffer.frames(at: 0).isEmpty)
    // The begin may still come.
    #expect(!buffer.needsKeyframe)
    #expect(buffer.frames(at: 30 * millisecond).isEmpty)
    #expect(buffer.needsKeyframe)
    buffer.insertAll([first[0]], at: 40 * millisecond)
    #expect(buffer.statistics.late == 1)
  }

  @Test func firstPacketsMayOvertakeEachOther() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    for packet in try source.frame(keyframe: true, count: 500).reversed() {
      #expect(buffer.frames(at: 0).isEmpty)
      buffer.insertAll([packet], at: 0)
    }
    #expect(buffer.frames(at: 0).map(\.payload.array) == source.frames)
    #expect(!buffer.needsKeyframe)
  }

  @Test func paddingConsumesSequenceNumbersAndNothingElse() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: 0)
    for _ in 0..<5 { buffer.insertAll([try source.padding()], at: 0) }
    buffer.insertAll(try source.frame(keyframe: false, count: 500), at: 0)
    #expect(buffer.frames(at: 0).count == 2)
    #expect(buffer.statistics.padding == 5)
    #expect(buffer.statistics.lostPackets == 0)
  }

  @Test func lostPaddingCostsNoWait() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 500), at: 0)
    _ = try source.padding()
    buffer.insertAll([try source.padding()], at: 0)
    _ = try source.padding()
    buffer.insertAll(try source.frame(keyframe: false, count: 500), at: 0)
    let frames = buffer.frames(at: 0)
    #expect(frames.map(\.payload.array) == source.frames)
    #expect(frames.map(\.followsLoss) == [false, false])
  }

  @Test func duplicatesAndRetransmittedProbesAreDropped() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    let packets = try source.frame(keyframe: true, count: 300)
    buffer.insertAll(packets.dropLast() + packets.dropLast(), at: 0)
    buffer.insertAll(packets.suffix(1), at: 0)
    #expect(buffer.frames(at: 0).count == 1)
    buffer.insertAll(packets, at: 0)
    #expect(buffer.frames(at: 0).isEmpty)
    #expect(buffer.statistics.duplicates == packets.count - 1)
    #expect(buffer.statistics.late == packets.count)
  }

  @Test func lossOfAFrameThatNobodyNeedsIsNoLoss() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
    // The begin of the frame tells that nothing depends on it.
    buffer.insertAll(try source.frame(keyframe: false, count: 500, isNonReference: true).dropLast(2), at: 0)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: 0)
    _ = buffer.frames(at: 0)
    let frames = buffer.frames(at: 400 * millisecond)
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
    buffer.insertAll(try frame(0, 254, keyframe: true), at: 0)
    buffer.insertAll(try frame(1, 254, sync: true), at: 0)
    _ = try frame(2, 254)
    buffer.insertAll(try frame(0, 255), at: 0)
    buffer.insertAll(try frame(2, 255), at: 0)
    buffer.insertAll(try frame(1, 255, sync: true), at: 0)
    buffer.insertAll(try frame(1, 255), at: 0)
    buffer.insertAll(try frame(0, 0), at: 0)
    var shown = buffer.frames(at: 0)
    shown += buffer.frames(at: 400 * millisecond)
    // The lost one and the one of layer 2 behind it are missing.
    #expect(shown.map(\.payload.array) == [0, 1, 3, 5, 6, 7].map { source.frames[$0] })
    #expect(!buffer.needsKeyframe)
    // A base layer frame is lost: now only a keyframe helps.
    _ = try frame(0, 1)
    buffer.insertAll(try frame(1, 1, sync: true), at: 500 * millisecond)
    #expect(buffer.frames(at: 900 * millisecond).isEmpty)
    #expect(buffer.needsKeyframe)
  }

  @Test func blankFramesAreNoPictures() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
    buffer.insertAll(try source.frame(keyframe: true, count: 20, width: 8, height: 8), at: 0)
    #expect(buffer.frames(at: 0).count == 1)
    #expect(buffer.statistics.blankFrames == 1)
    #expect(!buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: 0)
    #expect(buffer.frames(at: 0).isEmpty)
    #expect(buffer.needsKeyframe)
  }

  @Test func frameWithoutMarkerEndsWhereTheNextBegins() throws {
    var buffer = JitterBuffer()
    let first = vp8Frame(keyframe: true, count: 50, fill: 1)
    buffer.insert(try makePacket(sequence: 1, timestamp: 0, payload: [0x10] + first), sequence: 1, at: 0)
    #expect(buffer.frames(at: 0).isEmpty)
    let second = vp8Frame(keyframe: false, count: 50, fill: 2)
    buffer.insert(
      try makePacket(sequence: 2, timestamp: 3000, marker: true, payload: [0x10] + second), sequence: 2, at: 0)
    #expect(buffer.frames(at: 0).map(\.payload.array) == [first, second])
  }

  @Test func malformedFirstPacketCostsItsFrame() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
    let broken = try source.frame(keyframe: false, count: 300)
    buffer.insert(
      try makePacket(sequence: broken[0].sequence, payload: [0x90, 0x80]), sequence: broken[0].sequence, at: 0)
    buffer.insertAll(Array(broken.dropFirst()), at: 0)
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: 0)
    #expect(buffer.frames(at: 0).count == 1)
    #expect(buffer.needsKeyframe)
    #expect(buffer.statistics.malformed == 1)
  }

  @Test func streamFarAheadStartsAgain() throws {
    var configuration = JitterBuffer.Configuration()
    configuration.capacity = 64
    var source = VideoSource(sequence: 0)
    var buffer = JitterBuffer(configuration: configuration)
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
    _ = buffer.frames(at: 0)
    source.sequence += 1000
    buffer.insertAll(try source.frame(keyframe: false, count: 50), at: 0)
    #expect(buffer.frames(at: 0).isEmpty)
    #expect(buffer.needsKeyframe)
    buffer.insertAll(try source.frame(keyframe: true, count: 50), at: 0)
    #expect(buffer.frames(at: 0).map(\.followsLoss) == [true])
    #expect(buffer.statistics.overflows == 1)
  }

  @Test func buffersAreUsedAgain() throws {
    var source = VideoSource()
    var buffer = JitterBuffer()
    var seen = Set<UnsafeRawPointer>()
    for index in 0..<200 {
      buffer.insertAll(try source.frame(keyframe: index == 0, count: 500), at: 0)
      for frame in buffer.frames(at: 0) { seen.insert(UnsafeRawPointer(frame.payload.base)) }
    }
    #expect(seen.count < 8)
  }
}
