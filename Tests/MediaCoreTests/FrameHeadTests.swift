import MediaCore
import Testing

@Suite struct OpusPacketTests {
  private func packet(_ bytes: [UInt8]) -> OpusPacket? { bytes.withUnsafeBytes { OpusPacket($0) } }

  @Test func durationsFollowTheTableOfRFC6716() {
    let expected: [Int] =
      [480, 960, 1920, 2880, 480, 960, 1920, 2880, 480, 960, 1920, 2880, 480, 960, 480, 960]
      + [120, 240, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960]
    for (configuration, samples) in expected.enumerated() {
      #expect(packet([UInt8(configuration << 3), 0, 0])?.sampleCount == samples)
      #expect(packet([UInt8(configuration << 3)])?.duration == Int64(samples) * 1_000_000 / 48)
    }
  }

  @Test func countsFrames() {
    #expect(packet([31 << 3, 255, 255])?.frameCount == 1)
    #expect(packet([31 << 3 | 1])?.sampleCount == 1920)
    #expect(packet([31 << 3 | 1])?.duration == 40_000_000)
    #expect(packet([31 << 3 | 2])?.duration == 40_000_000)
    #expect(packet([31 << 3 | 3, 6])?.sampleCount == 5760)
    #expect(packet([31 << 3 | 3, 6])?.duration == 120_000_000)
    #expect(packet([16 << 3 | 3, 48])?.frameCount == 48)
    #expect(packet([31 << 3 | 3, 7]) == nil)  // longer than 120 ms
    #expect(packet([31 << 3 | 3, 0]) == nil)
    #expect(packet([31 << 3 | 3]) == nil)
    #expect(packet([]) == nil)
  }

  @Test func tellsChannelsAndSilence() {
    #expect(packet([31 << 3 | 4, 255])?.isStereo == true)
    #expect(packet([31 << 3, 255, 255])?.isStereo == false)
    #expect(packet([31 << 3])?.isDTX == true)
    #expect(packet([31 << 3, 255, 255])?.isDTX == false)
  }
}

@Suite struct VP8FrameHeaderTests {
  /// A shown keyframe of 320x240, whose first partition has two bytes.
  private let keyframe: [UInt8] = [0x50, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x41, 0xf0, 0x80, 1, 2]

  private func beginning(_ bytes: some Collection<UInt8>) -> VP8FrameHeader? {
    Array(bytes).withUnsafeBytes { VP8FrameHeader(beginning: $0) }
  }
  private func frame(_ bytes: some Collection<UInt8>) -> VP8FrameHeader? {
    Array(bytes).withUnsafeBytes { VP8FrameHeader(frame: $0) }
  }

  @Test func aKeyframeTellsItsSizeWithoutTheScalingHints() throws {
    let header = try #require(frame(keyframe))
    #expect(header.isKeyframe && header.isShown && header.version == 0 && header.firstPartitionSize == 2)
    #expect((header.width, header.height) == (320, 240))
    #expect(beginning(keyframe.prefix(10)) == header)
    #expect(beginning(keyframe.prefix(9)) == nil)
  }

  @Test func aFrameThatIsCutShortIsNone() {
    #expect(frame(keyframe.dropLast()) == nil)
    var other = keyframe
    other[4] = 2
    #expect(frame(other) == nil && beginning(other) == nil)
    var flat = keyframe
    (flat[6], flat[7]) = (0, 0x40)
    #expect(frame(flat) == nil)
    #expect(beginning(flat)?.width == 0)
    // Versions 4 to 7 are nobody's.
    #expect(frame([0x39, 0, 0, 1]) == nil)
  }

  /// A packet may hold as little as the first byte of a frame.
  @Test func theFirstByteTellsThatAFrameIsNoKeyframe() {
    #expect(beginning([0x11])?.isKeyframe == false)
    #expect(frame([0x11]) == nil)
    #expect(frame([0x11, 0, 0])?.firstPartitionSize == 0)
    #expect(frame([0x01, 0, 0])?.isShown == false)
    #expect(beginning([0x31, 0x01, 0x10])?.firstPartitionSize == 1 + 8 + 0x8000)
    #expect(beginning([]) == nil)
  }
}
