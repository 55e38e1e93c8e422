import MediaCore
import Testing

@testable import RTP

/// What the depacketizer of H.265 makes of packets, and what the jitter buffer makes of its frames.
@Suite struct H265DepacketizerTests {
  typealias Stream = DepacketizerTests.Stream
  typealias Broken = DepacketizerTests.Broken

  // libx265's, of 64x48.
  static let vps = hex("4001 0c01ffff01600000030090000003000003001eba0240")
  static let sps = hex("4201 010160000003009000000300000300 1ea02083165ba5bc2e68080000030008000003 00f040")
  static let pps = hex("4401 c0718312")

  @Test func readsTheSizeInAParameterSet() throws {
    func read(_ count: Int) -> H265SequenceParameters? {
      Self.sps[2..<count].withUnsafeBytes { H265SequenceParameters($0) }
    }
    let set = try #require(read(Self.sps.count))
    #expect(set.width == 64 && set.height == 48)
    for count in 2..<20 { #expect(read(count) == nil, "\(count)") }
  }

  @Test func joinsSingleUnitsAggregatesAndFragments() throws {
    var stream = Stream(.h265)
    let code: [UInt8] = [0, 0, 0, 1]
    var aggregate: [UInt8] = hex("6001")
    for set in [Self.vps, Self.sps, Self.pps] { aggregate += [0, UInt8(set.count)] + set }
    let frames = try stream.put([aggregate, hex("6201 94 ac65"), hex("6201 14 aabb"), hex("6201 54 cc")], at: 0)
    let frame = try #require(frames.first)
    #expect(
      frame.payload.array == code + Self.vps + code + Self.sps + code + Self.pps + code + hex("2801 ac65 aabb cc"))
    #expect(frame.isKeyframe && frame.width == 64 && frame.height == 48)
    let delta = try stream.put([hex("0201 d009")], at: 3000)
    #expect(delta.map(\.payload.array) == [code + hex("0201 d009")])
    // Two slices of one picture: only the first says that it is.
    #expect(try stream.put([hex("0201 d009"), hex("0201 5009")], at: 6000).count == 1)
    // The marker is missing: the next picture's begin ends this one.
    #expect(try stream.put([hex("0201 d010")], at: 9000, marker: false).isEmpty)
    #expect(try stream.put([hex("0201 d011")], at: 12_000).count == 2)
  }

  static let broken: [Broken] = [
    Broken("a fragment is lost", ["6201 94 88", "6201 14 aa", "6201 54 cc"], lost: 1),
    Broken("the begin of a unit is lost", ["6201 94 88", "6201 54 cc"], lost: 0),
    Broken("a unit never ends", ["6201 94 88", "6201 14 aa"]),
    Broken("another unit begins before the end", ["6201 94 88", "6201 94 88", "6201 54 cc"]),
    Broken("a fragment of another unit", ["6201 94 88", "6201 41 cc"]),
    Broken("a fragment of another layer", ["6201 94 88", "6209 54 cc"]),
    Broken("a single unit among fragments", ["6201 94 88", "2801 88"]),
    Broken("a fragment of nothing", ["6201 94"]),
    Broken("a size that lies", ["6001 0009 2801 88"]),
    Broken("a size of nothing", ["6001 0000"]),
    Broken("an aggregate of nothing", ["6001"]),
    Broken("a header cut short", ["28"]),
    Broken("a payload content information packet", ["6401 0000 2801 88"]),
  ]

  /// Packets that make no frame: nothing is handed out, a keyframe is asked for, the next one is whole.
  @Test(arguments: broken) func brokenAccessUnitsAreDropped(broken: Broken) throws {
    var stream = Stream(.h265)
    let key = [Self.vps, Self.sps, Self.pps, hex("2801 ac65")]
    #expect(try stream.put(key, at: 0).count == 1)
    #expect(try stream.put(broken.payloads.map(hex), at: 3000, losing: broken.lost).isEmpty, "\(broken.what)")
    #expect(try stream.put([hex("0201 d009")], at: 6000, now: .milliseconds(500)).isEmpty, "\(broken.what)")
    #expect(stream.buffer.needsKeyframe, "\(broken.what)")
    let next = try stream.put(key, at: 9000, now: .milliseconds(600))
    #expect(next.map(\.isKeyframe) == [true] && next.first?.followsLoss == true, "\(broken.what)")
  }
}
