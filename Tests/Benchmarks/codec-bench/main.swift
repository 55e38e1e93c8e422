// Prints what the codecs, the mixer and the synthetic sources cost. Build with `-c release`; nothing is asserted.
import AudioMix
import Codecs
import Glibc
import MediaCore
import Synthetic

/// CPU time of this thread, nanoseconds.
func cpuTime() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Prints a row: microseconds per call, and the share of a core at so many calls per second.
func report(_ name: String, calls: Int, perSecond: Double, nanoseconds: Int64) {
  let each = Double(nanoseconds) / Double(max(1, calls)) / 1000
  let cores = each * perSecond / 1_000_000
  func fixed(_ value: Double, _ digits: Int) -> String {
    let factor = digits == 1 ? 10 : 10_000
    let scaled = Int((value * Double(factor)).rounded())
    let fraction = String(factor + scaled % factor).dropFirst()
    return "\(scaled / factor).\(fraction)"
  }
  let padding = String(repeating: " ", count: max(1, 46 - name.count))
  print("\(name)\(padding)\(fixed(each, 1)) us each, \(fixed(cores, 4)) cores at \(Int(perSecond))/s")
}

/// Cameras as they come in, in a codec, and what is written in it.
func videoBenchmarks(_ codec: RecordingCodec) throws {
  let frames = 300
  let name = codec.title
  let cameras = (0..<9).map { SyntheticCamera(seed: 1, identity: $0) }
  let picture = Picture(width: 640, height: 360)
  var encoded: [[MediaBuffer]] = []
  var drawing: Int64 = 0
  var publishing: Int64 = 0
  var bytes = 0
  for camera in cameras {
    let encoder = try VideoEncoders.make(codec, width: 640, height: 360, framesPerSecond: 30, bitrate: 600_000)
    var list: [MediaBuffer] = []
    for frame in 0..<frames {
      let start = cpuTime()
      camera.draw(frame: frame, voiceLevel: Float(frame % 8) / 8, into: picture)
      let drawn = cpuTime()
      try encoder.encode(picture, pts: Int64(frame) * 3000) { data, _ in
        list.append(MediaBuffer(copying: data))
        bytes += data.count
      }
      drawing += drawn - start
      publishing += cpuTime() - drawn
    }
    encoded.append(list)
  }
  let total = frames * cameras.count
  report("SyntheticCamera 640x360", calls: total, perSecond: 30, nanoseconds: drawing)
  report("\(name) encoder 640x360, 600 kbit/s", calls: total, perSecond: 30, nanoseconds: publishing)
  print("  (\(bytes * 8 * 30 / total / 1000) kbit/s)")

  let decoders = cameras.compactMap { _ in VideoDecoders.make(codec.codec) }
  var pools = cameras.map { _ in PicturePool() }
  var start = cpuTime()
  for frame in 0..<frames {
    for index in decoders.indices {
      _ = try decoders[index].decode(encoded[index][frame].bytes, isKeyframe: frame == 0, into: &pools[index])
    }
  }
  report("\(name) decoder 640x360, 9 in turn", calls: total, perSecond: 30, nanoseconds: cpuTime() - start)

  let screen = SyntheticScreen(seed: 1)
  let large = Picture(width: 1280, height: 720)
  start = cpuTime()
  for frame in 0..<frames { screen.draw(frame: frame, into: large) }
  report("SyntheticScreen 1280x720", calls: frames, perSecond: 15, nanoseconds: cpuTime() - start)

  try encodeCanvas(codec, encoded: encoded, frames: frames)
}

/// A 2x2 mosaic of decoded cameras as 1280x720, with the settings of a recording.
func encodeCanvas(_ codec: RecordingCodec, encoded: [[MediaBuffer]], frames: Int) throws {
  let decoders = (0..<4).compactMap { _ in VideoDecoders.make(codec.codec) }
  var pool = PicturePool()
  let canvas = Picture(width: 1280, height: 720)
  let encoder = try VideoEncoders.make(
    codec, width: 1280, height: 720, framesPerSecond: 30, bitrate: codec.usualBitrate)
  var spent: Int64 = 0
  var bytes = 0
  for frame in 0..<frames {
    for index in decoders.indices {
      guard let tile = try decoders[index].decode(encoded[index][frame].bytes, isKeyframe: frame == 0, into: &pool)
      else { continue }
      let x = index % 2 * 640
      let y = index / 2 * 360
      for row in 0..<360 {
        (canvas.y + (y + row) * canvas.strideY + x).update(from: tile.y + row * tile.strideY, count: 640)
      }
      for row in 0..<180 {
        let at = (y / 2 + row) * canvas.strideUV + x / 2
        (canvas.u + at).update(from: tile.u + row * tile.strideUV, count: 320)
        (canvas.v + at).update(from: tile.v + row * tile.strideUV, count: 320)
      }
    }
    let start = cpuTime()
    try encoder.encode(canvas, pts: Int64(frame) * 3000) { data, _ in bytes += data.count }
    spent += cpuTime() - start
  }
  report(
    "\(codec.title) encoder 1280x720, \(codec.usualBitrate / 1000) kbit/s", calls: frames, perSecond: 30,
    nanoseconds: spent)
  print("  (\(bytes * 8 * 30 / frames / 1000) kbit/s)")
}

func audioBenchmarks() throws {
  let blocks = 1000
  let tracks = 9
  var voices = (0..<tracks).map { SyntheticVoice(seed: 1, identity: $0) }
  let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: OpusDecoder.maximumBufferCount)
  samples.initialize(repeating: 0)
  let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: OpusEncoder.maximumPacketSize, alignment: 16)
  defer {
    samples.deallocate()
    packet.deallocate()
  }
  let block = UnsafeMutableBufferPointer(rebasing: samples[..<1920])
  var speaking: Int64 = 0
  var encoding: Int64 = 0
  var packets: [[MediaBuffer]] = []
  for index in 0..<tracks {
    var settings = OpusEncoderSettings()
    settings.bitrate = 32_000
    settings.isForSpeech = true
    let encoder = try OpusEncoder(settings: settings)
    var list: [MediaBuffer] = []
    for _ in 0..<blocks {
      let start = cpuTime()
      voices[index].render(into: block, isSpeaking: true)
      let spoken = cpuTime()
      let count = try encoder.encode(UnsafeBufferPointer(block), into: packet)
      encoding += cpuTime() - spoken
      speaking += spoken - start
      list.append(MediaBuffer(copying: UnsafeRawBufferPointer(rebasing: packet[..<count])))
    }
    packets.append(list)
  }
  report("SyntheticVoice 20 ms", calls: blocks * tracks, perSecond: 50, nanoseconds: speaking)
  report("OpusEncoder 20 ms, 32 kbit/s speech", calls: blocks * tracks, perSecond: 50, nanoseconds: encoding)

  let mixer = Mixer()
  let names = (0..<tracks).map { _ in mixer.addTrack() }
  let decoders = try (0..<tracks).map { _ in try OpusDecoder() }
  let encoder = try OpusEncoder()
  var decoding: Int64 = 0
  var inserting: Int64 = 0
  var mixing: Int64 = 0
  var recording: Int64 = 0
  for index in 0..<blocks {
    for track in 0..<tracks {
      let start = cpuTime()
      let count = try decoders[track].decode(packets[track][index].bytes, into: samples)
      let decoded = cpuTime()
      // Every track's clock is off by up to 200 ppm, so that some are being stretched.
      let position = Int64(index) * 960 + 4800 + Int64(index) * Int64(track - 4) * 50 * 960 / 1_000_000
      mixer.insert(UnsafeBufferPointer(rebasing: samples[..<(count * 2)]), at: position, track: names[track])
      inserting += cpuTime() - decoded
      decoding += decoded - start
    }
    let start = cpuTime()
    mixer.mix(into: block)
    let mixed = cpuTime()
    _ = try encoder.encode(UnsafeBufferPointer(block), into: packet)
    recording += cpuTime() - mixed
    mixing += mixed - start
  }
  report("OpusDecoder 20 ms", calls: blocks * tracks, perSecond: 50, nanoseconds: decoding)
  report("Mixer.insert 20 ms", calls: blocks * tracks, perSecond: 50, nanoseconds: inserting)
  report("Mixer.mix, 9 tracks", calls: blocks, perSecond: 50, nanoseconds: mixing)
  report("OpusEncoder 20 ms, 96 kbit/s", calls: blocks, perSecond: 50, nanoseconds: recording)
}

let arguments = CommandLine.arguments.dropFirst()
guard arguments.isEmpty else {
  print("usage: codec-bench")
  exit(["-h", "--help", "help"].contains(arguments.first) ? 0 : 64)
}
for codec in RecordingCodec.allCases { try videoBenchmarks(codec) }
try audioBenchmarks()
