import MediaCore
import TestKit
import Testing

@testable import RoomServer

/// A publisher of simulcast VP8 that numbers its packets as libwebrtc does.
private struct Publisher {
  struct Layer {
    var ssrc: UInt32
    var sequence: UInt16
    var timestampOffset: UInt32
    var picture: UInt16
    var tl0: UInt8
    var key: UInt8
  }
  var layers: [Layer]
  var frame: Int64 = 0

  init(layers count: Int, random: inout SeededRandom) {
    layers = (0..<count).map { index in
      Layer(
        ssrc: UInt32(index + 1) * 1000, sequence: UInt16.random(in: 0...UInt16.max, using: &random),
        timestampOffset: UInt32.random(in: 0...UInt32.max, using: &random),
        picture: UInt16.random(in: 0...0x7fff, using: &random), tl0: UInt8.random(in: 0...255, using: &random),
        key: UInt8.random(in: 0...31, using: &random))
    }
  }

  /// The packets of one layer's frame, captured at `frame` thirtieths of a second.
  mutating func packets(layer index: Int, count: Int, isKeyframe: Bool) -> [ForwardedPacket] {
    layers[index].picture = (layers[index].picture &+ 1) & 0x7fff
    layers[index].tl0 &+= 1
    if isKeyframe { layers[index].key = (layers[index].key &+ 1) & 0x1f }
    return (0..<count).map { part in
      layers[index].sequence &+= 1
      let layer = layers[index]
      return ForwardedPacket(
        layer: index, ssrc: layer.ssrc, sequenceNumber: layer.sequence,
        timestamp: layer.timestampOffset &+ UInt32(truncatingIfNeeded: frame * 3000), startsFrame: part == 0,
        startsKeyframe: part == 0 && isKeyframe,
        picture: PictureNumbers(pictureID: layer.picture, tl0PictureIndex: layer.tl0, keyIndex: layer.key))
    }
  }

  mutating func padding(layer index: Int) -> ForwardedPacket {
    layers[index].sequence &+= 1
    let layer = layers[index]
    return ForwardedPacket(
      layer: index, ssrc: layer.ssrc, sequenceNumber: layer.sequence,
      timestamp: layer.timestampOffset &+ UInt32(truncatingIfNeeded: frame * 3000), isPadding: true,
      startsFrame: false, startsKeyframe: false)
  }
}

/// A reference to a forwarder, since expectations can't call mutating methods.
private final class Forwarder {
  private var value: LayerForwarder
  init(clockRate: ClockRate) { value = LayerForwarder(clockRate: clockRate) }
  var currentLayer: Int? { value.currentLayer }
  var layerAwaitingKeyframe: Int? { value.layerAwaitingKeyframe }
  var maximumTemporalLayer: UInt8 {
    get { value.maximumTemporalLayer }
    set { value.maximumTemporalLayer = newValue }
  }
  func setTarget(_ layer: Int?) { value.setTarget(layer) }
  func forward(_ packet: ForwardedPacket, now: Instant) -> OutgoingNumbers? { value.forward(packet, now: now) }
  func noteSenderReport(layer: Int, ssrc: UInt32, ntp: NTPTime, rtpTimestamp: UInt32) {
    value.noteSenderReport(layer: layer, ssrc: ssrc, ntp: ntp, rtpTimestamp: rtpTimestamp)
  }
  func mapTimestamp(_ timestamp: UInt32, layer: Int, ssrc: UInt32) -> UInt32? {
    value.mapTimestamp(timestamp, layer: layer, ssrc: ssrc)
  }
}

private let frameTime = Duration.nanoseconds(33_333_333)

@Suite struct LayerForwarderTests {
  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func outputHasNoHolesAndGoesForwardAcrossSwitchesAndPauses(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var publisher = Publisher(layers: 3, random: &random)
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(2)
    var sequence: UInt16?
    var timestamp: UInt32?
    var picture: UInt16?
    var tl0: UInt8?
    var fedBy: Int?
    var switches = 0
    for frame in 0..<3000 {
      publisher.frame = Int64(frame)
      if Int.random(in: 0..<40, using: &random) == 0 {
        forwarder.setTarget([nil, 0, 1, 2].randomElement(using: &random) ?? nil)
      }
      var batch: [ForwardedPacket] = []
      for layer in 0..<3 {
        let isKeyframe = Int.random(in: 0..<25, using: &random) == 0 || frame == 0
        batch += publisher.packets(
          layer: layer, count: Int.random(in: 1...4, using: &random), isKeyframe: isKeyframe)
        if Int.random(in: 0..<6, using: &random) == 0 { batch.append(publisher.padding(layer: layer)) }
      }
      for packet in batch {
        let before = forwarder.currentLayer
        guard let out = forwarder.forward(packet, now: .zero + frameTime * frame) else { continue }
        #expect(!out.isFiller && !packet.isPadding, "seed \(seed) frame \(frame)")
        if forwarder.currentLayer != before {
          #expect(packet.startsKeyframe, "seed \(seed) frame \(frame): a switch without a keyframe")
          switches += 1
        }
        #expect(packet.layer == forwarder.currentLayer)
        if let sequence { #expect(out.sequenceNumber == sequence &+ 1, "seed \(seed) frame \(frame)") }
        if let timestamp {
          let step = Int32(bitPattern: out.timestamp &- timestamp)
          #expect(packet.startsFrame ? step > 0 : step == 0, "seed \(seed) frame \(frame): time step \(step)")
        }
        if packet.startsFrame {
          if let picture { #expect(out.picture.pictureID == (picture &+ 1) & 0x7fff, "seed \(seed)") }
          if let tl0 { #expect(out.picture.tl0PictureIndex == tl0 &+ 1, "seed \(seed)") }
        }
        sequence = out.sequenceNumber
        timestamp = out.timestamp
        picture = out.picture.pictureID
        tl0 = out.picture.tl0PictureIndex
        fedBy = packet.layer
      }
    }
    #expect(switches > 20)
    #expect(fedBy != nil)
  }

  @Test(arguments: [11, 12, 13, 14] as [UInt64])
  func everyPacketGetsTheSameNumberHoweverLateItComes(seed: UInt64) {
    // The reference sees all packets in order; the other one sees them shuffled a little, some twice.
    var random = SeededRandom(seed: seed)
    var publisher = Publisher(layers: 1, random: &random)
    let reference = Forwarder(clockRate: .video)
    let shuffled = Forwarder(clockRate: .video)
    reference.setTarget(0)
    shuffled.setTarget(0)
    var expected: [UInt16: OutgoingNumbers] = [:]
    var packets: [ForwardedPacket] = []
    for frame in 0..<400 {
      publisher.frame = Int64(frame)
      packets += publisher.packets(layer: 0, count: 3, isKeyframe: frame == 0)
    }
    for packet in packets { expected[packet.sequenceNumber] = reference.forward(packet, now: .zero) }
    var arriving = packets
    for index in arriving.indices.dropFirst(3) where Int.random(in: 0..<3, using: &random) == 0 {
      let other = min(arriving.count - 1, index + Int.random(in: 1...10, using: &random))
      arriving.swapAt(index, other)
    }
    var seen = Set<UInt16>()
    for packet in arriving {
      let out = shuffled.forward(packet, now: .zero)
      #expect(out == expected[packet.sequenceNumber], "seed \(seed)")
      if let out { #expect(seen.insert(out.sequenceNumber).inserted, "seed \(seed)") }
      #expect(shuffled.forward(packet, now: .zero) == nil, "a duplicate was passed on, seed \(seed)")
    }
    #expect(seen.count == packets.count)
  }

  @Test func lossesStayHolesAndLatePaddingFillsThem() throws {
    var random = SeededRandom(seed: 3)
    var publisher = Publisher(layers: 1, random: &random)
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(0)
    let first = publisher.packets(layer: 0, count: 3, isKeyframe: true)
    let padding = publisher.padding(layer: 0)
    let second = publisher.packets(layer: 0, count: 1, isKeyframe: false)
    let start = try #require(forwarder.forward(first[0], now: .zero)).sequenceNumber
    // first[1] is lost, padding is late.
    #expect(forwarder.forward(first[2], now: .zero)?.sequenceNumber == start &+ 2)
    #expect(forwarder.forward(second[0], now: .zero)?.sequenceNumber == start &+ 4)
    let filler = try #require(forwarder.forward(padding, now: .zero))
    #expect(filler.isFiller && filler.sequenceNumber == start &+ 3)
    let recovered = try #require(forwarder.forward(first[1], now: .zero))
    #expect(!recovered.isFiller && recovered.sequenceNumber == start &+ 1)
  }

  @Test func paddingInOrderLeavesNoHole() throws {
    var random = SeededRandom(seed: 4)
    var publisher = Publisher(layers: 1, random: &random)
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(0)
    let key = publisher.packets(layer: 0, count: 1, isKeyframe: true)
    let start = try #require(forwarder.forward(key[0], now: .zero)).sequenceNumber
    for _ in 0..<5 {
      let padding = publisher.padding(layer: 0)
      #expect(forwarder.forward(padding, now: .zero) == nil)
    }
    let next = publisher.packets(layer: 0, count: 1, isKeyframe: false)
    #expect(forwarder.forward(next[0], now: .zero)?.sequenceNumber == start &+ 1)
  }

  @Test func nothingFlowsBeforeAKeyframeAndALowerLayerIsBetterThanNone() {
    var random = SeededRandom(seed: 5)
    var publisher = Publisher(layers: 3, random: &random)
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(2)
    #expect(forwarder.layerAwaitingKeyframe == 2)
    for packet in publisher.packets(layer: 2, count: 2, isKeyframe: false) {
      #expect(forwarder.forward(packet, now: .zero) == nil)
    }
    for packet in publisher.packets(layer: 0, count: 1, isKeyframe: true) {
      #expect(forwarder.forward(packet, now: .zero) != nil)
    }
    #expect(forwarder.currentLayer == 0 && forwarder.layerAwaitingKeyframe == 2)
    for packet in publisher.packets(layer: 2, count: 1, isKeyframe: true) {
      #expect(forwarder.forward(packet, now: .zero) != nil)
    }
    #expect(forwarder.currentLayer == 2 && forwarder.layerAwaitingKeyframe == nil)
    // Down again only when it is wanted.
    for packet in publisher.packets(layer: 0, count: 1, isKeyframe: true) {
      #expect(forwarder.forward(packet, now: .zero) == nil)
    }
  }

  @Test func aSwitchFollowsThePublishersClock() throws {
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(0)
    // Two layers of one clock: RTP time 1000 of the first and 70000 of the second are the same instant.
    let ntp = NTPTime(nanoseconds: 3_900_000_000_000_000_000)
    forwarder.noteSenderReport(layer: 0, ssrc: 1, ntp: ntp, rtpTimestamp: 1000)
    forwarder.noteSenderReport(layer: 1, ssrc: 2, ntp: ntp, rtpTimestamp: 70_000)
    let low = ForwardedPacket(layer: 0, ssrc: 1, sequenceNumber: 10, timestamp: 1000 + 9000)
    #expect(forwarder.forward(low, now: .zero)?.timestamp == 10_000)
    forwarder.setTarget(1)
    // One frame later on the clock, although it arrives 400 ms later.
    let high = ForwardedPacket(layer: 1, ssrc: 2, sequenceNumber: 900, timestamp: 70_000 + 12_000)
    let out = try #require(forwarder.forward(high, now: .milliseconds(400)))
    #expect(out.timestamp == 13_000 && out.sequenceNumber == 11)
    #expect(forwarder.mapTimestamp(70_000, layer: 1, ssrc: 2) == 1000)
    #expect(forwarder.mapTimestamp(1000, layer: 0, ssrc: 1) == nil)
  }

  @Test func withoutReportsASwitchFollowsTheArrival() throws {
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(0)
    let low = ForwardedPacket(layer: 0, ssrc: 1, sequenceNumber: 10, timestamp: 5000)
    #expect(forwarder.forward(low, now: .zero)?.timestamp == 5000)
    forwarder.setTarget(1)
    let high = ForwardedPacket(layer: 1, ssrc: 2, sequenceNumber: 900, timestamp: 4_000_000_000)
    #expect(forwarder.forward(high, now: .milliseconds(100))?.timestamp == 14_000)
  }

  @Test func aPauseKeepsTheTimelineAndTheNumbers() throws {
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(0)
    let before = ForwardedPacket(layer: 0, ssrc: 1, sequenceNumber: 10, timestamp: 5000)
    #expect(forwarder.forward(before, now: .zero)?.sequenceNumber == 10)
    forwarder.setTarget(nil)
    let during = ForwardedPacket(layer: 0, ssrc: 1, sequenceNumber: 11, timestamp: 8000)
    #expect(forwarder.forward(during, now: .zero) == nil)
    forwarder.setTarget(0)
    let after = ForwardedPacket(layer: 0, ssrc: 1, sequenceNumber: 300, timestamp: 275_000)
    let out = try #require(forwarder.forward(after, now: .seconds(3)))
    #expect(out.sequenceNumber == 11 && out.timestamp == 275_000)
  }

  @Test func unwantedTemporalLayersLeaveNoHolesAndComeBackAtASyncFrame() throws {
    let forwarder = Forwarder(clockRate: .video)
    forwarder.setTarget(0)
    var sequence: UInt16 = 65_530
    var picture: UInt16 = 0x7ffc
    func frame(_ temporal: UInt8, sync: Bool = false, key: Bool = false) -> ForwardedPacket {
      sequence &+= 1
      picture = (picture &+ 1) & 0x7fff
      return ForwardedPacket(
        layer: 0, ssrc: 1, sequenceNumber: sequence, timestamp: UInt32(picture) * 3000, startsKeyframe: key,
        picture: PictureNumbers(pictureID: picture, tl0PictureIndex: 1), temporalLayer: temporal,
        allowsTemporalSwitch: sync)
    }
    let start = try #require(forwarder.forward(frame(0, key: true), now: .zero))
    forwarder.maximumTemporalLayer = 0
    #expect(forwarder.forward(frame(2), now: .zero) == nil)
    #expect(forwarder.forward(frame(1), now: .zero) == nil)
    let base = try #require(forwarder.forward(frame(0), now: .zero))
    #expect(base.sequenceNumber == start.sequenceNumber &+ 1)
    #expect(base.picture.pictureID == start.picture.pictureID.map { ($0 &+ 1) & 0x7fff })
    forwarder.maximumTemporalLayer = .max
    #expect(forwarder.forward(frame(1), now: .zero) == nil, "it may depend on frames that were left out")
    #expect(forwarder.forward(frame(1, sync: true), now: .zero) != nil)
  }

  @Test func soundStartsAnywhereAndAPublisherMayBeginAnew() throws {
    let forwarder = Forwarder(clockRate: .opus)
    forwarder.setTarget(0)
    let first = ForwardedPacket(ssrc: 1, sequenceNumber: 65_535, timestamp: 960)
    #expect(forwarder.forward(first, now: .zero)?.sequenceNumber == 65_535)
    let anew = ForwardedPacket(ssrc: 9, sequenceNumber: 77, timestamp: 5)
    let out = try #require(forwarder.forward(anew, now: .milliseconds(20)))
    #expect(out.sequenceNumber == 0 && out.timestamp == 1920)
    let straggler = ForwardedPacket(ssrc: 1, sequenceNumber: 0, timestamp: 1920)
    #expect(forwarder.forward(straggler, now: .milliseconds(20)) == nil)
  }
}
