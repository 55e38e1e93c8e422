import Codecs
import MediaCore
import Synthetic
import Testing

private struct Coder {
  let encoder: OpusEncoder
  let decoder: OpusDecoder
  init(_ settings: OpusEncoderSettings = .init()) throws(CodecError) {
    encoder = try OpusEncoder(settings: settings)
    decoder = try OpusDecoder()
  }

  func packet(_ samples: [Float]) throws(CodecError) -> [UInt8] {
    let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: OpusEncoder.maximumPacketSize, alignment: 1)
    defer { packet.deallocate() }
    let input = UnsafeMutableBufferPointer<Float>.allocate(capacity: samples.count)
    defer { input.deallocate() }
    _ = input.initialize(from: samples)
    let count = try encoder.encode(UnsafeBufferPointer(input), into: packet)
    return Array(packet.prefix(count))
  }
}

extension OpusDecoder {
  func samples(
    _ call: (UnsafeMutableBufferPointer<Float>) throws(CodecError) -> Int
  ) throws(CodecError) -> [Float] {
    let buffer = UnsafeMutableBufferPointer<Float>.allocate(capacity: Self.maximumBufferCount)
    defer { buffer.deallocate() }
    buffer.initialize(repeating: 0)
    let count = try call(buffer)
    return Array(buffer.prefix(count * 2))
  }

  func samples(of packet: [UInt8]) throws(CodecError) -> [Float] {
    let bytes = MediaBuffer(packet)
    return try samples { (buffer) throws(CodecError) in try decode(bytes.bytes, into: buffer) }
  }

  func concealed(_ count: Int) throws(CodecError) -> [Float] {
    try samples { (buffer) throws(CodecError) in try conceal(samples: count, into: buffer) }
  }

  func corrected(next packet: [UInt8], _ count: Int) throws(CodecError) -> [Float] {
    let bytes = MediaBuffer(packet)
    return try samples { (buffer) throws(CodecError) in
      try decodeFEC(nextPacket: bytes.bytes, samples: count, into: buffer)
    }
  }
}

/// Speech-like sound in blocks of 20 ms.
private func speech(blocks: Int) -> [[Float]] {
  var voice = SyntheticVoice(seed: 5, identity: 0)
  return (0..<blocks).map { _ in
    var block = [Float](repeating: 0, count: 1920)
    block.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: true) }
    return block
  }
}

private func energy(_ samples: some Sequence<Float>) -> Float { samples.reduce(0) { $0 + $1 * $1 } }

@Suite struct OpusTests {
  @Test func soundSurvivesEncodingAndDecodingWithTheDelayThatIsTold() throws {
    let coder = try Coder()
    let blocks = speech(blocks: 50)
    var out: [Float] = []
    for block in blocks { out += try coder.decoder.samples(of: coder.packet(block)) }
    let source = blocks.flatMap { $0 }
    #expect(out.count == source.count)
    #expect(coder.encoder.preSkip == 312)
    // Opus does not keep the waveform exactly, but nearly so at this rate; the delay is where the error is least.
    func error(_ delay: Int) -> Float {
      var sum: Float = 0
      for index in stride(from: 9600, to: source.count - 2000, by: 2) {
        let d = source[index] - out[index + delay * 2]
        sum += d * d
      }
      return sum
    }
    let best = (coder.encoder.preSkip - 4...coder.encoder.preSkip + 4).min { error($0) < error($1) }
    #expect(best == coder.encoder.preSkip)
    #expect(error(coder.encoder.preSkip) < 0.1 * energy(source[9600...]))
  }

  @Test func silenceStaysSilent() throws {
    let coder = try Coder()
    for _ in 0..<10 {
      let out = try coder.decoder.samples(of: coder.packet([Float](repeating: 0, count: 1920)))
      #expect(out.count == 1920)
      #expect(out.allSatisfy { $0.magnitude < 0.0001 })
    }
  }

  @Test func whatIsLostIsConcealedForExactlyItsLength() throws {
    let coder = try Coder()
    for block in speech(blocks: 30) { _ = try coder.decoder.samples(of: coder.packet(block)) }
    #expect(try coder.decoder.concealed(960).count == 1920)
    #expect(try coder.decoder.concealed(5760).count == 11_520)
    #expect(try coder.decoder.concealed(121).count == 240)
    #expect(try coder.decoder.concealed(0).count == 240)
    #expect(try coder.decoder.concealed(.max).count == 11_520)
    #expect(try coder.decoder.concealed(960).allSatisfy { $0.magnitude < 1 })
  }

  @Test func aLostPacketComesFromTheCopyInTheNextOne() throws {
    var settings = OpusEncoderSettings()
    settings.bitrate = 32_000
    settings.isForSpeech = true
    settings.isForwardErrorCorrecting = true
    settings.expectedLossPercent = 30
    let coder = try Coder(settings)
    let blind = try OpusDecoder()
    let whole = try OpusDecoder()
    let blocks = speech(blocks: 100)
    let packets = try blocks.map { try coder.packet($0) }
    var corrected: Float = 0
    var concealed: Float = 0
    for index in packets.indices.dropLast() {
      let truth = try whole.samples(of: packets[index])
      if index % 5 == 4 {
        let fec = try coder.decoder.corrected(next: packets[index + 1], 960)
        let plc = try blind.concealed(960)
        #expect(fec.count == 1920)
        corrected += energy(zip(truth, fec).map { $0 - $1 })
        concealed += energy(zip(truth, plc).map { $0 - $1 })
      } else {
        _ = try coder.decoder.samples(of: packets[index])
        _ = try blind.samples(of: packets[index])
      }
    }
    #expect(corrected < concealed * 0.6, "\(corrected) against \(concealed)")
  }

  /// Where the header says that there is no copy, the decoder makes the same of the packet as of none; packed in all ways.
  @Test func theHeaderSaysWhetherAPacketCarriesACopy() throws {
    var carrying = 0
    for (corrects, bitrate) in [(true, 32_000), (true, 16_000), (true, 128_000), (false, 32_000)] {
      var settings = OpusEncoderSettings()
      (settings.bitrate, settings.isForSpeech) = (bitrate, true)
      (settings.isForwardErrorCorrecting, settings.expectedLossPercent) = (corrects, 30)
      let coder = try Coder(settings)
      let packets = try speech(blocks: 60).map { try coder.packet($0) }
      for index in 1..<packets.count - 1 {
        let (one, two) = (packets[index], packets[index + 1])
        // The decoder invents otherwise where the bandwidth changes.
        guard one[0] & 3 == 0, one[0] == two[0], one[0] == packets[index - 1][0], one.count < 252 else { continue }
        let (code, size) = (one[0], UInt8(one.count - 1))
        let first = Array(one.dropFirst())
        let both = first + two.dropFirst()
        // Codes 0 to 3 of RFC 6716 section 3.2; the last one of several frames with lengths and three bytes of padding.
        let heads: [([UInt8], [UInt8])] = [
          ([code], first), ([code | 1], first + first), ([code | 2, size], both),
          ([code | 3, 0xc2, 3, size], both + [0, 0, 0]),
        ]
        for (head, frames) in heads {
          let packet = head + frames
          let (asking, inventing) = (try OpusDecoder(), try OpusDecoder())
          for earlier in packets[..<index].suffix(5) {
            _ = try asking.samples(of: earlier)
            _ = try inventing.samples(of: earlier)
          }
          let isInvented = try asking.corrected(next: packet, 960) == inventing.concealed(960)
          let carries = packet.withUnsafeBytes { OpusPacket.carriesCopy($0) }
          #expect(carries == !isInvented, "packet \(index) at \(bitrate), code \(packet[0] & 3)")
          carrying += carries ? 1 : 0
        }
      }
    }
    #expect(carrying > 50)
  }

  @Test func whatIsNoPacketCarriesNoCopy() {
    var random = SeededRandom(seed: 8)
    let broken: [[UInt8]] = [
      [], [0], [1], [2], [2, 252], [2, 255, 255], [3], [3, 0x80], [3, 0xc1], [3, 0x82], [3, 0x82, 0, 9],
      [3, 0x42, 255],
    ]
    for packet in broken {
      let carries = packet.withUnsafeBytes { OpusPacket.carriesCopy($0) }
      #expect(!carries, "\(packet)")
    }
    for _ in 0..<20_000 {
      let packet = (0..<Int.random(in: 0...8, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = packet.withUnsafeBytes { OpusPacket.carriesCopy($0) }
    }
  }

  @Test func discontinuousTransmissionSavesSilence() throws {
    var settings = OpusEncoderSettings()
    settings.isForSpeech = true
    settings.isDiscontinuous = true
    settings.bitrate = 24_000
    let coder = try Coder(settings)
    for block in speech(blocks: 20) { _ = try coder.packet(block) }
    let sizes = try (0..<50).map { _ in try coder.packet([Float](repeating: 0, count: 1920)).count }
    #expect(sizes.filter { $0 <= 2 }.count > 25)
  }

  @Test func theRateFollowsItsTarget() throws {
    func bytes(_ rate: Int) throws -> Int {
      var settings = OpusEncoderSettings()
      settings.bitrate = rate
      let coder = try Coder(settings)
      return try speech(blocks: 50).map { try coder.packet($0).count }.reduce(0, +)
    }
    #expect(try bytes(32_000) * 2 < bytes(128_000))
  }

  @Test func garbageIsRefusedOrDecodedButNeverTraps() throws {
    let decoder = try OpusDecoder()
    var random = SeededRandom(seed: 9)
    let empty = #expect(throws: CodecError.self) { try decoder.samples(of: []) }
    #expect(empty?.reason == .malformed)
    #expect(throws: CodecError.self) { try decoder.corrected(next: [], 960) }
    for _ in 0..<3000 {
      let packet = (0..<(1 + random.next() % 80)).map { _ in UInt8(random.next() % 256) }
      let expected = packet.withUnsafeBytes { OpusPacket($0)?.sampleCount }
      if let out = try? decoder.samples(of: packet) { #expect(out.count == (expected ?? -1) * 2) }
      _ = try? decoder.corrected(next: packet, Int(random.next() % 6000))
    }
    let packet = try Coder().packet([Float](repeating: 0.1, count: 1920))
    #expect(try decoder.samples(of: packet).count == 1920)
  }

  @Test func buffersThatAreTooSmallAreRefused() throws {
    let coder = try Coder()
    let packet = MediaBuffer(try coder.packet([Float](repeating: 0, count: 1920)))
    var small = [Float](repeating: 0, count: 100)
    let error = #expect(throws: CodecError.self) {
      try small.withUnsafeMutableBufferPointer { buffer in try coder.decoder.decode(packet.bytes, into: buffer) }
    }
    #expect(error?.reason == .invalidArgument)
    #expect(throws: CodecError.self) { try coder.packet([Float](repeating: 0, count: 100)) }
    let none = UnsafeMutableBufferPointer<Float>(start: nil, count: 0)
    #expect(throws: CodecError.self) { try coder.decoder.conceal(samples: 960, into: none) }
  }

  @Test func theIdentificationHeaderHasItsNineteenBytes() {
    let head = OpusHead(preSkip: 312)
    #expect(
      head.bytes == Array("OpusHead".utf8) + [1, 2, 0x38, 0x01, 0x80, 0xbb, 0, 0, 0, 0, 0])
    #expect(head.codecDelayNanoseconds == 6_500_000)
    #expect(OpusHead(channels: 9, preSkip: -1, inputSampleRate: .max).bytes.count == 19)
  }

  @Test func everyCodecHasARow() {
    for codec in Codec.allCases {
      let row = CodecTable.row(of: codec)
      #expect(row?.kind == codec.kind)
      #expect(row?.clockRate == codec.clockRate)
      if let id = row?.matroskaCodecID { #expect(CodecTable.row(matroskaCodecID: id) == row) }
    }
    #expect(CodecTable.row(of: .vp8)?.matroskaCodecID == "V_VP8")
    #expect(CodecTable.row(of: .opus)?.matroskaCodecID == "A_OPUS")
  }
}
