import Codecs
import MediaCore

/// Feeds bytes, cut into frames by two bytes of length each, to a video decoder: none traps, and no picture is larger than the
/// cap. The length's lowest bit says whether a frame is announced as a keyframe.
func fuzzDecoder(_ codec: Codec) -> @Sendable (UnsafeRawBufferPointer) -> Void {
  { bytes in
    guard let decoder = VideoDecoders.make(codec, sizeCap: .init(width: 176, height: 144)) else { return }
    var pool = PicturePool()
    forEachFrame(of: bytes) { frame, length in
      if codec == .vp8, let header = VP8FrameHeader(frame: frame) {
        precondition(header.firstPartitionSize <= frame.count)
      }
      if let picture = try? decoder.decode(frame, isKeyframe: length & 1 == 0, into: &pool) {
        precondition(max(picture.width, picture.height) <= 176, "larger than the cap")
      }
    }
  }
}

/// The same for the audio decoders, of which the first byte chooses one: what a packet's head says of its length is true, and
/// nothing is invented.
@Sendable func fuzzAudioDecoders(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let frames = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
  let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: AudioDecoders.maximumBufferCount)
  defer { samples.deallocate() }
  switch choice % 4 {
  case 0: fuzzTelephone(.g722, frames, samples)
  case 1: fuzzTelephone(.pcmu, frames, samples)
  case 2: fuzzTelephone(.pcma, frames, samples)
  default: fuzzOpus(frames, samples)
  }
}

private func fuzzOpus(_ bytes: UnsafeRawBufferPointer, _ samples: UnsafeMutableBufferPointer<Float>) {
  guard let opus = try? OpusDecoder() else { return }
  forEachFrame(of: bytes) { frame, _ in
    if let count = try? opus.decode(frame, into: samples) {
      precondition(count == OpusPacket(frame)?.sampleCount, "the decoder and the packet's head disagree")
    }
    _ = try? opus.decodeFEC(nextPacket: frame, samples: 960, into: samples)
    _ = try? opus.conceal(samples: 960, into: samples)
  }
}

private func fuzzTelephone(
  _ codec: Codec, _ bytes: UnsafeRawBufferPointer, _ samples: UnsafeMutableBufferPointer<Float>
) {
  guard let decoder = try? AudioDecoders.make(codec) else { return }
  forEachFrame(of: bytes) { frame, _ in
    if let count = try? decoder.decode(frame, into: samples) {
      precondition(count == frame.count * 6, "a byte is 125 microseconds")
    }
    precondition((try? decoder.restore(samples: 960, next: frame, into: samples)) == 0, "invented sound")
  }
}

/// Few frames an input: what thousands of empty ones find is what some find, a hundred times as slowly.
private func forEachFrame(of bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, Int) -> Void) {
  var rest = bytes[...]
  for _ in 0..<24 where rest.count > 2 {
    let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
    body(UnsafeRawBufferPointer(rebasing: rest.prefix(length)), length)
    rest = rest.dropFirst(length)
  }
}
