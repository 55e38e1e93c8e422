import Foundation
import MediaCore
import Testing

@testable import Codecs

@Suite struct AudioDecoderTests {
  /// 50 ms of a sine of 1 kHz, amplitude 10000, as FFmpeg's encoder made it.
  private static let g722 = """
    +pIjjSOToKAgsMrIztztaev60c7R3+7q7vzTj9Lf8GvwvNSQ0/6w7HD8ldDUvvHt8X3Vktb/su/z/1aU1v2y7/P+19XX/PLwsv7W\
    lNb8svBy35jTmP/z8HL+1pTXu/Rv9PzXlNa/c/HyfpfV17zz8nP+2NOa/7Rv9fpWldf8s3Ly/VqU1fzy8PF82pPYnfTudbrX1tae\
    9HDyn1qS1tz5b7h51pPW2/d29P2V0dKd/HT23NSP1pd9+Pna0o/T1tv729vRjtLW2/3d2NKS09jaeLyb15LUlXz3X7pU05jV+Ha5\
    +1XXltn69vR6ltfW2fv1cv6ZldSZePBznv7S19v3dfO83pLW3Hzv+vaXmFFe9rVy/5zS137+8PH82ZLZ2fhws9zZldSZ9XH1vljT\
    mdj5b/z2k9vT3/h1dpqa0dOf/Hbf/9GP2NP3W/bVkpXQV/meX9jRktRW+51/2NKV0n7cunzb1pHWft+0/FzQk9/ae/j02JDWm1/6\
    dbja0pjT917w+tbYkt3cdvT52ZOa1vz1dQ==
    """

  private func decode(_ packets: [[UInt8]], of codec: Codec) throws -> [Float] {
    let decoder = try #require(try AudioDecoders.make(codec))
    let buffer = UnsafeMutableBufferPointer<Float>.allocate(capacity: AudioDecoders.maximumBufferCount)
    defer { buffer.deallocate() }
    var sound: [Float] = []
    for packet in packets {
      let count = try packet.withUnsafeBytes { try decoder.decode($0, into: buffer) }
      #expect(count == packet.count * 6)
      for index in 0..<count {
        #expect(buffer[index * 2] == buffer[index * 2 + 1])
        sound.append(buffer[index * 2])
      }
    }
    return sound
  }

  /// The amplitude of a frequency, at 48 kHz.
  private func amplitude(_ hertz: Double, in sound: ArraySlice<Float>) -> Double {
    var (real, imaginary, weights) = (0.0, 0.0, 0.0)
    for (index, sample) in sound.enumerated() {
      let window = 0.5 - 0.5 * cos(2 * .pi * Double(index) / Double(sound.count))
      let angle = 2 * .pi * hertz * Double(index) / 48_000
      real += window * Double(sample) * cos(angle)
      imaginary += window * Double(sample) * sin(angle)
      weights += window
    }
    return 2 * (real * real + imaginary * imaginary).squareRoot() / weights
  }

  /// ITU-T G.711, tables 1a to 2b: the ends of the scale, the values next to zero, and the ends of segments.
  @Test func bytesOfG711StandForTheSamplesOfTheTables() {
    #expect([0x80, 0x00, 0xff, 0x7f, 0xfe, 0x7e].map(G711Decoder.muSample) == [32_124, -32_124, 0, 0, 8, -8])
    #expect([0x8f, 0x90, 0xf0, 0xef].map(G711Decoder.muSample) == [16_764, 15_996, 120, 132])
    #expect([0xaa, 0x2a, 0xd5, 0x55].map(G711Decoder.aSample) == [32_256, -32_256, 8, -8])
    #expect([0xda, 0xc5, 0xf5].map(G711Decoder.aSample) == [248, 264, 528])
    // Each law is monotonous on both sides of zero, and odd.
    for byte in UInt8(0)...0x7f {
      #expect(G711Decoder.muSample(byte) == -G711Decoder.muSample(byte | 0x80))
      #expect(G711Decoder.aSample(byte) == -G711Decoder.aSample(byte | 0x80))
      if byte > 0 { #expect(G711Decoder.muSample(byte) > G711Decoder.muSample(byte - 1)) }
      if byte > 0 { #expect(G711Decoder.aSample(byte ^ 0x55) < G711Decoder.aSample((byte - 1) ^ 0x55)) }
    }
  }

  @Test(arguments: [Codec.pcmu, .pcma], [300.0, 1000, 3100])
  func aToneOfG711IsHeardWithoutItsImages(_ codec: Codec, _ hertz: Double) throws {
    let sample = codec == .pcmu ? G711Decoder.muSample : G711Decoder.aSample
    let packets = (0..<25).map { packet in
      (0..<160).map { index in
        let value = 10_000 * sin(2 * .pi * hertz * Double(packet * 160 + index) / 8000)
        return (UInt8.min...UInt8.max).min { abs(Double(sample($0)) - value) < abs(Double(sample($1)) - value) } ?? 0
      }
    }
    let sound = try decode(packets, of: codec)
    #expect(sound.count == 24_000)
    let steady = sound[2400...]
    let level = 10_000 / 32_768.0
    #expect(abs(amplitude(hertz, in: steady) / level - 1) < 0.01)
    // What 8 kHz can't tell from the tone: 70 dB below it.
    for image in [8000 - hertz, 8000 + hertz, 16_000 - hertz] {
      #expect(amplitude(image, in: steady) < level / 3000, "\(image) Hz")
    }
  }

  /// The sound is late by 16 samples of 8 kHz, and by nothing else.
  @Test func samplesComeThroughAsTheyAre() throws {
    var packet = [UInt8](repeating: 0xff, count: 80)
    packet[20] = 0x80
    let sound = try decode([packet], of: .pcmu)
    let loud: Float = 32_124 / 32_768
    #expect(abs(sound[(20 + 16) * 6] - loud) < 1e-6)
    for index in 0..<80 where index != 36 { #expect(abs(sound[index * 6]) < 1e-6) }
  }

  @Test func aToneOfG722IsHeard() throws {
    let bytes = [UInt8](try #require(Data(base64Encoded: Self.g722)))
    #expect(bytes.count == 400)
    let sound = try decode([Array(bytes[..<160]), Array(bytes[160..<320]), Array(bytes[320...])], of: .g722)
    let steady = sound[480...]
    let level = 10_000 / 32_768.0
    #expect(abs(amplitude(1000, in: steady) / level - 1) < 0.05)
    for other in [500.0, 2000, 7000, 15_000, 17_000] { #expect(amplitude(other, in: steady) < level / 50) }
  }

  @Test(arguments: [Codec.g722, .pcmu, .pcma])
  func whatIsNoPacketIsRefused(_ codec: Codec) throws {
    let decoder = try #require(try AudioDecoders.make(codec))
    let buffer = UnsafeMutableBufferPointer<Float>.allocate(capacity: AudioDecoders.maximumBufferCount)
    defer { buffer.deallocate() }
    for count in [0, 1601, 60_000] {
      let packet = [UInt8](repeating: 0x55, count: count)
      #expect(throws: CodecError.self) { try packet.withUnsafeBytes { try decoder.decode($0, into: buffer) } }
    }
    let small = UnsafeMutableBufferPointer(rebasing: buffer[..<100])
    let packet = [UInt8](repeating: 0x55, count: 160)
    #expect(throws: CodecError.self) { try packet.withUnsafeBytes { try decoder.decode($0, into: small) } }
    #expect(try packet.withUnsafeBytes { try decoder.decode($0, into: buffer) } == 960)
    #expect(try [UInt8](repeating: 1, count: 1600).withUnsafeBytes { try decoder.decode($0, into: buffer) } == 9600)
    #expect(try decoder.restore(samples: 960, next: nil, into: buffer) == 0)
  }

  @Test func everyCodecOfSoundHasADecoder() throws {
    for row in CodecTable.rows { #expect((try AudioDecoders.make(row.codec) != nil) == (row.kind == .audio)) }
  }
}
