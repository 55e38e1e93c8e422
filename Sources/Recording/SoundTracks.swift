import AudioMix
import Codecs
import MediaCore

/// The decoders of all sound tracks, and the mix. Confined to the recording's thread.
struct SoundTracks {
  private struct Entry {
    var decoder: OpusDecoder
    var track: Mixer.Track
    /// Lost packets in a row.
    var concealed = 0
  }

  /// The length of what is concealed at a time: one packet of the usual length, samples.
  private static let packetSamples = 960
  /// What is lost for longer is silence: what the decoder invents does not fade out by itself. 100 ms.
  private static let concealmentLimit = 5

  private var entries: [TrackID: Entry] = [:]
  private let mixer = Mixer()
  private let decoded = UnsafeMutableBufferPointer<Float>.allocate(capacity: OpusDecoder.maximumBufferCount)
  private let mixed: UnsafeMutableBufferPointer<Float>
  /// Packets that could not be decoded.
  private(set) var errors: UInt64 = 0

  init() {
    mixed = .allocate(capacity: mixer.blockSamples * OpusDecoder.channels)
    decoded.initialize(repeating: 0)
    mixed.initialize(repeating: 0)
  }

  /// Frees the buffers; nothing may be called afterwards.
  consuming func finish() {
    decoded.deallocate()
    mixed.deallocate()
  }

  /// The first sample that has not been mixed yet.
  var position: Int64 { mixer.position }

  /// Decodes a packet, or conceals a lost one (empty payload), and places it where its timestamp says.
  mutating func insert(_ frame: EncodedFrame, at time: SessionTime) {
    do {
      var entry = try entries[frame.track] ?? Entry(decoder: OpusDecoder(), track: mixer.addTrack())
      defer { entries[frame.track] = entry }
      let isLost = frame.payload.count == 0
      entry.concealed = isLost ? entry.concealed + 1 : 0
      if entry.concealed > Self.concealmentLimit { return }
      let count =
        isLost
        ? try entry.decoder.conceal(samples: Self.packetSamples, into: decoded)
        : try entry.decoder.decode(frame.payload.bytes, into: decoded)
      let samples = UnsafeBufferPointer(rebasing: decoded[..<(count * OpusDecoder.channels)])
      mixer.insert(samples, at: Self.samples(at: time), track: entry.track)
    } catch {
      errors += 1
    }
  }

  /// Mixes the next 20 ms. The samples are valid until the next call.
  mutating func mix() -> UnsafeBufferPointer<Float> {
    mixer.mix(into: mixed)
    return UnsafeBufferPointer(mixed)
  }

  /// Lets the decoder of a track go; what it has given is still played.
  mutating func release(_ track: TrackID) {
    if let entry = entries.removeValue(forKey: track) { mixer.removeTrack(entry.track) }
  }

  /// An instant as a number of samples at 48 kHz, rounded to the nearest.
  static func samples(at time: SessionTime) -> Int64 {
    let (milliseconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return milliseconds &* 48 &+ (rest * 48 + (rest < 0 ? -500_000 : 500_000)) / 1_000_000
  }
}
