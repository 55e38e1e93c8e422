import Codecs
import MediaCore
import Session
import Synthetic
import Testing

@testable import Recording

/// What becomes of arriving sound before the mix.
struct AudioTracksTests {
  private static let track = TrackID("a")

  private static func frame(_ codec: Codec, _ payload: [UInt8]) -> EncodedFrame {
    EncodedFrame(codec: codec, payload: MediaBuffer(payload), rtpTime: 0, isKeyframe: true)
  }

  /// A second and a half of a voice, in packets that carry copies of those before them.
  private static func voice() throws -> [[UInt8]] {
    var settings = OpusEncoderSettings()
    (settings.isForSpeech, settings.bitrate) = (true, 32_000)
    (settings.isForwardErrorCorrecting, settings.expectedLossPercent) = (true, 30)
    let encoder = try OpusEncoder(settings: settings)
    var voice = SyntheticVoice(seed: 5, identity: 0)
    return try (0..<75).map { _ in
      var block = [Float](repeating: 0, count: 1920)
      block.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: true) }
      var packet = [UInt8](repeating: 0, count: OpusEncoder.maximumPacketSize)
      let count = try block.withUnsafeBufferPointer { input in
        try packet.withUnsafeMutableBytes { try encoder.encode(input, into: $0) }
      }
      return Array(packet[..<count])
    }
  }

  /// The mix of packets, every seventh of which is lost or not; a lost one is to be played before or after the next is there.
  /// Each packet that is played as a copy must be a lost one.
  private static func mix(_ packets: [[UInt8]], loses: Bool, waits: Bool, copies: inout Int) -> [Float] {
    var audio = AudioTracks()
    defer { audio.finish() }
    var output: [Float] = []
    func play(_ number: Int) {
      let time = SessionTime.milliseconds(Int64(number) * 20)
      guard audio.play(FrameID(UInt64(number)), of: track, at: time, until: nil) else { return }
      copies += 1
      #expect(loses && number % 7 == 6)
    }
    var late: Int?
    for (number, packet) in packets.enumerated() {
      let isLost = loses && number % 7 == 6
      _ = audio.decode(FrameID(UInt64(number)), frame(.opus, isLost ? [] : packet), of: track, arrived: .zero)
      if let late { play(late) }
      late = isLost && waits ? number : nil
      if late == nil { play(number) }
    }
    for _ in packets { output += audio.mix() }
    #expect(audio.errors == 0)
    return output
  }

  private static func distance(_ a: [Float], _ b: [Float]) -> Float {
    zip(a, b).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }
  }

  @Test func aLostPacketIsTakenFromTheCopyInTheNext() throws {
    let packets = try Self.voice()
    var copies = 0
    let whole = Self.mix(packets, loses: false, waits: false, copies: &copies)
    #expect(whole.contains { $0.magnitude > 0.05 })
    let invented = Self.distance(whole, Self.mix(packets, loses: true, waits: false, copies: &copies))
    #expect(copies == 0)
    let copied = Self.distance(whole, Self.mix(packets, loses: true, waits: true, copies: &copies))
    #expect((8...10).contains(copies), "\(copies) copies of 10 lost packets")
    #expect(copied < invented / 2, "copied \(copied), invented \(invented)")
  }

  /// A machine that stood still for ten seconds gets them all at once; compositions wait for three seconds.
  @Test(arguments: [10, 20, 120]) func soundWaitsUntilItIsItsTurnHoweverMuchThereIs(milliseconds: Int) {
    var audio = AudioTracks()
    defer { audio.finish() }
    let count = 10_000 / milliseconds
    for number in 0..<count {
      let packet = Self.frame(.pcmu, [UInt8](repeating: 0x90, count: 8 * milliseconds))
      let arrived = SessionTime.milliseconds(Int64(number * milliseconds))
      _ = audio.decode(FrameID(UInt64(number)), packet, of: Self.track, arrived: arrived)
    }
    for number in 0..<count {
      let time = SessionTime.milliseconds(Int64(number * milliseconds))
      audio.play(FrameID(UInt64(number)), of: Self.track, at: time, until: nil)
      while audio.position + 960 <= AudioTracks.samples(at: time) {
        let isBegin = audio.position < 1920
        let samples = audio.mix()
        #expect(isBegin || samples.allSatisfy { $0.magnitude > 0.1 }, "silence at \(time)")
      }
    }
    #expect(audio.errors == 0 && audio.dropped == .zero)
  }

  @Test func whoeverSendsTooMuchLosesTheOldest() {
    var audio = AudioTracks()
    defer { audio.finish() }
    let packet = Self.frame(.pcmu, [UInt8](repeating: 0x90, count: 960))
    for number in 0..<200 {
      _ = audio.decode(FrameID(UInt64(number)), packet, of: Self.track, arrived: .zero)
    }
    // Of 24 s in packets of 120 ms the last 15.
    audio.play(FrameID(74), of: Self.track, at: .zero, until: nil)
    #expect(audio.mix().allSatisfy { $0 == 0 })
    audio.play(FrameID(75), of: Self.track, at: .milliseconds(20), until: nil)
    #expect(audio.mix().contains { $0.magnitude > 0.1 })
  }

  @Test func soundThatNobodyAsksForIsForgotten() {
    var audio = AudioTracks()
    defer { audio.finish() }
    for number in 0..<100 {
      let packet = Self.frame(.pcmu, [UInt8](repeating: 0x90, count: 160))
      let arrived = SessionTime.milliseconds(Int64(number * 20))
      _ = audio.decode(FrameID(UInt64(number)), packet, of: Self.track, arrived: arrived)
    }
    audio.forget(before: .milliseconds(1980))
    audio.play(FrameID(98), of: Self.track, at: .zero, until: nil)
    #expect(audio.mix().allSatisfy { $0 == 0 })
    audio.play(FrameID(99), of: Self.track, at: .milliseconds(20), until: nil)
    #expect(audio.mix().contains { $0.magnitude > 0.1 })
  }

  @Test func aTrackMayChangeItsCodec() throws {
    var audio = AudioTracks()
    defer { audio.finish() }
    let opus = try #require(try Self.voice().first)
    let first = audio.decode(FrameID(0), Self.frame(.opus, opus), of: Self.track, arrived: .zero)
    #expect(first != nil)
    // A square wave of 500 Hz.
    let square = (0..<160).map { UInt8($0 / 8 % 2 == 0 ? 0x9f : 0x1f) }
    for number in UInt64(1)...4 {
      let level = audio.decode(FrameID(number), Self.frame(.pcmu, square), of: Self.track, arrived: .zero)
      #expect(try #require(level) < 20)
    }
    let lost = audio.decode(FrameID(5), Self.frame(.pcmu, []), of: Self.track, arrived: .zero)
    let tooLong = audio.decode(
      FrameID(6), Self.frame(.pcmu, [UInt8](repeating: 0, count: 1601)), of: Self.track, arrived: .zero)
    #expect(lost == nil && tooLong == nil)
    #expect(audio.errors == 1)
  }
}
