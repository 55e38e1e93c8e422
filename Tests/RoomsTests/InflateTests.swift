import MediaCore
import Testing

@testable import Rooms

@Suite struct InflateTests {
  /// Made with zlib: the three kinds of blocks of RFC 1951.
  static let packed: [(name: String, hex: String, text: String)] = [
    ("fixed", "f348cdc9c9d751c840a21415dc8b0eef393c3f550f00", "Hello, hello, hello! Grüße."),
    ("stored", "010800f7ff6173206974206973", "as it is"),
    (
      "dynamic",
      "95d03d0a02311080d1abcc012c367f33133ccd8a11c165031ad8eb5ba5cfd7bfead52a8f3ec6d17ed25ff268ed2bfd94f16e72edc77193"
        + "b17f9a0479f6ebbc4bf505bc4d6c0b5827d6055c262e0b384f9c17709a382de03871247581d46da0ce2ba87307756ea0ce15d47901759e"
        + "419d275217495d20751ba8b30aeacc419d19a833057556409d65506789d445521748dd06eab4823a7550a706ea54419d1650a719d46922"
        + "7591d485f5ba3f",
      (61...99).reversed().map { "\($0) bottles of beer on the wall, take \($0 % 7) down;" }.joined(separator: " ")
    ),
  ]

  static func bytes(_ hex: String) -> [UInt8] {
    var rest = Substring(hex)
    var result: [UInt8] = []
    while rest.count >= 2 {
      result.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return result
  }

  @Test(arguments: packed) func everyKindOfBlockIsUnpacked(_ example: (name: String, hex: String, text: String)) {
    let result = Inflate.unpack(Self.bytes(example.hex), limit: 65_536)
    #expect(result.map { String(decoding: $0.bytes, as: UTF8.self) } == example.text)
    #expect(result?.isCut == false)
  }

  @Test func noMoreIsMadeThanIsWanted() {
    // A hundred thousand zeros in 135 bytes.
    let bomb = Self.bytes("edc13101000000c2a0f54f6d0d0fa0" + String(repeating: "00", count: 116) + "805703")
    let result = Inflate.unpack(bomb, limit: 1000)
    #expect(result?.bytes == [UInt8](repeating: 0, count: 1000))
    #expect(result?.isCut == true)
    let text = Inflate.unpack(Self.bytes(Self.packed[1].hex), limit: 2)
    #expect(text?.bytes == Array("as".utf8) && text?.isCut == true)
    #expect(Inflate.unpack(Self.bytes(Self.packed[1].hex), limit: 8)?.isCut == false)
  }

  @Test func whatIsCutOffOrDamagedGivesNothingWrong() {
    for example in Self.packed {
      let whole = Self.bytes(example.hex)
      for count in 0..<whole.count { #expect(Inflate.unpack(Array(whole[..<count]), limit: 65_536) == nil) }
      var random = SeededRandom(seed: 7)
      for _ in 0..<2000 {
        var damaged = whole
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          damaged[Int.random(in: 0..<damaged.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        #expect(Inflate.unpack(damaged, limit: 4096)?.bytes.count ?? 0 <= 4096)
      }
    }
    for kind in 0...255 { #expect(Inflate.unpack([UInt8(kind)], limit: 10)?.bytes == nil) }
  }
}
