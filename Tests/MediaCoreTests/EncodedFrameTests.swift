import Testing

@testable import MediaCore

@Suite struct EncodedFrameTests {
  /// A keyframe of VP9 with 64x48 pixels, and a frame that refers to others of its size.
  private let key: [UInt8] = [0x82, 0x49, 0x83, 0x42, 0x40, 0x03, 0xf0, 0x02, 0xf0, 1, 1]
  private let delta: [UInt8] = [0x86, 0x00, 0x40, 0x02, 2, 2]

  private func frame(_ bytes: [UInt8], _ codec: Codec = .vp9, isKeyframe: Bool = true) -> EncodedFrame {
    var frame = EncodedFrame(
      codec: codec, payload: MediaBuffer(bytes), rtpTime: 0, isKeyframe: isKeyframe)
    frame.readContent()
    return frame
  }

  @Test func aKeyframeOfVP9IsOneByItsBytes() {
    let whole = frame(key)
    #expect(whole.isKeyframe && (whole.width, whole.height) == (64, 48))
    let layers = frame(key + delta + VP9Superframe.index([key.count, delta.count]))
    #expect(layers.isKeyframe && (layers.width, layers.height) == (64, 48))
    // What its packets call one, and is none: another frame, rubbish, an index that lies, nothing.
    for bytes in [delta, [0xff, 0xff], key + VP9Superframe.index([100]), []] {
      let other = frame(bytes)
      #expect(!other.isKeyframe && other.width == 0)
    }
    // What its packets do not call one stays none; other codecs' packets say it all.
    #expect(!frame(key, isKeyframe: false).isKeyframe)
    #expect(frame([0xff, 0xff], .h264).isKeyframe)
  }
}
