import Codecs
import MediaCore
import Synthetic
import Testing

extension VideoEncoder {
  /// One frame as an array.
  func frame(_ picture: Picture, pts: Int64, forceKeyframe: Bool = false) throws -> (bytes: [UInt8], key: Bool) {
    var out: ([UInt8], Bool) = ([], false)
    try encode(picture, pts: pts, forceKeyframe: forceKeyframe) { out = (Array($0), $1) }
    return out
  }
}

/// What a frame's own head says of it.
private struct Head: Equatable {
  var isKeyframe: Bool
  var width: Int
  var height: Int

  init(isKeyframe: Bool, width: Int, height: Int) {
    (self.isKeyframe, self.width, self.height) = (isKeyframe, width, height)
  }

  init?(_ codec: RecordingCodec, _ bytes: UnsafeRawBufferPointer) {
    switch codec {
    case .vp8:
      guard let header = VP8FrameHeader(frame: bytes) else { return nil }
      self.init(isKeyframe: header.isKeyframe, width: header.width, height: header.height)
    case .vp9:
      guard let header = VP9FrameHeader(bytes) else { return nil }
      self.init(isKeyframe: header.isKeyframe, width: header.width, height: header.height)
    case .av1:
      guard let first = AV1OBU(bytes), first.kind != .temporalDelimiter else { return nil }
      guard first.kind == .sequenceHeader, let header = AV1SequenceHeader(first.payload) else {
        self.init(isKeyframe: false, width: 0, height: 0)
        return
      }
      self.init(isKeyframe: true, width: header.width, height: header.height)
    }
  }
}

/// The encoders of recordings, in each of their codecs.
@Suite struct VideoEncoderTests {
  @Test(
    arguments: RecordingCodec.allCases,
    [
      (640, 360), (8, 8), (1, 1), (2, 2), (17, 33), (639, 359), (161, 90), (15, 240), (1280, 720),
    ])
  func picturesSurviveEncodingAndDecoding(codec: RecordingCodec, size: (width: Int, height: Int)) throws {
    let (width, height) = size
    let encoder = try VideoEncoders.make(codec, width: width, height: height, framesPerSecond: 30, bitrate: 2_000_000)
    let decoder = try #require(VideoDecoders.make(codec.codec))
    var pool = PicturePool()
    for index in 0..<5 {
      let source = pattern(width: width, height: height, shift: index)
      let frame = try encoder.frame(source, pts: Int64(index) * 3000)
      #expect(frame.key == (index == 0))
      let bytes = MediaBuffer(frame.bytes)
      let decoded = try #require(try decoder.decode(bytes.bytes, isKeyframe: frame.key, into: &pool))
      #expect(decoded.width == width && decoded.height == height)
      // Of the tiniest ones only the size matters. 12 is 37 dB.
      if width >= 8 { #expect(meanSquaredError(source, decoded) < 12) }
    }
  }

  @Test(arguments: RecordingCodec.allCases) func keyframesComeWhenForcedAndAtTheInterval(codec: RecordingCodec) throws {
    let encoder = try VideoEncoders.make(
      codec, width: 160, height: 90, framesPerSecond: 30, bitrate: 300_000, keyframeInterval: 10)
    var keys: [Int] = []
    for index in 0..<30 {
      let frame = try encoder.frame(
        pattern(width: 160, height: 90), pts: Int64(index) * 3000, forceKeyframe: index == 5)
      if frame.key { keys.append(index) }
      let head = frame.bytes.withUnsafeBytes { Head(codec, $0) }
      #expect(head == Head(isKeyframe: frame.key, width: frame.key ? 160 : 0, height: frame.key ? 90 : 0))
    }
    #expect(keys.starts(with: [0, 5]))
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $1 - $0 <= 10 })
    #expect(keys.last ?? 0 >= 20)
  }

  @Test(arguments: RecordingCodec.allCases) func theRateFollowsItsTarget(codec: RecordingCodec) throws {
    let camera = SyntheticCamera(seed: 1, identity: 0, width: 320, height: 180)
    let encoder = try VideoEncoders.make(codec, width: 320, height: 180, framesPerSecond: 30, bitrate: 400_000)
    let picture = Picture(width: 320, height: 180)
    func bits(_ range: Range<Int>) throws -> Int {
      var sum = 0
      var random = SeededRandom(seed: 4)
      for index in range {
        camera.draw(frame: index, voiceLevel: 0.5, into: picture)
        for at in 0..<(picture.strideY * picture.height) {
          picture.y[at] = picture.y[at] &+ UInt8(random.next() % 24)
        }
        sum += try encoder.frame(picture, pts: Int64(index) * 3000).bytes.count * 8
      }
      return sum * 30 / range.count
    }
    _ = try bits(0..<60)
    let before = try bits(60..<150)
    #expect((300_000...520_000).contains(before), "\(before)")
    try encoder.setBitrate(150_000)
    _ = try bits(150..<210)
    let after = try bits(210..<300)
    #expect((100_000...200_000).contains(after), "\(after)")
  }

  @Test(arguments: RecordingCodec.allCases) func wrongArgumentsAreRefused(codec: RecordingCodec) throws {
    #expect(throws: CodecError.self) {
      try VideoEncoders.make(codec, width: 0, height: 90, framesPerSecond: 30, bitrate: 1_000_000)
    }
    #expect(throws: CodecError.self) {
      try VideoEncoders.make(codec, width: 16_384, height: 90, framesPerSecond: 30, bitrate: 1_000_000)
    }
    #expect(throws: CodecError.self) {
      try VideoEncoders.make(codec, width: 160, height: 90, framesPerSecond: 0, bitrate: 1)
    }
    let encoder = try VideoEncoders.make(codec, width: 160, height: 90, framesPerSecond: 30, bitrate: 300_000)
    _ = try encoder.frame(pattern(width: 160, height: 90), pts: 3000)
    let late = #expect(throws: CodecError.self) { try encoder.frame(pattern(width: 160, height: 90), pts: 3000) }
    #expect(late?.reason == .invalidArgument)
    let size = #expect(throws: CodecError.self) { try encoder.frame(pattern(width: 162, height: 90), pts: 6000) }
    #expect(size?.description.contains("162x90") == true)
    _ = try encoder.frame(pattern(width: 160, height: 90), pts: 6000)
  }

  @Test(arguments: VPXCodec.allCases) func settingsOutOfRangeAreBroughtInside(codec: VPXCodec) throws {
    var settings = VPXEncoderSettings(codec)
    settings.cpuUsed = -1000
    settings.minimumQuantizer = 90
    settings.maximumQuantizer = -1
    settings.bufferOptimalMilliseconds = .max
    settings.tokenPartitions = .min
    settings.adaptiveQuantization = .max
    settings.maximumKeyframeInterval = .min
    settings.staticThreshold = .min
    settings.maximumIntraBitratePercent = .max
    settings.noiseSensitivity = .max
    let encoder = try VPXEncoder(
      codec, width: 160, height: 90, framesPerSecond: 30, bitrate: 300_000, settings: settings)
    #expect(try encoder.frame(pattern(width: 160, height: 90), pts: 0).key)
  }

  @Test(arguments: RecordingCodec.allCases) func whatTheReceiverOfAFrameThrowsComesThrough(codec: RecordingCodec) throws
  {
    struct Full: Error {}
    let encoder = try VideoEncoders.make(codec, width: 160, height: 90, framesPerSecond: 30, bitrate: 300_000)
    #expect(throws: Full.self) {
      try encoder.encode(pattern(width: 160, height: 90), pts: 0) { _, _ in throw Full() }
    }
    _ = try encoder.frame(pattern(width: 160, height: 90), pts: 3000)
  }

  @Test func aKeyframeOfVP9SaysWhichColoursItHas() throws {
    let encoder = try VPXEncoder(.vp9, width: 160, height: 90, framesPerSecond: 30, bitrate: 300_000)
    let frame = try encoder.frame(pattern(width: 160, height: 90), pts: 0)
    let header = try #require(frame.bytes.withUnsafeBytes { VP9FrameHeader($0) })
    #expect(header.profile == 0 && header.bitDepth == 8 && header.subsamplesAcross && header.subsamplesDown)
    // BT.601, limited range, as VP8 always is.
    #expect(header.colorSpace == 1 && !header.isFullRange)
  }

  @Test func whatFilesSayOfAV1IsWhatItsKeyframesSay() throws {
    let encoder = try AV1Encoder(width: 1280, height: 720, framesPerSecond: 30, bitrate: 1_000_000)
    let header = try #require(encoder.sequenceHeader)
    let frame = try encoder.frame(pattern(width: 1280, height: 720), pts: 0)
    #expect(frame.key && frame.bytes.starts(with: header))
    let read = header.withUnsafeBytes { AV1OBU($0).flatMap { AV1SequenceHeader($0.payload) } }
    #expect(read?.width == 1280 && read?.height == 720)
  }
}
