import Codecs
import MediaCore
import Synthetic
import Testing

/// Lower spatial layers that become hidden frames.
@Suite struct VP9LayerHidingTests {
  /// Two encoders' streams, as if they were two layers: a small picture, and a large one that refers to none of it.
  private static func layers(frames: Int) throws -> [(small: [UInt8], large: [UInt8])] {
    let small = try VPXEncoder(.vp9, width: 160, height: 90, framesPerSecond: 30, bitrate: 200_000)
    let large = try VPXEncoder(.vp9, width: 320, height: 180, framesPerSecond: 30, bitrate: 400_000)
    return try (0..<frames).map { number in
      (
        try small.frame(picture(160, 90, number), pts: Int64(number)).bytes,
        try large.frame(picture(320, 180, number), pts: Int64(number)).bytes
      )
    }
  }

  private static func picture(_ width: Int, _ height: Int, _ number: Int) -> Picture {
    let picture = Picture(width: width, height: height)
    for row in 0..<height {
      for column in 0..<width {
        picture.y[row * picture.strideY + column] = UInt8(truncatingIfNeeded: (column + number * 5) * 3 ^ row * 2)
      }
    }
    for row in 0..<(height + 1) / 2 {
      for column in 0..<(width + 1) / 2 {
        picture.u[row * picture.strideUV + column] = UInt8(truncatingIfNeeded: column + number)
        picture.v[row * picture.strideUV + column] = UInt8(truncatingIfNeeded: row)
      }
    }
    return picture
  }

  private static func superframe(_ frames: [[UInt8]]) -> [UInt8] {
    frames.flatMap(\.self) + VP9Superframe.index(frames.map(\.count))
  }

  private func hidden(_ layers: inout VP9LayerHiding, _ chunk: [UInt8]) -> [UInt8] {
    chunk.withUnsafeBytes { layers.hidden($0) }
  }

  private func shown(_ chunk: [UInt8]) throws -> [Bool] {
    try chunk.withUnsafeBytes { chunk in
      try #require(VP9Superframe.frames(chunk)).map { try #require(VP9FrameHeader($0)).isShown }
    }
  }

  private func luma(_ picture: Picture) -> [UInt8] {
    (0..<picture.height).flatMap { row in (0..<picture.width).map { picture.y[row * picture.strideY + $0] } }
  }

  /// A hidden frame decodes to the picture that it was when it was shown: a frame behind it that shows its slot has it.
  @Test func aHiddenFrameHasTheSamePicture() throws {
    let stream = try Self.layers(frames: 12)
    var hiding = VP9LayerHiding()
    for number in stream.indices {
      var pool = PicturePool()
      let (plain, other) = (VP9Decoder(), VP9Decoder())
      var wanted: Picture?
      for (index, frame) in stream[...number].map(\.small).enumerated() {
        let buffer = MediaBuffer(frame)
        wanted = try plain.decode(buffer.bytes, isKeyframe: index == 0, into: &pool)
        if index < number { _ = try other.decode(buffer.bytes, isKeyframe: index == 0, into: &pool) }
      }
      let header = try #require(stream[number].small.withUnsafeBytes { VP9FrameHeader($0) })
      // The large one only makes it a lower layer; it is left out again.
      let both = hidden(&hiding, Self.superframe([stream[number].small, Self.keyframe(stream)]))
      #expect(try shown(both) == [false, true])
      let first = try both.withUnsafeBytes { Array(try #require(VP9Superframe.frames($0))[0]) }
      let slot = UInt8(header.refreshed.trailingZeroBitCount)
      // Frame marker, profile 0, show_existing_frame, and the slot.
      let shows = MediaBuffer(Self.superframe([first, [0x88 | slot]]))
      let seen = try other.decode(shows.bytes, isKeyframe: number == 0, into: &pool)
      #expect(luma(try #require(seen)) == luma(try #require(wanted)), "frame \(number)")
      // Its size was put into all slots by the keyframe of the other size.
      hiding = VP9LayerHiding()
      _ = hidden(&hiding, stream[0].small)
    }
  }

  private static func keyframe(_ stream: [(small: [UInt8], large: [UInt8])]) -> [UInt8] { stream[0].large }

  @Test func onlyTheLastFrameOfAPictureIsShown() throws {
    let stream = try Self.layers(frames: 1)[0]
    var hiding = VP9LayerHiding()
    let three = hidden(&hiding, Self.superframe([stream.small, stream.large, stream.small]))
    #expect(try shown(three) == [false, false, true])
    // One alone, and layers of one size, of which the second may predict motion from the first, stay as they are.
    #expect(hidden(&hiding, stream.small) == stream.small)
    let same = Self.superframe([stream.small, stream.small])
    #expect(hidden(&hiding, same) == same)
  }

  @Test func whatCannotBeReadStays() throws {
    let stream = try Self.layers(frames: 2)
    // Nothing is known of the picture that it is as large as.
    var hiding = VP9LayerHiding()
    let unknown = Self.superframe([stream[1].small, stream[0].large])
    #expect(hidden(&hiding, unknown) == unknown)
    let whole = Self.superframe([stream[0].small, stream[0].large])
    for cut in stream[0].small.indices.prefix(24) {
      let chunk = Self.superframe([Array(stream[0].small.prefix(cut + 1)), stream[0].large])
      var hiding = VP9LayerHiding()
      #expect(hidden(&hiding, chunk).count <= chunk.count + 40)
    }
    var random = SeededRandom(seed: 5)
    for _ in 0..<5000 {
      var chunk = whole
      for _ in 0..<4 { chunk[Int(random.next() % 40)] = UInt8(truncatingIfNeeded: random.next()) }
      var hiding = VP9LayerHiding()
      #expect(hidden(&hiding, chunk).count <= chunk.count + 40)
    }
  }
}
