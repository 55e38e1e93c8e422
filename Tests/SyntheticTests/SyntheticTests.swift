import MediaCore
import Synthetic
import Testing

private func bytes(_ picture: Picture) -> [UInt8] {
  var out: [UInt8] = []
  for row in 0..<picture.height {
    out += UnsafeBufferPointer(start: picture.y + row * picture.strideY, count: picture.width)
  }
  for row in 0..<picture.chromaHeight {
    out += UnsafeBufferPointer(start: picture.u + row * picture.strideUV, count: picture.chromaWidth)
    out += UnsafeBufferPointer(start: picture.v + row * picture.strideUV, count: picture.chromaWidth)
  }
  return out
}

private func drawn(_ camera: SyntheticCamera, _ frame: Int, _ level: Float = 0) -> [UInt8] {
  let picture = Picture(width: camera.width, height: camera.height)
  picture.fill(y: 0, u: 0, v: 0)
  camera.draw(frame: frame, voiceLevel: level, into: picture)
  return bytes(picture)
}

@Suite struct SyntheticTests {
  @Test func picturesBelongToSeedIdentityAndFrame() {
    let one = SyntheticCamera(seed: 1, identity: 0, width: 160, height: 90)
    let same = SyntheticCamera(seed: 1, identity: 0, width: 160, height: 90)
    let other = SyntheticCamera(seed: 1, identity: 1, width: 160, height: 90)
    _ = drawn(one, 900)
    #expect(drawn(one, 7) == drawn(same, 7))
    #expect(drawn(one, 7) != drawn(one, 30))
    #expect(drawn(one, 7) != drawn(other, 7))
    #expect(drawn(one, 7, 0) != drawn(one, 7, 1))
  }

  @Test func picturesMoveCalmly() {
    let camera = SyntheticCamera(seed: 3, identity: 2, width: 160, height: 90)
    var before = drawn(camera, 0)
    for frame in 1..<60 {
      let now = drawn(camera, frame)
      let difference = zip(before, now).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
      #expect(difference < now.count * 2, "frame \(frame)")
      before = now
    }
  }

  @Test(arguments: [(1, 1), (2, 2), (7, 5), (90, 160), (161, 91)])
  func anySizeCanBeDrawn(width: Int, height: Int) {
    for identity in [0, 1, 2, 3, 4, 5, -1, Int.max, Int.min] {
      let camera = SyntheticCamera(seed: 1, identity: identity, width: width, height: height)
      #expect(drawn(camera, 5, .nan).count == bytes(Picture(width: width, height: height)).count)
      #expect(drawn(camera, -5, 3).allSatisfy { $0 >= 16 && $0 <= 240 })
    }
    let screen = SyntheticScreen(seed: 1, width: width, height: height)
    let picture = Picture(width: width, height: height)
    for frame in [-1, 0, 50, 1000] { screen.draw(frame: frame, into: picture) }
  }

  @Test func theScreenBelongsToSeedAndFrame() {
    let one = SyntheticScreen(seed: 1, width: 320, height: 180)
    let same = SyntheticScreen(seed: 1, width: 320, height: 180)
    let a = Picture(width: 320, height: 180)
    let b = Picture(width: 320, height: 180)
    one.draw(frame: 500, into: a)
    one.draw(frame: 40, into: a)
    same.draw(frame: 40, into: b)
    #expect(bytes(a) == bytes(b))
    same.draw(frame: 80, into: b)
    #expect(bytes(a) != bytes(b))
  }

  @Test func aPictureOfAnotherSizeIsLeftAlone() {
    let picture = Picture(width: 64, height: 64)
    picture.fill(y: 1, u: 2, v: 3)
    let before = bytes(picture)
    SyntheticCamera(seed: 1, identity: 0, width: 32, height: 32).draw(frame: 0, voiceLevel: 0, into: picture)
    SyntheticScreen(seed: 1, width: 32, height: 32).draw(frame: 0, into: picture)
    #expect(bytes(picture) == before)
  }

  @Test(arguments: 0..<8)
  func voicesSpeakAtTheirLevelAndFallSilent(identity: Int) {
    var voice = SyntheticVoice(seed: 11, identity: identity)
    var again = SyntheticVoice(seed: 11, identity: identity)
    var block = [Float](repeating: 0, count: 1920)
    var copy = block
    var active: Float = 0
    var blocks: Float = 0
    var quiet = 0
    for _ in 0..<400 {
      block.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: true) }
      copy.withUnsafeMutableBufferPointer { again.render(into: $0, isSpeaking: true) }
      #expect(block == copy)
      #expect(block.allSatisfy { $0.magnitude <= 0.9 })
      #expect((0...1).contains(voice.level))
      let power = block.reduce(0) { $0 + $1 * $1 } / 1920
      if power > 0.000_9 {
        active += power
        blocks += 1
      } else {
        quiet += 1
      }
    }
    let rms = (active / max(1, blocks)).squareRoot()
    #expect((0.06...0.17).contains(rms), "\(rms)")
    // There are pauses, and most of the time there is speech.
    #expect(quiet > 5 && blocks > 200)
    for _ in 0..<8 { block.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: false) } }
    block.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: false) }
    #expect(block.allSatisfy { $0 == 0 })
    #expect(voice.level == 0)
    block.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: true) }
  }
}
