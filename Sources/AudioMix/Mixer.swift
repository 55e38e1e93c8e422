public import MediaCore

/// Mixes the sound of all tracks into one line of 48 kHz stereo, block after block, from the first sample to the last:
/// silence where nobody is heard. Confined to one thread at a time; a block of the steady state allocates nothing.
public final class Mixer {
  /// Names a track of one mixer. Never used again within that mixer.
  public struct Track: Hashable, Sendable {
    fileprivate let number: Int
  }

  private struct Entry {
    let track: Track
    let timeline: AudioTrackTimeline
    var level = AudioLevel.silence
    var treatment = SoundTreatment(nil)
    /// Nil: its loudness stays as it is.
    var loudness: TrackLoudness?
    var isLeaving = false
  }

  /// Samples per channel of a block: 20 ms, one Opus frame.
  public let blockSamples: Int
  /// The first sample of the next block.
  public private(set) var position: Int64

  private var entries: [Entry] = []
  private var nextNumber = 0
  /// `droppedSamples` of tracks that are gone.
  private var droppedBefore = 0
  private var limiter = Limiter()
  private let trackCapacity: Int
  private let normalizesLoudness: Bool
  private let scratch: UnsafeMutableBufferPointer<Float>

  /// Makes a mixer without tracks.
  ///
  /// - Parameters:
  ///   - position: the first sample of the first block.
  ///   - blockSamples: per channel, 1...48000.
  ///   - trackCapacity: how far ahead of the mix a track's sound may be inserted, samples; where a picture a second is planned, that is
  ///     more than a second.
  ///   - normalizesLoudness: whether each track is brought to `LoudnessNormalizer.target` before mixing.
  public init(
    position: Int64 = 0, blockSamples: Int = 960, trackCapacity: Int = 96_000, normalizesLoudness: Bool = false
  ) {
    self.position = position
    self.blockSamples = min(max(blockSamples, 1), 48_000)
    self.trackCapacity = trackCapacity
    self.normalizesLoudness = normalizesLoudness
    scratch = .allocate(capacity: self.blockSamples * 2)
    scratch.initialize(repeating: 0)
  }

  deinit { scratch.deallocate() }

  /// Tracks at present, those that are fading out included.
  public var trackCount: Int { entries.count }

  /// Samples of all tracks, also of those that are gone, that were given and not mixed: they came too late, or lay too
  /// far ahead.
  public var droppedSamples: Int { entries.reduce(droppedBefore) { $0 + $1.timeline.dropped } }

  /// Gain of the limiter at the end of the last block, at most 1: how much the mix is turned down.
  public var limiterGain: Float { limiter.gain }

  /// Adds a silent track.
  public func addTrack() -> Track {
    let track = Track(number: nextNumber)
    nextNumber += 1
    entries.append(
      Entry(
        track: track, timeline: AudioTrackTimeline(position: position, capacity: trackCapacity),
        loudness: normalizesLoudness ? TrackLoudness() : nil))
    return track
  }

  /// Lets a track go: what it has been given is still played, then it is forgotten. Its name is void at once.
  public func removeTrack(_ track: Track) {
    guard let index = index(of: track) else { return }
    entries[index].isLeaving = true
  }

  /// Adds decoded sound to a track; see `AudioTrackTimeline.insert`. Ignored for a track that isn't there.
  public func insert(_ samples: UnsafeBufferPointer<Float>, at position: Int64, track: Track) {
    guard let index = index(of: track) else { return }
    entries[index].timeline.insert(samples, at: position)
  }

  /// Says what is done to a track's sound from `position` on; nil: nothing.
  public func process(_ processor: AudioProcessor?, track: Track) {
    guard let index = index(of: track) else { return }
    // Once is enough.
    let isNormalized = normalizesLoudness && processor == .loudness
    entries[index].treatment = SoundTreatment(isNormalized ? nil : processor)
  }

  /// How loud a track was in the last block as it came, before it was processed, its loudness normalized and the mix limited. Silence for
  /// a track that isn't there.
  public func level(of track: Track) -> AudioLevel {
    index(of: track).map { entries[$0].level } ?? .silence
  }

  /// What happened on a track so far; nil for a track that isn't there.
  public func statistics(of track: Track) -> AudioTrackTimeline.Statistics? {
    index(of: track).map { entries[$0].timeline.statistics }
  }

  /// Writes the samples from `position` to `position + blockSamples` and moves on.
  ///
  /// - Parameters:
  ///   - output: `blockSamples` x 2 floats, interleaved, all of them within -1...1 afterwards.
  ///   - tap: is given what each track that is not silent has, processed, and as loud as it came; nil: nobody listens.
  /// - Returns: false, and nothing is done, when the buffer has another size.
  @discardableResult
  public func mix(
    into output: UnsafeMutableBufferPointer<Float>, tap: ((Track, UnsafeBufferPointer<Float>) -> Void)? = nil
  ) -> Bool {
    guard output.count == blockSamples * 2, let base = output.baseAddress, let part = scratch.baseAddress else {
      return false
    }
    base.update(repeating: 0, count: output.count)
    var isAnyLeaving = false
    for index in entries.indices {
      let timeline = entries[index].timeline
      if timeline.isDrained {
        // Keeps its clock without touching a sample.
        timeline.skip(blockSamples)
        entries[index].level = .silence
      } else {
        timeline.read(into: scratch)
        entries[index].level = AudioLevel(of: UnsafeBufferPointer(scratch))
        entries[index].treatment.process(scratch)
        tap?(entries[index].track, UnsafeBufferPointer(scratch))
        entries[index].loudness?.normalize(scratch)
        for sample in 0..<output.count { base[sample] += part[sample] }
      }
      if entries[index].isLeaving { isAnyLeaving = true }
    }
    if isAnyLeaving {
      for entry in entries where entry.isLeaving && entry.timeline.isDrained { droppedBefore += entry.timeline.dropped }
      entries.removeAll { $0.isLeaving && $0.timeline.isDrained }
    }
    limiter.process(output)
    position &+= Int64(blockSamples)
    return true
  }

  private func index(of track: Track) -> Int? {
    entries.firstIndex { $0.track == track && !$0.isLeaving }
  }
}
