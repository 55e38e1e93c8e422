import AudioMix
import Codecs
import MediaCore
import Session

/// The decoders of all sound tracks, and the mix. Confined to the recording's thread.
///
/// Sound is decoded when it arrives, since its level says who talks, and waits there until the core says where it
/// belongs.
struct SoundTracks {
  /// Decoded sound that waits for its place.
  private final class Block {
    let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: OpusDecoder.maximumBufferCount)
    var id = FrameID(0)
    /// Floats that count.
    var count = 0
    deinit { samples.deallocate() }
  }

  private struct Entry {
    var decoder: OpusDecoder
    var track: Mixer.Track
    /// Lost packets in a row.
    var concealed = 0
    /// In the order of arrival.
    var waiting: [Block] = []
  }

  /// The length of what is concealed at a time: one packet of the usual length, samples.
  private static let packetSamples = 960
  /// What is lost for longer is silence: what the decoder invents does not fade out by itself. 100 ms.
  private static let concealmentLimit = 5
  /// More packets of a track than this never wait: three seconds.
  private static let waitingLimit = 150

  private var entries: [TrackID: Entry] = [:]
  /// Blocks to be used again.
  private var spare: [Block] = []
  private let mixer = Mixer()
  private let mixed: UnsafeMutableBufferPointer<Float>
  /// Packets that could not be decoded.
  private(set) var errors: UInt64 = 0

  init() {
    mixed = .allocate(capacity: mixer.blockSamples * OpusDecoder.channels)
    mixed.initialize(repeating: 0)
  }

  /// Frees the buffers; nothing may be called afterwards.
  consuming func finish() { mixed.deallocate() }

  /// The first sample that has not been mixed yet.
  var position: Int64 { mixer.position }

  /// Sound that arrived and was dropped, as it came too late for its place, so far.
  var dropped: SessionTime { SessionTime(nanoseconds: Int64(mixer.droppedSamples) * 125_000 / 6) }

  /// Decodes a packet that has arrived, or conceals a lost one (empty payload). Gives its level in -dBov (RFC 6464);
  /// nil when there is none.
  mutating func decode(_ id: FrameID, _ frame: EncodedFrame) -> UInt8? {
    do {
      var entry = try entries.removeValue(forKey: frame.track) ?? Entry(decoder: OpusDecoder(), track: mixer.addTrack())
      defer { entries[frame.track] = entry }
      let isLost = frame.payload.count == 0
      entry.concealed = isLost ? entry.concealed + 1 : 0
      if entry.concealed > Self.concealmentLimit { return nil }
      let block = spare.popLast() ?? Block()
      block.id = id
      do {
        let count =
          isLost
          ? try entry.decoder.conceal(samples: Self.packetSamples, into: block.samples)
          : try entry.decoder.decode(frame.payload.bytes, into: block.samples)
        block.count = count * OpusDecoder.channels
      } catch {
        errors += 1
        spare.append(block)
        return nil
      }
      entry.waiting.append(block)
      // Nobody wants the sound of a disabled track.
      if entry.waiting.count > Self.waitingLimit { spare.append(entry.waiting.removeFirst()) }
      return isLost
        ? nil : AudioLevel(of: UnsafeBufferPointer(rebasing: block.samples[..<block.count])).headerExtensionValue
    } catch {
      errors += 1
      return nil
    }
  }

  /// Places the sound of a packet. What lies at or after `end` is left out.
  mutating func play(_ id: FrameID, of track: TrackID, at time: SessionTime, until end: SessionTime?) {
    guard var entry = entries.removeValue(forKey: track) else { return }
    defer { entries[track] = entry }
    guard let index = entry.waiting.firstIndex(where: { $0.id == id }) else { return }
    let block = entry.waiting[index]
    var count = block.count
    if let end {
      let room = Self.samples(at: end) &- Self.samples(at: time)
      count = min(count, Int(max(0, min(room, Int64(OpusPacket.maximumSamples)))) * OpusDecoder.channels)
    }
    mixer.insert(
      UnsafeBufferPointer(rebasing: block.samples[..<count]), at: Self.samples(at: time), track: entry.track)
    // Packets are placed in the order in which they came: those before this one were not wanted.
    spare.append(contentsOf: entry.waiting[...index])
    entry.waiting.removeFirst(index + 1)
  }

  /// Mixes the next 20 ms. The samples are valid until the next call.
  mutating func mix() -> UnsafeBufferPointer<Float> {
    mixer.mix(into: mixed)
    return UnsafeBufferPointer(mixed)
  }

  /// Lets the decoder of a track go; what has been placed is still played.
  mutating func release(_ track: TrackID) {
    guard let entry = entries.removeValue(forKey: track) else { return }
    mixer.removeTrack(entry.track)
    spare.append(contentsOf: entry.waiting)
  }

  /// An instant as a number of samples at 48 kHz, rounded to the nearest.
  static func samples(at time: SessionTime) -> Int64 {
    let (milliseconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return milliseconds &* 48 &+ (rest * 48 + (rest < 0 ? -500_000 : 500_000)) / 1_000_000
  }
}
