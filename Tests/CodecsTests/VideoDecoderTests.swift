import Codecs
import MediaCore
import Testing

/// The decoders of codecs that others send: VP9, H.264, H.265, AV1.
@Suite struct VideoDecoderTests {
  static let streams: [(Codec, [[UInt8]])] = [
    (.vp9, Streams.vp9), (.h264, Streams.h264), (.h265, Streams.h265), (.av1, Streams.av1),
  ]

  private func picture(
    _ decoder: any VideoDecoder, _ bytes: [UInt8], isKeyframe: Bool, _ pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    let buffer = MediaBuffer(bytes)
    return try decoder.decode(buffer.bytes, isKeyframe: isKeyframe, into: &pool)
  }

  /// How bright the left and the right half are.
  private func luma(_ picture: Picture) -> [Int] {
    [0, picture.width / 2].map { start in
      var sum = 0
      for row in 0..<picture.height {
        for column in start..<(start + picture.width / 2) { sum += Int(picture.y[row * picture.strideY + column]) }
      }
      return sum / (picture.height * picture.width / 2)
    }
  }

  @Test func everyCodecOfPicturesHasADecoder() {
    for row in CodecTable.rows where row.kind == .video {
      #expect(VideoDecoders.make(row.codec) != nil, "\(row.title)")
    }
    #expect(VideoDecoders.make(.opus) == nil)
  }

  @Test(arguments: streams) func decodesWhatOthersEncode(codec: Codec, frames: [[UInt8]]) throws {
    let decoder = try #require(VideoDecoders.make(codec))
    var pool = PicturePool()
    var seen: [[Int]] = []
    for (number, frame) in frames.enumerated() {
      let picture = try #require(try picture(decoder, frame, isKeyframe: number == 0, &pool), "\(codec) \(number)")
      #expect(picture.width == 64 && picture.height == 48)
      seen.append(luma(picture))
      #expect(!decoder.needsKeyframe)
    }
    // The same picture in all codecs, but for their losses: the test card's halves.
    let card = [96, 154]
    for halves in seen { for (half, expected) in zip(halves, card) { #expect(abs(half - expected) < 25, "\(halves)") } }
  }

  /// Whatever way a stream says that its colours are meant, its picture means the same as all others.
  @Test(arguments: Streams.coloured) func coloursAreThoseOfTheStream(
    codec: Codec, colours: String, frame: [UInt8]
  ) throws {
    let decoder = try #require(VideoDecoders.make(codec))
    var pool = PicturePool()
    let picture = try #require(try picture(decoder, frame, isKeyframe: true, &pool))
    #expect(picture.width == 66 && picture.height == 34)
    // (32, 192, 32) by BT.601, limited range.
    for (name, plane, stride, columns, rows, expected) in [
      ("y", picture.y, picture.strideY, 66, 34, 124), ("u", picture.u, picture.strideUV, 33, 17, 82),
      ("v", picture.v, picture.strideUV, 33, 17, 69),
    ] {
      for row in 0..<rows {
        for column in 0..<columns {
          let sample = Int(plane[row * stride + column])
          #expect(abs(sample - expected) <= 3, "\(name) \(row),\(column): \(sample)")
        }
      }
    }
  }

  @Test(arguments: streams) func passesOverWhatComesBeforeAKeyframe(codec: Codec, frames: [[UInt8]]) throws {
    let decoder = try #require(VideoDecoders.make(codec))
    var pool = PicturePool()
    #expect(try picture(decoder, frames[1], isKeyframe: false, &pool) == nil)
    #expect(decoder.needsKeyframe)
    #expect(try picture(decoder, frames[0], isKeyframe: true, &pool) != nil)
    decoder.reset()
    #expect(decoder.needsKeyframe)
    #expect(try picture(decoder, frames[1], isKeyframe: false, &pool) == nil)
  }

  @Test(arguments: streams) func refusesPicturesBeyondItsCap(codec: Codec, frames: [[UInt8]]) throws {
    // Rounded up to whole blocks no larger memory than this is taken; what fits into them is refused when it comes out.
    let decoder = try #require(VideoDecoders.make(codec, sizeCap: SizeCap(width: 32, height: 32)))
    var pool = PicturePool()
    #expect(throws: CodecError.self) { try picture(decoder, frames[0], isKeyframe: true, &pool) }
    #expect(decoder.needsKeyframe)
  }

  /// Pictures of 16384x16384 that a few bytes claim.
  @Test func refusesBombsBeforeMemoryIsTaken() throws {
    var pool = PicturePool()
    // VP9: the sides of the keyframe's header; and of a second frame that hides behind the first.
    var bomb = Streams.vp9[0]
    // Sides of 65536: the header's bits 40 to 72 are ones.
    for bit in 36..<68 { bomb[bit / 8] |= 0x80 >> UInt8(bit % 8) }
    let vp9 = VP9Decoder()
    let error = #expect(throws: CodecError.self) { try picture(vp9, bomb, isKeyframe: true, &pool) }
    #expect(error?.reason == .tooLarge, "\(error?.description ?? "")")
    let hidden = Streams.vp9[0] + bomb
    _ = try? picture(vp9, hidden, isKeyframe: true, &pool)
    let both = hidden + VP9Superframe.index([Streams.vp9[0].count, bomb.count])
    #expect(throws: CodecError.self) { try picture(vp9, both, isKeyframe: true, &pool) }
    // H.264: a set of 1024x1024 macroblocks instead of 4x3, and the slice that uses it.
    let sets = Streams.h264[0]
    let slice = try #require(
      sets.indices.dropFirst(8).first { sets[$0..<min($0 + 5, sets.count)] == [0, 0, 0, 1, 0x65] })
    let set: [UInt8] = [
      0x67, 0x42, 0xc0, 0x3e, 0xda, 0x00, 0x10, 0x00, 0x00, 0x80, 0x19,
    ]
    #expect(set.withUnsafeBytes { H264SequenceParameters($0) }?.width == 16384)
    let huge = NALUnit.startCode + set
    let pps: [UInt8] = [0, 0, 0, 1, 0x68, 0xce, 0x03, 0x1c, 0x80]
    let h264 = LibavDecoder(.h264)
    let made = try? picture(h264, huge + pps + sets[slice...], isKeyframe: true, &pool)
    #expect(made == nil && h264.needsKeyframe)
  }

  /// Pictures of another form are refused by name; nothing of them reaches a recording.
  @Test(arguments: Streams.others) func namesTheFormThatIsNotShown(codec: Codec, form: String, frame: [UInt8]) throws {
    let decoder = try #require(VideoDecoders.make(codec))
    var pool = PicturePool()
    let error = #expect(throws: CodecError.self) { try picture(decoder, frame, isKeyframe: true, &pool) }
    #expect(error?.reason == .unsupported && error?.text == form, "\(error?.description ?? "")")
    #expect(decoder.needsKeyframe)
  }

  @Test func namesTheProfileOfVP9ThatIsNotShown() {
    // The profile's two bits stand behind the marker's; profile 1 is that of 4:4:4.
    var frame = Streams.vp9[0]
    frame[0] |= 0x20
    var pool = PicturePool()
    let error = #expect(throws: CodecError.self) { try picture(VP9Decoder(), frame, isKeyframe: true, &pool) }
    #expect(error?.reason == .unsupported && error?.text == "profile 1", "\(error?.description ?? "")")
  }

  /// Damaged frames: an error or a picture, never a trap, and the next keyframe is decoded.
  @Test(arguments: streams) func survivesDamage(codec: Codec, frames: [[UInt8]]) throws {
    let decoder = try #require(VideoDecoders.make(codec))
    var pool = PicturePool()
    var random = SystemRandomNumberGenerator()
    for round in 0..<200 {
      var frame = frames[round % frames.count]
      for _ in 0...(round % 5) { frame[Int.random(in: 0..<frame.count, using: &random)] = UInt8.random(in: 0...255) }
      if round % 7 == 0 { frame.removeLast(frame.count / 2) }
      _ = try? picture(decoder, frame, isKeyframe: round % 3 == 0, &pool)
    }
    decoder.reset()
    #expect(try picture(decoder, frames[0], isKeyframe: true, &pool)?.width == 64)
  }
}
