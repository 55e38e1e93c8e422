import Codecs
import MediaCore

/// Feeds bytes to the readers of frame and packet heads, and, cut into frames by two bytes of length each, to the
/// decoders: a picture is decoded only when its head was accepted, and never one larger than the cap.
public func fuzzCodecs(_ bytes: UnsafeRawBufferPointer) {
  var pool = PicturePool()
  let pictures = VP8Decoder(sizeCap: .init(width: 176, height: 144))
  let others = CodecTable.codecs.filter { $0 != .vp8 }.compactMap {
    VideoDecoders.make($0, sizeCap: .init(width: 176, height: 144))
  }
  guard let sound = try? OpusDecoder() else { return }
  let telephones = [Codec.g722, .pcmu, .pcma].compactMap { try? SoundDecoders.make($0) }
  let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: SoundDecoders.maximumBufferCount)
  defer { samples.deallocate() }
  var rest = bytes[...]
  while rest.count > 2 {
    let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
    let frame = UnsafeRawBufferPointer(rebasing: rest.prefix(length))
    rest = rest.dropFirst(length)
    if let header = VP8FrameHeader(frame) { precondition(header.firstPartitionSize <= frame.count) }
    if let picture = try? pictures.decode(frame, into: &pool) {
      precondition(max(picture.width, picture.height) <= 176, "larger than the cap")
    }
    for (index, decoder) in others.enumerated() {
      // The length's low bits say which of them takes it for a keyframe.
      if let picture = try? decoder.decode(frame, isKeyframe: length >> index & 1 == 0, into: &pool) {
        precondition(max(picture.width, picture.height) <= 176, "larger than the cap")
      }
    }
    if let count = try? sound.decode(frame, into: samples) {
      precondition(count == OpusPacket.sampleCount(of: frame), "the decoder and the packet's head disagree")
    }
    for decoder in telephones {
      if let count = try? decoder.decode(frame, into: samples) {
        precondition(count == frame.count * 6, "a byte is 125 microseconds")
      }
      precondition((try? decoder.restore(samples: 960, next: frame, into: samples)) == 0, "invented sound")
    }
    _ = try? sound.decodeFEC(nextPacket: frame, samples: 960, into: samples)
    _ = try? sound.conceal(samples: 960, into: samples)
  }
}
