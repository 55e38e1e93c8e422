import MediaCore
import Testing

@testable import RecbotKit

/// Pictures, sound and times without a room.
@Suite struct FrameTests {
  private func frame(_ width: Int, _ height: Int, stride: Int, bytes: Int, chroma: Int? = nil) throws -> VideoFrame {
    let luma = [UInt8](repeating: 50, count: bytes)
    let other = [UInt8](repeating: 60, count: chroma ?? (width + 1) / 2 * ((height + 1) / 2))
    return try luma.withUnsafeBytes { luma in
      try other.withUnsafeBytes { other in
        let plane = VideoFrame.Plane(other, stride: (width + 1) / 2)
        return try VideoFrame(
          width: width, height: height, y: .init(luma, stride: stride), u: plane, v: plane, rotation: -90)
      }
    }
  }

  @Test func planesOfAnyStrideAndOddSizesAreCopied() throws {
    for (width, height, stride) in [(1, 1, 1), (3, 5, 7), (321, 181, 400), (2, 1000, 2)] {
      // The last row needs no rest.
      let frame = try frame(width, height, stride: stride, bytes: stride * (height - 1) + width)
      #expect(frame.dimensions == Dimensions(width: width, height: height))
      #expect(frame.rotation == 270)
      frame.withPlanes { y, u, _ in
        for row in 0..<height { #expect(y.bytes[row * y.stride + width - 1] == 50) }
        #expect(u.bytes[(height + 1) / 2 * u.stride - u.stride + (width + 1) / 2 - 1] == 60)
      }
    }
  }

  @Test(arguments: [0, 90, 180, 270]) func aMaskStandsUprightAndWholeInPlaceOfAPicture(rotation: Int) throws {
    // Bright above, dark below, and turned so that this is seen.
    let bytes = [UInt8](repeating: 200, count: 40 * 20) + [UInt8](repeating: 60, count: 40 * 20)
    let logo = try VideoFrame(width: 40, height: 40, i420: bytes + [UInt8](repeating: 128, count: 2 * 20 * 20))
    let mask = PictureMask(logo)
    for size in [Dimensions(width: 160, height: 80), .init(width: 81, height: 161), .init(width: 2, height: 2)] {
      for _ in 0..<2 {
        var frame = VideoFrame(size, y: 100, u: 90, v: 80, time: .seconds(3))
        frame.rotation = rotation
        let made = mask.process(frame)
        #expect(made.dimensions == size && made.rotation == rotation && made.time == .seconds(3))
        guard size.width > 2 else { continue }
        // As it is seen: a quarter above the middle, a quarter below, and at both ends of the longer side.
        let (centre, quarter) = ((x: size.width / 2, y: size.height / 2), min(size.width, size.height) / 4)
        let up = [0: (0, -1), 90: (-1, 0), 180: (0, 1), 270: (1, 0)][rotation] ?? (0, 0)
        made.withPlanes { y, u, v in
          func luma(_ x: Int, _ row: Int) -> Int { Int(y.bytes[row * y.stride + x]) }
          #expect(luma(centre.x + up.0 * quarter, centre.y + up.1 * quarter) == 200)
          #expect(luma(centre.x - up.0 * quarter, centre.y - up.1 * quarter) == 60)
          #expect(luma(0, 0) == 16 && luma(size.width - 1, size.height - 1) == 16)
          #expect(u.bytes[0] == 128 && v.bytes[0] == 128)
        }
      }
    }
  }

  @Test func aMaskMayBeSmallerThanAnything() {
    let mask = PictureMask(VideoFrame(.init(width: 1, height: 1), y: 200, u: 128, v: 128))
    for size in [Dimensions(width: 1, height: 1), .init(width: 1, height: 9), .init(width: 320, height: 180)] {
      #expect(mask.process(VideoFrame(size, y: 100, u: 90, v: 80)).dimensions == size)
    }
  }

  @Test func planesThatAreTooSmallAreRefused() {
    func isRefused(_ fault: VideoFrame.Fault, _ make: () throws -> VideoFrame) {
      #expect(throws: fault) { _ = try make() }
    }
    isRefused(.size(width: 0, height: 4)) { try frame(0, 4, stride: 4, bytes: 16) }
    isRefused(.size(width: 4, height: 20_000)) { try frame(4, 20_000, stride: 4, bytes: 16, chroma: 4) }
    isRefused(.stride(3, atLeast: 4)) { try frame(4, 4, stride: 3, bytes: 16) }
    isRefused(.bytes(15, atLeast: 16)) { try frame(4, 4, stride: 4, bytes: 15) }
    isRefused(.stride(-4, atLeast: 4)) { try frame(4, 4, stride: -4, bytes: 16) }
    isRefused(.bytes(16, atLeast: .max)) { try frame(4, 4, stride: .max, bytes: 16) }
  }

  @Test func planesGoInAndOutAsOneBlock() throws {
    for (width, height) in [(1, 1), (3, 5), (33, 2), (640, 360)] {
      let bytes = (0..<width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)).map {
        UInt8(truncatingIfNeeded: $0 * 7)
      }
      let frame = try VideoFrame(width: width, height: height, i420: bytes, time: .seconds(2), rotation: 90)
      #expect(frame.i420 == bytes)
      #expect(frame.rotation == 90 && frame.time == .seconds(2))
      #expect(throws: VideoFrame.Fault.bytes(bytes.count - 1, atLeast: bytes.count)) {
        _ = try VideoFrame(width: width, height: height, i420: bytes.dropLast())
      }
    }
    #expect(throws: VideoFrame.Fault.size(width: 1 << 62, height: 4)) {
      _ = try VideoFrame(width: 1 << 62, height: 4, i420: [])
    }
  }

  @Test func pixelsAreConvertedThereAndBack() throws {
    let colours: [[UInt8]] = [[255, 255, 255], [0, 0, 0], [200, 30, 30], [30, 160, 60], [40, 60, 220]]
    for (width, height) in [(1, 1), (7, 3), (64, 48)] {
      for colour in colours {
        // What the fourth byte says does not matter.
        let pixels = [[UInt8]](repeating: colour + [9], count: width * height).flatMap(\.self)
        let frame = try VideoFrame(width: width, height: height, rgba: pixels)
        let back = frame.rgba
        #expect(back.count == pixels.count && back.indices.filter { $0 % 4 == 3 }.allSatisfy { back[$0] == 255 })
        let far = zip(back, pixels).enumerated().filter { $0.offset % 4 < 3 }.map {
          abs(Int($0.element.0) - Int($0.element.1))
        }
        #expect(far.max() ?? 0 <= 5, "\(width)x\(height) \(colour) came back as \(back.prefix(4))")
      }
    }
    // Limited range (BT.601).
    #expect(
      try VideoFrame(width: 2, height: 2, rgba: [UInt8](repeating: 255, count: 16)).i420 == [
        235, 235, 235, 235, 128, 128,
      ])
    #expect(throws: VideoFrame.Fault.bytes(15, atLeast: 16)) {
      _ = try VideoFrame(width: 2, height: 2, rgba: [UInt8](repeating: 0, count: 15))
    }
    #expect(throws: VideoFrame.Fault.size(width: 0, height: 2)) { _ = try VideoFrame(width: 0, height: 2, rgba: []) }
  }

  @Test func blocksHaveWholeInstants() {
    #expect(AudioBlock([0, 0, 0], channels: 2).samples.count == 2)
    #expect(AudioBlock([0, 0, 0], channels: 1).samples.count == 3)
    #expect(AudioBlock([0, 0, 0, 0], channels: 9).channels == 2)
    #expect(AudioBlock([Float](repeating: 0, count: 960), channels: 2).duration == .milliseconds(10))
  }

  @Test func timesOfACapturerAreBroughtOntoTheClock() {
    let start = Instant(nanoseconds: 100_000_000_000)
    var given = SendClock()
    #expect(given.time(.seconds(7), at: start) == (.zero, start))
    // It was captured before it came.
    let later = given.time(.seconds(7) + .milliseconds(33), at: start + .milliseconds(50))
    #expect(later == (.milliseconds(33), start + .milliseconds(33)))
    // It runs ahead.
    let early = given.time(.seconds(9), at: start + .milliseconds(80))
    #expect(early == (.seconds(2), start + .milliseconds(80)))
    var untold = SendClock()
    _ = untold.time(nil, at: start)
    #expect(untold.time(nil, at: start + .milliseconds(40)) == (.milliseconds(40), start + .milliseconds(40)))
  }

  @Test func timesOfATrackGoOnAcrossCodecs() {
    func frame(_ codec: Codec, _ time: Int64) -> EncodedFrame {
      EncodedFrame(codec: codec, payload: MediaBuffer(capacity: 1), rtpTime: time, isKeyframe: true)
    }
    var clock = FrameClock()
    #expect(clock.time(of: frame(.opus, 4_800_000)) == .zero)
    #expect(clock.time(of: frame(.opus, 4_848_000)) == .seconds(1))
    #expect(clock.time(of: frame(.pcmu, 77)) == .seconds(1))
    #expect(clock.time(of: frame(.pcmu, 77 + 4000)) == .milliseconds(1500))
  }

  @Test func soManyPicturesASecondPassAtMost() {
    func passed(_ source: Int, limit: Int, jitter: Int64 = 0) -> Int {
      var rate = FrameRateLimit(limit)
      var random = SeededRandom(seed: 7)
      return (0..<(source * 10)).count { number in
        let late = jitter == 0 ? 0 : Int64.random(in: 0..<jitter, using: &random)
        return rate.admits(.seconds(number) / source + .milliseconds(late))
      }
    }
    #expect((299...301).contains(passed(30, limit: 30)))
    #expect((299...301).contains(passed(60, limit: 30)))
    #expect((145...151).contains(passed(50, limit: 15)))
    #expect(passed(10, limit: 30) == 100)
    // A camera whose pictures come up to 20 ms late loses none of them.
    #expect(passed(30, limit: 30, jitter: 20) >= 298)
    // 30 pictures on steps of 20 ms, as a source does that counts stretches of sound.
    var rate = FrameRateLimit(30)
    let steps = (1...500).filter { $0 * 30 / 50 != ($0 - 1) * 30 / 50 }
    #expect(steps.allSatisfy { rate.admits(.milliseconds($0 * 20)) })
  }

  @Test func aFileThatIsNoneIsToldSo() {
    #expect(throws: FileError.self) { _ = try WebMFile(path: "/nowhere.webm") }
    #expect(throws: FileError.self) { _ = try WebMFile(path: #filePath) }
  }

  @Test func layersHaveEvenSidesAndGrow() {
    let options = VideoPublishOptions()
    #expect(options.layers(of: .init(width: 1280, height: 720)).map(\.width) == [320, 640, 1280])
    #expect(options.layers(of: .init(width: 361, height: 641)).map(\.height) == [320, 641])
    #expect(options.layers(of: .init(width: 320, height: 240)).map(\.width) == [320])
    var single = options
    (single.isSimulcast, single.bitrate) = (false, 1_000_000)
    #expect(single.layers(of: .init(width: 1280, height: 720)) == [.init(width: 1280, height: 720, bitrate: 1_000_000)])
    #expect(options.layers(of: .init(width: 1, height: 1)) == [.init(width: 1, height: 1, bitrate: 60_000)])
  }
}
