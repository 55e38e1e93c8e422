import FuzzTargets
import MediaCore
import Testing

@testable import RTP

/// The fuzz bodies over seeded input: random bytes, and well-formed packets with a few bytes changed, cut or doubled.
@Suite struct FuzzTests {
  static let samples: [[UInt8]] = [
    hex("b2 e0 fffe 01020304 0a0b0c0d 00000001 00000002 bede 0001 10aa 0000 c0ffee 0002"),
    hex("90 60 0001 00000002 00000003 1000 0003 07 00 00 80 04 a1a2a3a4 09 01 ff 90 f0 9234 56 a7 11 00"),
    hex("81c8000c0000000183aa7e80800000000001020300000010000000200000000240ffffff00010005000000077e80800000018000")
      + hex("81ca0003 00000001 01 02 6162 00 000000 81ce0002 00000001 00000002"),
    hex("8fcd0008 00000001 00000002 0005 0014 000001 09 2003 9000 e100 04 08 0c 10 fffc 02 00000000"),
    hex("8fce0005 00000001 00000000 52454d42 01 060000 00000002 84ce0004 00000001 00000000 00000002 03000000"),
    hex("81cd0004 00000001 00000002 0064 8001 0075 0000 82cb0002 00000001 00000002"),
    hex("90 f0 9234 56 a7 10 02 00 9d 01 2a 80 42 68 81 00"),
    hex("85 0f0002 ef 078003 6f aabb c1c2c3 d1d2"),
    hex("fffe 80 05 1010029d01 ffff c0 0c 8f 0f0002 ef 078003 6f aabb c1c2c3 0000 81 03 f8ffff 0001 02 01 10"),
  ]

  func input(_ random: inout SeededRandom) -> [UInt8] {
    if Int.random(in: 0..<4, using: &random) == 0 {
      return (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    var bytes = FuzzTests.samples.randomElement(using: &random) ?? []
    for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: bytes.removeSubrange(at...)
      case 3: bytes.insert(contentsOf: bytes[at...].prefix(8), at: at)
      default: bytes[at] = [0, 0xff, 0x7f, 0x80].randomElement(using: &random) ?? 0
      }
    }
    return bytes
  }

  @Test(arguments: 0..<5) func noInputTraps(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let depacketizers = [Codec.vp8, .vp9, .h264, .h265, .av1].map(fuzzDepacketizer) + [fuzzAudioDepacketizers]
    for round in 0..<10_000 {
      let bytes = input(&random)
      bytes.withUnsafeBytes {
        fuzzRTP($0)
        fuzzRTCP($0)
        // Slow without optimization: they set up buffers of their own for every input.
        if round % 10 == 0 {
          for body in depacketizers { body($0) }
        }
      }
    }
  }
}
