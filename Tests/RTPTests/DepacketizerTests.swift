import MediaCore
import TestKit
import Testing

@testable import RTP

/// What the depacketizers of VP9, H.264 and AV1 make of packets, and what the jitter buffer makes of their frames.
@Suite struct DepacketizerTests {
  /// Packets of one stream, put in under running numbers.
  struct Stream {
    var buffer: JitterBuffer
    var sequence: Int64 = 100
    var sets: [UInt8] = []

    init(_ codec: Codec) { buffer = JitterBuffer(codec: codec) }

    /// Puts in the packets of one frame, but those that are lost, and takes out what is ready.
    mutating func put(
      _ payloads: [[UInt8]], at timestamp: Int64, losing lost: Set<Int> = [], marker: Bool = true, now: Instant = .zero
    ) throws -> [EncodedFrame] {
      for (number, payload) in payloads.enumerated() {
        defer { sequence += 1 }
        if lost.contains(number) { continue }
        let packet = try makePacket(
          sequence: sequence, timestamp: timestamp, marker: marker && number == payloads.count - 1, payload: payload)
        buffer.insert(packet, sequence: sequence, at: now)
      }
      return buffer.frames(at: now)
    }
  }

  /// Packets that make no frame.
  struct Broken: Sendable {
    var what: String
    var payloads: [String]
    var lost: Set<Int>

    init(_ what: String, _ payloads: [String], lost: Int? = nil) {
      self.what = what
      self.payloads = payloads
      self.lost = lost.map { [$0] } ?? []
    }
  }

  /// The begin of a VP9 keyframe of profile 0.
  static func vp9Key(width: Int = 64, height: Int = 48, fill: UInt8 = 1) -> [UInt8] {
    // Marker 10, profile 0, shown, not resilient; the start code; BT.601 and limited range; then the sides less one.
    var bits = "10" + "00" + "0" + "0" + "1" + "0"
    func number(_ value: Int, _ count: Int) -> String {
      let text = String(value, radix: 2)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    bits += number(0x498342, 24) + "010" + "0" + number(width - 1, 16) + number(height - 1, 16) + "0000"
    return Self.bytes(bits) + [fill, fill]
  }

  /// A VP9 frame that refers to others of its size.
  static func vp9Delta(fill: UInt8 = 2) -> [UInt8] {
    bytes("10" + "00" + "0" + "1" + "1" + "0" + "00" + "00000001" + "000000000000" + "1" + "0") + [fill, fill]
  }

  static func bytes(_ bits: String) -> [UInt8] {
    var result: [UInt8] = []
    for (index, bit) in bits.enumerated() {
      if index % 8 == 0 { result.append(0) }
      if bit == "1" { result[index / 8] |= 0x80 >> UInt8(index % 8) }
    }
    return result
  }

  @Test func readsTheDescriptorOfVP9InBothModes() throws {
    func parse(_ bytes: [UInt8]) -> VideoPayload? { bytes.withUnsafeBytes { VP9Depacketizer.parse($0) } }
    // Non-flexible: picture 0x1234, layer T1 U S0, TL0PICIDX 9, a structure of two layers and one picture.
    let structure = hex("38 0040 0030 0080 0060 01 04 01")
    let key = try #require(parse(hex("aa 9234 30 09") + structure + Self.vp9Key()))
    #expect(key.start == .always && key.isKeyframe && key.startsPart)
    #expect(key.pictureID == 0x1234 && key.hasLongPictureID && key.temporalLayer == 1 && key.isLayerSync)
    #expect(key.baseLayerIndex == 9 && key.headerCount == 5 + structure.count)
    // Flexible: a short identifier, layer S1 that needs no lower one, two references.
    let delta = try #require(parse(hex("fc 07 02 03 04") + hex("") + Self.vp9Delta()))
    #expect(delta.start == .unlessContinued && !delta.isKeyframe && delta.headerCount == 5 && delta.pictureID == 7)
    let dependent = try #require(parse(hex("a8 07 03 01") + Self.vp9Delta()))
    #expect(dependent.start == .afterAnother && dependent.baseLayerIndex == 1)
    let middle = try #require(parse(hex("a0 07 00 01 ffff")))
    #expect(middle.start == .never && !middle.startsPart)
    // Cut short anywhere.
    let whole = hex("aa 9234 30 09") + structure + Self.vp9Key()
    for count in 0..<whole.count - 3 {
      if let payload = parse(Array(whole[..<count])) { #expect(payload.headerCount < count) }
    }
    #expect(parse(hex("02 ff 00")) == nil)
    // The frame itself may be encrypted: the descriptor says that it is a keyframe.
    #expect(parse(hex("88 07") + hex("ff ff ff ff ff"))?.isKeyframe == true)
    #expect(parse(hex("c8 07") + Self.vp9Key())?.isKeyframe == false)
  }

  @Test func layersOfAPictureAreOneSuperframe() throws {
    var stream = Stream(.vp9)
    let key = Self.vp9Key()
    let upper = Self.vp9Delta(fill: 7)
    let frames = try stream.put(
      [hex("ac 01 00 05") + key, hex("ac 01 03 05") + upper], at: 0)
    let frame = try #require(frames.first)
    #expect(frame.isKeyframe && frame.layerCount == 2)
    let parts = try #require(VP9Superframe.frames(frame.payload.bytes))
    #expect(parts.map(Array.init) == [key, upper])
    // From now on the upper layer comes alone: its pictures begin behind another's.
    let alone = try stream.put([hex("ec 02 02 05") + upper], at: 3000)
    #expect(alone.map(\.payload.array) == [upper] && alone.map(\.layerCount) == [1])
    #expect(!stream.buffer.needsKeyframe)
  }

  @Test func aLayerThatNeedsALowerOneIsNotTakenForAPicture() throws {
    var stream = Stream(.vp9)
    _ = try stream.put([hex("ac 01 00 05") + Self.vp9Key()], at: 0)
    let frames = try stream.put(
      [hex("ec 02 00 06") + Self.vp9Delta(), hex("ec 02 03 06") + Self.vp9Delta()], at: 3000, losing: [0])
    #expect(frames.isEmpty)
    let next = try stream.put([hex("ec 03 02 07") + Self.vp9Delta()], at: 6000, now: .milliseconds(500))
    #expect(next.isEmpty)
    #expect(stream.buffer.needsKeyframe)
  }

  // 64x48, constrained baseline.
  static let sps = hex("67 42c00ada11ec04400000030040 00000f03c489a8")
  static let pps = hex("68 ce031c80")

  @Test func readsTheSizeInAParameterSet() throws {
    let set = try #require(Self.sps.withUnsafeBytes { H264SequenceParameters($0) })
    #expect(set.width == 64 && set.height == 48)
    for count in 0..<7 {
      #expect(Self.sps[..<count].withUnsafeBytes { H264SequenceParameters($0) } == nil)
    }
  }

  @Test func joinsSingleUnitsAggregatesAndFragments() throws {
    var stream = Stream(.h264)
    let code: [UInt8] = [0, 0, 0, 1]
    let aggregate = [0x78, 0, UInt8(Self.sps.count)] + Self.sps + [0, UInt8(Self.pps.count)] + Self.pps
    let frames = try stream.put(
      [aggregate, hex("7c 85 88 84"), hex("7c 05 aa bb"), hex("7c 45 cc")], at: 0)
    let frame = try #require(frames.first)
    #expect(frame.payload.array == code + Self.sps + code + Self.pps + code + hex("65 88 84 aa bb cc"))
    #expect(frame.isKeyframe && frame.width == 64 && frame.height == 48)
    let delta = try stream.put([hex("41 9a 01 02")], at: 3000)
    #expect(delta.map(\.payload.array) == [code + hex("41 9a 01 02")])
    // The marker is missing: the next picture's begin ends this one.
    #expect(try stream.put([hex("41 9a 03")], at: 6000, marker: false).isEmpty)
    #expect(try stream.put([hex("41 9a 04")], at: 9000).count == 2)
  }

  @Test func parameterSetsOfTheDescriptionStandBeforeKeyframesWithoutTheirOwn() throws {
    let sets = H264Depacketizer.parameterSets("Z0LACtoR7ARAAAADAEAAAA8DxImo,aM4DHIA=")
    #expect(sets == [0, 0, 0, 1] + Self.sps + [0, 0, 0, 1] + Self.pps)
    #expect(H264Depacketizer.parameterSets("Z0LA,!").isEmpty && H264Depacketizer.parameterSets("AAAA").isEmpty)
    var stream = Stream(.h264)
    stream.buffer.parameterSets = sets
    _ = try stream.put([hex("41 9a 01")], at: 0)
    let frames = try stream.put([hex("65 88 84 01")], at: 3000)
    #expect(frames.map(\.payload.array) == [sets + [0, 0, 0, 1] + hex("65 88 84 01")])
  }

  static let brokenUnits: [Broken] = [
    Broken("a fragment is lost", ["7c 85 88", "7c 05 aa", "7c 45 cc"], lost: 1),
    Broken("the begin of a unit is lost", ["7c 85 88", "7c 45 cc"], lost: 0),
    Broken("a unit never ends", ["7c 85 88", "7c 05 aa"]),
    Broken("another unit begins before the end", ["7c 85 88", "7c 85 88", "7c 45 cc"]),
    Broken("a fragment of another unit", ["7c 85 88", "7c 41 cc"]),
    Broken("a single unit among fragments", ["7c 85 88", "65 88"]),
    Broken("a size that lies", ["78 00 09 65 88"]),
    Broken("a size of nothing", ["78 00 00"]),
    Broken("a server's own picture, behind it the trailer of an encrypted room", ["78 00 02 65 88 33 41 7a 42"]),
    Broken("interleaving", ["79 00 00 00 02 65 88"]),
  ]

  /// Packets that make no frame, and whatever they are: nothing is handed out, a keyframe is asked for, the next one is
  /// whole.
  @Test(arguments: brokenUnits) func brokenAccessUnitsAreDropped(broken: Broken) throws {
    var stream = Stream(.h264)
    let key = [Self.sps, Self.pps, hex("65 88 84")]
    #expect(try stream.put(key, at: 0).count == 1)
    #expect(try stream.put(broken.payloads.map(hex), at: 3000, losing: broken.lost).isEmpty, "\(broken.what)")
    #expect(try stream.put([hex("41 9a 01")], at: 6000, now: .milliseconds(500)).isEmpty, "\(broken.what)")
    #expect(stream.buffer.needsKeyframe, "\(broken.what)")
    let next = try stream.put(key, at: 9000, now: .milliseconds(600))
    #expect(next.map(\.isKeyframe) == [true] && next.first?.followsLoss == true, "\(broken.what)")
  }

  // A reduced sequence header would be shorter; this one is libaom's: 64x48.
  static let sequenceHeader = hex("0a 0a 00000002aff79b5f2008")

  @Test func readsTheSizeInASequenceHeader() throws {
    let unit = try #require(Self.sequenceHeader.withUnsafeBytes { AV1OBU($0).map { AV1SequenceHeader($0.payload) } })
    #expect(unit?.width == 64 && unit?.height == 48)
  }

  @Test func joinsUnitsOfAV1AndWritesTheirSizes() throws {
    var stream = Stream(.av1)
    // The header without its size, and a frame in three parts over two packets.
    let header = [0x08] + Self.sequenceHeader[2...]
    let first = [UInt8(0x68), UInt8(header.count)] + header + hex("30 1122")
    let frames = try stream.put([first, hex("d0 3344"), hex("90 55")], at: 0)
    let frame = try #require(frames.first)
    #expect(frame.payload.array == hex("1200") + Self.sequenceHeader + hex("32 05 1122334455"))
    #expect(frame.isKeyframe && frame.width == 64)
    let delta = try stream.put([hex("10 30 aa")], at: 3000)
    #expect(delta.map(\.payload.array) == [hex("1200 32 01 aa")])
  }

  static let brokenElements: [Broken] = [
    Broken("a part is lost", ["50 30 11", "d0 22", "90 33"], lost: 1),
    Broken("a unit never ends", ["50 30 11"]),
    Broken("a part without its begin", ["90 33"]),
    Broken("a begin within a unit", ["50 30 11", "10 30 22"]),
    Broken("a size that lies", ["00 7f 30"]),
    Broken("a size without end", ["00 ffffffffffffffffff 30"]),
    Broken("a sequence in the middle of a unit", ["98 30"]),
  ]

  @Test(arguments: brokenElements) func brokenTemporalUnitsAreDropped(broken: Broken) throws {
    var stream = Stream(.av1)
    let header = [0x08] + Self.sequenceHeader[2...]
    let key = [[UInt8(0x28), UInt8(header.count)] + header + hex("30 1122")]
    #expect(try stream.put(key, at: 0).count == 1)
    #expect(try stream.put(broken.payloads.map(hex), at: 3000, losing: broken.lost).isEmpty, "\(broken.what)")
    #expect(try stream.put([hex("10 30 aa")], at: 6000, now: .milliseconds(500)).isEmpty, "\(broken.what)")
    #expect(stream.buffer.needsKeyframe, "\(broken.what)")
    #expect(try stream.put(key, at: 9000, now: .milliseconds(600)).map(\.isKeyframe) == [true], "\(broken.what)")
  }

  @Test func superframesThatContradictThemselvesAreNone() {
    func frames(_ bytes: [UInt8]) -> [[UInt8]]? {
      bytes.withUnsafeBytes { VP9Superframe.frames($0).map { $0.map(Array.init) } }
    }
    #expect(frames([]) == nil)
    #expect(frames([1, 2, 3]) == [[1, 2, 3]])
    #expect(frames([1, 2, 3] + VP9Superframe.index([1, 2])) == [[1], [2, 3]])
    #expect(frames([1, 2, 3] + VP9Superframe.index([1, 3])) == nil)
    #expect(frames([0xc1]) == nil)
  }
}
