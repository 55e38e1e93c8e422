import Codecs
import MediaCore
import Testing

/// Frames that show the one before again, and that neither the encoder nor a decoder has to remember.
@Suite struct RepetitionTests {
  /// Decodes into a picture of its own.
  private func decode(_ decoder: any VideoDecoder, _ bytes: [UInt8], isKeyframe: Bool, _ pool: inout PicturePool) throws
    -> Picture
  {
    let buffer = MediaBuffer(bytes)
    return try #require(try decoder.decode(buffer.bytes, isKeyframe: isKeyframe, into: &pool))
  }

  private func isSame(_ a: Picture, _ b: Picture) -> Bool {
    func rows(_ picture: Picture) -> [[UInt8]] {
      func plane(_ base: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) -> [[UInt8]] {
        (0..<height).map { Array(UnsafeBufferPointer(start: base + $0 * stride, count: width)) }
      }
      return plane(picture.y, picture.strideY, picture.width, picture.height)
        + plane(picture.u, picture.strideUV, picture.chromaWidth, picture.chromaHeight)
        + plane(picture.v, picture.strideUV, picture.chromaWidth, picture.chromaHeight)
    }
    return rows(a) == rows(b)
  }

  @Test(
    arguments: [RecordingCodec.vp8, .vp9], [(640, 360), (8, 8), (17, 33), (16, 240), (350, 16)])
  func whatIsRepeatedIsTheSameAndLeavesNoTrace(codec: RecordingCodec, size: (width: Int, height: Int)) throws {
    let (width, height) = size
    let encoder = try VideoEncoders.make(
      codec, width: width, height: height, framesPerSecond: 30, bitrate: 800_000, keyframeInterval: 25)
    #expect(encoder.repetition == nil)
    let with = try #require(VideoDecoders.make(codec.codec))
    let without = try #require(VideoDecoders.make(codec.codec))
    var pools = (PicturePool(), PicturePool())
    var random = SeededRandom(seed: UInt64(width))
    var shift = 0
    for index in 0..<80 {
      // Stretches that move, and stretches that stand still, of which the encoder makes segments.
      if index / 20 % 2 == 0 { shift += Int.random(in: 0...2, using: &random) }
      let source = pattern(width: width, height: height, shift: shift)
      let frame = try encoder.frame(source, pts: Int64(index) * 3000, forceKeyframe: index == 33)
      let shown = try decode(with, frame.bytes, isKeyframe: frame.key, &pools.0)
      let reference = try decode(without, frame.bytes, isKeyframe: frame.key, &pools.1)
      #expect(isSame(shown, reference), "frame \(index)")
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let repetition = try #require(encoder.repetition)
        #expect(repetition.count < 60 + width * height / 5000)
        #expect(isSame(try decode(with, repetition, isKeyframe: false, &pools.0), reference), "after frame \(index)")
      }
    }
  }

  @Test func whatHasNoneSaysSo() throws {
    let encoder = try VideoEncoders.make(.av1, width: 64, height: 64, framesPerSecond: 30, bitrate: 100_000)
    _ = try encoder.frame(pattern(width: 64, height: 64), pts: 0)
    #expect(encoder.repetition == nil)
  }
}
