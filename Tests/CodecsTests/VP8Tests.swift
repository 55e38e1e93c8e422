import Codecs
import MediaCore
import Synthetic
import Testing

/// A picture with slopes and an edge, so that planes and rows can't be mistaken for one another.
func pattern(width: Int, height: Int, shift: Int = 0) -> Picture {
  let picture = Picture(width: width, height: height)
  for row in 0..<picture.height {
    for column in 0..<picture.width {
      let value = 60 + (column + shift) * 80 / max(1, width) + row * 60 / max(1, height)
      picture.y[row * picture.strideY + column] = UInt8(truncatingIfNeeded: value)
    }
  }
  for row in 0..<picture.chromaHeight {
    for column in 0..<picture.chromaWidth {
      picture.u[row * picture.strideUV + column] = UInt8(truncatingIfNeeded: 90 + row * 40 / picture.chromaHeight)
      picture.v[row * picture.strideUV + column] = UInt8(truncatingIfNeeded: 150 - column * 40 / picture.chromaWidth)
    }
  }
  return picture
}

/// Peak signal-to-noise ratio of all planes, as the mean squared error.
func meanSquaredError(_ a: Picture, _ b: Picture) -> Double {
  guard a.width == b.width, a.height == b.height else { return .infinity }
  var sum = 0
  func plane(
    _ p: UnsafeMutablePointer<UInt8>, _ q: UnsafeMutablePointer<UInt8>, _ width: Int, _ height: Int,
    _ strides: (Int, Int)
  ) {
    for row in 0..<height {
      for column in 0..<width {
        let d = Int(p[row * strides.0 + column]) - Int(q[row * strides.1 + column])
        sum += d * d
      }
    }
  }
  plane(a.y, b.y, a.width, a.height, (a.strideY, b.strideY))
  plane(a.u, b.u, a.chromaWidth, a.chromaHeight, (a.strideUV, b.strideUV))
  plane(a.v, b.v, a.chromaWidth, a.chromaHeight, (a.strideUV, b.strideUV))
  return Double(sum) / Double(a.width * a.height + 2 * a.chromaWidth * a.chromaHeight)
}

extension VP8Decoder {
  func picture(_ bytes: [UInt8], _ pool: inout PicturePool) throws(CodecError) -> Picture? {
    let buffer = MediaBuffer(bytes)
    return try decode(buffer.bytes, into: &pool)
  }
}

private func stream(width: Int, height: Int, frames: Int) throws -> [[UInt8]] {
  let encoder = try VPXEncoder(.vp8, width: width, height: height, framesPerSecond: 30, bitrate: 500_000)
  return try (0..<frames).map {
    try encoder.frame(pattern(width: width, height: height, shift: $0), pts: Int64($0) * 3000).bytes
  }
}

@Suite struct VP8Tests {
  @Test func aPictureStaysAsItIsWhileTheNextIsDecoded() throws {
    let frames = try stream(width: 160, height: 90, frames: 12)
    let decoder = VP8Decoder()
    var pool = PicturePool()
    let first = try #require(try decoder.picture(frames[0], &pool))
    let copy = Picture(width: 160, height: 90)
    for row in 0..<copy.height {
      (copy.y + row * copy.strideY).update(from: first.y + row * first.strideY, count: 160)
    }
    for row in 0..<copy.chromaHeight {
      (copy.u + row * copy.strideUV).update(from: first.u + row * first.strideUV, count: 80)
      (copy.v + row * copy.strideUV).update(from: first.v + row * first.strideUV, count: 80)
    }
    for frame in frames.dropFirst() { _ = try decoder.picture(frame, &pool) }
    #expect(meanSquaredError(first, copy) == 0)
    // Also when the decoder is thrown away and its memory used again.
    decoder.reset()
    for frame in frames { _ = try VP8Decoder().picture(frame, &pool) }
    #expect(meanSquaredError(first, copy) == 0)
  }

  @Test func theSizeMayChangeAtEveryKeyframe() throws {
    let decoder = VP8Decoder()
    var pool = PicturePool()
    for (width, height) in [(160, 90), (320, 180), (8, 8), (641, 361), (90, 160), (16, 16)] {
      for frame in try stream(width: width, height: height, frames: 2) {
        let picture = try #require(try decoder.picture(frame, &pool))
        #expect(picture.width == width && picture.height == height)
      }
    }
    #expect(!decoder.needsKeyframe)
  }

  @Test func sizesBeyondTheCapAreRefusedBeforeDecoding() throws {
    let decoder = VP8Decoder(sizeCap: .init(width: 320, height: 180))
    var pool = PicturePool()
    #expect(throws: CodecError.self) { try decoder.picture(stream(width: 336, height: 180, frames: 1)[0], &pool) }
    #expect(decoder.needsKeyframe)
    #expect(try decoder.picture(stream(width: 180, height: 320, frames: 1)[0], &pool) != nil)
    // Ten bytes that claim the largest picture that VP8 knows.
    let bomb: [UInt8] = [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0xff, 0x3f, 0xff, 0x3f]
    let error = #expect(throws: CodecError.self) { try VP8Decoder().picture(bomb, &pool) }
    #expect(error?.reason == .tooLarge)
  }

  @Test func decodingBeginsAtAKeyframe() throws {
    let frames = try stream(width: 160, height: 90, frames: 3)
    let decoder = VP8Decoder()
    var pool = PicturePool()
    #expect(decoder.needsKeyframe)
    #expect(try decoder.picture(frames[1], &pool) == nil)
    #expect(decoder.skippedFrames == 1)
    #expect(try decoder.picture(frames[0], &pool) != nil)
    #expect(try decoder.picture(frames[1], &pool) != nil)
  }

  @Test func anErrorLeadsToTheNextKeyframe() throws {
    let frames = try stream(width: 160, height: 90, frames: 3)
    let decoder = VP8Decoder()
    var pool = PicturePool()
    _ = try decoder.picture(frames[0], &pool)
    let error = #expect(throws: CodecError.self) { try decoder.picture(Array(frames[1].prefix(4)), &pool) }
    #expect(error?.library == .libavcodec && error?.reason == .malformed)
    #expect(decoder.needsKeyframe)
    #expect(try decoder.picture(frames[2], &pool) == nil)
    #expect(try decoder.picture(frames[0], &pool) != nil)
    #expect(!decoder.needsKeyframe)
  }

  @Test func truncatedFramesNeverTrap() throws {
    let frames = try stream(width: 64, height: 48, frames: 2)
    var pool = PicturePool()
    for frame in frames {
      for length in 0..<frame.count {
        let decoder = VP8Decoder()
        _ = try decoder.picture(frames[0], &pool)
        _ = try? decoder.picture(Array(frame.prefix(length)), &pool)
        #expect(try decoder.picture(frames[0], &pool) != nil)
      }
    }
  }

  @Test(arguments: 0..<20)
  func mutatedFramesNeverTrap(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let frames = try stream(width: 96, height: 64, frames: 4)
    let decoder = VP8Decoder(sizeCap: .init(width: 640, height: 480))
    var pool = PicturePool()
    for _ in 0..<200 {
      var frame = frames[Int(random.next() % 4)]
      for _ in 0..<(random.next() % 6) {
        frame[Int(random.next() % UInt64(frame.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      if random.next() % 4 == 0 { frame.removeLast(Int(random.next() % UInt64(frame.count))) }
      if random.next() % 8 == 0 { frame = (0..<(random.next() % 64)).map { _ in UInt8(random.next() % 256) } }
      _ = try? decoder.picture(frame, &pool)
    }
    #expect(try decoder.picture(frames[0], &pool) != nil, "seed \(seed)")
  }
}
