import MediaCore
import TestKit
import Testing

@testable import RTP

/// How pictures are turned: by the orientation elements that come, and by those that do not come.
@Suite struct PictureRotationTests {
  /// A stream of small frames, 30 in a second.
  private struct Camera {
    var source = VideoSource()
    var buffer = JitterBuffer()
    var now = Instant.zero

    /// Sends a frame whose last packet has this element; answers how the frames that come out are turned.
    mutating func send(_ degrees: Int?, keyframe: Bool = false, layer: UInt8 = 0, arrives: Bool = true) throws -> [Int]
    {
      now += .milliseconds(33)
      let base = UInt8(truncatingIfNeeded: source.frames.count / 2)
      let packets = try source.frame(
        keyframe: keyframe, count: 250,
        layer: .init(layer: layer, baseLayerIndex: base, isLayerSync: layer > 0))
      guard arrives else { return [] }
      for (index, packet) in packets.enumerated() {
        let isLast = index == packets.count - 1
        buffer.insert(packet.packet, sequence: packet.sequence, rotation: isLast ? degrees : nil, at: now)
      }
      return buffer.frames(at: now).map(\.rotation)
    }

    /// What comes out when what is missing is given up.
    mutating func giveUp() -> [Int] {
      now += .milliseconds(400)
      return buffer.frames(at: now).map(\.rotation)
    }
  }

  @Test func changesAndKeyframesAreEnough() throws {
    var camera = Camera()
    #expect(try camera.send(90, keyframe: true) == [90])
    for _ in 0..<40 { #expect(try camera.send(nil) == [90]) }
    #expect(try camera.send(180) == [180])
    for _ in 0..<40 { #expect(try camera.send(nil) == [180]) }
    #expect(try camera.send(0) == [0])
    #expect(try camera.send(nil) == [0])
    #expect(try camera.send(270) == [270])
    #expect(try camera.send(nil, keyframe: true) == [0], "each keyframe of a turned picture says it")
  }

  @Test(arguments: [false, true]) func whoeverRepeatsTheElementIsUprightWithoutIt(forwarderLeavesOut: Bool) throws {
    var camera = Camera()
    #expect(try camera.send(nil, keyframe: true) == [0])
    #expect(try camera.send(nil, layer: 1) == [0])
    for _ in 0..<20 {
      #expect(try camera.send(90) == [90])
      #expect(try camera.send(90, layer: 1) == [90])
    }
    // The only frame that says 0 is of an upper layer, and does not come.
    #expect(try camera.send(90) == [90])
    if forwarderLeavesOut {
      camera.source.frames.append([])
    } else {
      #expect(try camera.send(0, layer: 1, arrives: false) == [])
    }
    var turned = try camera.send(nil)
    turned += camera.giveUp()
    #expect(turned == [0])
    #expect(try camera.send(nil, layer: 1) == [0])
  }

  @Test func fewRepetitionsAreNoHabit() throws {
    var camera = Camera()
    #expect(try camera.send(90, keyframe: true) == [90])
    for _ in 0..<3 { #expect(try camera.send(90) == [90]) }
    for _ in 0..<20 { #expect(try camera.send(nil) == [90]) }
  }

  @Test func theElementOfAFrameThatIsLeftOutCounts() throws {
    var camera = Camera()
    #expect(try camera.send(nil, keyframe: true) == [0])
    #expect(try camera.send(nil, layer: 1) == [0])
    // A frame of an upper layer lacks its first packet, and the last one says how the pictures are turned from here on.
    camera.now += .milliseconds(33)
    let broken = try camera.source.frame(
      keyframe: false, count: 250,
      layer: .init(layer: 1, baseLayerIndex: 0, isLayerSync: true))
    for (index, packet) in broken.enumerated().dropFirst() {
      let degrees = index == broken.count - 1 ? 90 : nil
      camera.buffer.insert(packet.packet, sequence: packet.sequence, rotation: degrees, at: camera.now)
    }
    #expect(camera.giveUp() == [])
    camera.source.frames.removeLast()
    #expect(try camera.send(nil) == [90])
    // What comes after it was given up says how the pictures were turned, not how they are.
    camera.buffer.insert(broken[0].packet, sequence: broken[0].sequence, rotation: 180, at: camera.now)
    #expect(try camera.send(nil, layer: 1) == [90])
  }
}
