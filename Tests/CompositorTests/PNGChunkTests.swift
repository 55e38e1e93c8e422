import Glibc
import Testing

@testable import Compositor

/// What a PNG may bring besides its picture: texts that unpack to a thousand times their size.
@Suite struct PNGChunkTests {
  /// Bits of a deflate stream, the first in the lowest place (RFC 1951, section 3.1.1).
  private struct BitWriter {
    var bytes: [UInt8] = []
    private var word: UInt32 = 0
    private var count: UInt32 = 0

    /// The lowest `width` bits; `reversed` for Huffman codes.
    mutating func write(_ value: UInt32, _ width: UInt32, reversed: Bool = false) {
      for bit in 0..<width {
        word |= (value >> (reversed ? width - 1 - bit : bit) & 1) << count
        count += 1
        if count == 8 {
          bytes.append(UInt8(truncatingIfNeeded: word))
          (word, count) = (0, 0)
        }
      }
    }

    mutating func flush() { while count > 0 { write(0, 1) } }
  }

  /// Zlib's form (RFC 1950) of so many equal letters, about a 160th as long.
  private static func packed(letters count: Int) -> [UInt8] {
    var bits = BitWriter()
    bits.write(1, 1)
    bits.write(1, 2)
    bits.write(0x30 + 0x61, 8, reversed: true)
    for _ in 0..<(count - 1) / 258 {
      bits.write(0b1100_0101, 8, reversed: true)
      bits.write(0, 5)
    }
    bits.write(0, 7)
    bits.flush()
    var (low, high): (UInt32, UInt32) = (1, 0)
    for _ in 0..<(count - 1) / 258 * 258 + 1 {
      low = (low + 0x61) % 65_521
      high = (high + low) % 65_521
    }
    return [0x78, 0x01] + bits.bytes + big(high << 16 | low)
  }

  private static func big(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    var crc: UInt32 = .max
    for byte in body {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 != 0 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
    }
    return big(UInt32(data.count)) + body + big(~crc)
  }

  /// A PNG of the test pictures with chunks put in behind its first.
  private static func image(with chunks: [UInt8]) throws -> [UInt8] {
    let plain = try ImageTests.png()
    return plain[..<33] + chunks + plain[33...]
  }

  private static func peak() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss / 1024
  }

  /// 4 MiB of such texts took four gigabytes and half a minute.
  @Test func textsAreNotUnpacked() throws {
    let text = Self.packed(letters: 7_990_000)
    let texts = (0..<70).flatMap { Self.chunk("zTXt", Array("k\($0)".utf8) + [0, 0] + text) }
    let bytes = try Self.image(with: texts)
    #expect(bytes.count < ImageStore.maximumBytes)
    let before = Self.peak()
    let image = try ImageForm.square(48).load(bytes)
    #expect(image.drawing?.width == 48)
    #expect(Self.peak() - before < 300, "MiB")
    #expect(try ImageDecoder.pictureChunks(of: bytes) == ImageDecoder.pictureChunks(of: ImageTests.png()))
  }

  @Test func whatMakesThePictureStays() throws {
    let plain = try ImageTests.png()
    let kept = try #require(ImageDecoder.pictureChunks(of: plain + [1, 2, 3]))
    #expect(kept.starts(with: plain[..<33]) && kept.suffix(12) == plain.suffix(12))
    let transparent = try Self.image(with: Self.chunk("tRNS", [0, 1]) + Self.chunk("gAMA", [0, 0, 0, 1]))
    let chunks = try #require(ImageDecoder.pictureChunks(of: transparent))
    #expect(chunks.count == kept.count + 14)
    // Cut off anywhere, it is damaged.
    for count in stride(from: 0, to: plain.count, by: 7) {
      #expect(ImageDecoder.pictureChunks(of: Array(plain[..<count])) == nil)
      #expect(throws: ImageError.self) { try ImageForm.square(8).load(Array(plain[..<count])) }
    }
    var long = plain
    long.replaceSubrange(33..<37, with: [0xff, 0xff, 0xff, 0xff])
    #expect(ImageDecoder.pictureChunks(of: long) == nil)
  }
}
