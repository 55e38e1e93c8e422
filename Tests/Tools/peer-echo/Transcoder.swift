import Codecs
import MediaCore

/// Makes Opus out of sound of any codec, in packets of 20 ms.
final class Transcoder {
  private var encoder: OpusEncoder?
  private var decoder: (codec: Codec, decoder: any AudioDecoder)?
  private let samples = UnsafeMutableBufferPointer<Float>.allocate(
    capacity: AudioDecoders.maximumBufferCount + OpusEncoder.frameSamples * OpusEncoder.channels)
  private let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: OpusEncoder.maximumPacketSize, alignment: 1)
  /// Floats that wait for the rest of their packet.
  private var waiting = 0
  private var time: UInt32 = 0

  deinit {
    samples.deallocate()
    packet.deallocate()
  }

  /// Decodes a packet, and gives `send` each packet of Opus that is full, with its RTP timestamp.
  func take(
    _ payload: UnsafeRawBufferPointer, of codec: Codec, send: (UnsafeRawBufferPointer, UInt32) -> Void
  ) throws(CodecError) {
    if decoder?.codec != codec { decoder = try AudioDecoders.make(codec).map { (codec, $0) } }
    let encoder = if let encoder { encoder } else { try OpusEncoder() }
    self.encoder = encoder
    guard let decoder = decoder?.decoder else { return }
    waiting += try decoder.decode(payload, into: UnsafeMutableBufferPointer(rebasing: samples[waiting...])) * 2
    let length = OpusEncoder.frameSamples * OpusEncoder.channels
    var start = 0
    while waiting - start >= length {
      let input = UnsafeBufferPointer(rebasing: samples[start..<(start + length)])
      let size = try encoder.encode(input, into: packet)
      send(UnsafeRawBufferPointer(rebasing: packet[..<size]), time)
      time &+= UInt32(OpusEncoder.frameSamples)
      start += length
    }
    for index in start..<waiting { samples[index - start] = samples[index] }
    waiting -= start
  }
}
