import AudioMix
import Codecs
import MediaCore
import Session

/// The decoders of all sound tracks, and the mix. Confined to the recording's thread.
///
/// Sound is decoded when it arrives, since its level says who talks, and waits there until the core says where it
/// belongs.
struct AudioTracks {
  /// Decoded sound that waits for its place.
  private final class Block {
    private(set) var samples: UnsafeMutableBufferPointer<Float>
    var id = FrameID(0)
    var arrived = SessionTime.zero
    /// It never came, and the packet behind it brought it again.
    var isCopy = false
    /// Floats that count.
    private(set) var count = 0
    /// Room for so many floats.
    init(_ capacity: Int) { samples = .allocate(capacity: capacity) }
    deinit { samples.deallocate() }

    /// Takes over what was decoded.
    func fill(_ source: UnsafeMutableBufferPointer<Float>, _ count: Int) {
      if samples.count < count {
        samples.deallocate()
        samples = .allocate(capacity: count)
      }
      _ = samples.update(fromContentsOf: source[..<count])
      self.count = count
    }
  }

  private struct Entry {
    var codec: Codec
    var decoder: any AudioDecoder
    var track: Mixer.Track
    /// Lost stretches in a row.
    var lost = 0
    /// The first of them, until the packet after them is there, or they are to be played.
    var missing: [FrameID] = []
    /// When the newest packet arrived.
    var newest = SessionTime.zero
    /// In the order of arrival.
    var waiting: [Block] = []
    /// The floats for which they have room.
    var room = 0
  }

  /// The length of what is told as lost at a time: one packet of the usual length, samples.
  private static let packetSamples = 960
  /// What is lost for longer is silence: what the decoder invents does not fade out by itself. 100 ms.
  private static let concealmentLimit = 5
  /// No more sound of a track waits, in floats (fifteen seconds), whatever it sends.
  private static let mostRoom = 15 * 48_000 * OpusDecoder.channels

  private var entries: [TrackID: Entry] = [:]
  /// Which tracks those of the mixer are; also some that were let go, of which what has been placed is still played.
  private var names: [Mixer.Track: TrackID] = [:]
  /// What is done to the sound of tracks, also of those that have not sent any.
  private var processors: [TrackID: AudioProcessor] = [:]
  /// Blocks to be used again.
  private var spare: [Block] = []
  private let mixer: Mixer
  private let mixed: UnsafeMutableBufferPointer<Float>
  private let decoded = UnsafeMutableBufferPointer<Float>.allocate(capacity: AudioDecoders.maximumBufferCount)
  /// Packets that could not be decoded.
  private(set) var errors: UInt64 = 0

  /// `normalizesLoudness`: each speaker is as loud as every other; see `LoudnessNormalizer`.
  init(normalizesLoudness: Bool = false) {
    mixer = Mixer(normalizesLoudness: normalizesLoudness)
    mixed = .allocate(capacity: mixer.blockSamples * OpusDecoder.channels)
    mixed.initialize(repeating: 0)
  }

  /// Frees the buffers; nothing may be called afterwards.
  consuming func finish() {
    mixed.deallocate()
    decoded.deallocate()
  }

  /// The first sample that has not been mixed yet.
  var position: Int64 { mixer.position }

  /// Sound that arrived and was dropped, as it came too late for its place, so far.
  var dropped: Duration { Self.length(of: mixer.droppedSamples) }

  /// The tracks that are played.
  var tracks: [TrackID] { Array(entries.keys) }

  /// The same of one track, as long as it has not been released.
  func dropped(of track: TrackID) -> Duration {
    let statistics = entries[track].flatMap { mixer.statistics(of: $0.track) }
    return Self.length(of: statistics?.lateSamples ?? 0)
  }

  /// Decodes a packet that has arrived, and what was lost directly before it (empty payloads): the packet may carry a copy.
  /// Gives its level in -dBov (RFC 6464); nil when there is none.
  mutating func decode(_ id: FrameID, _ frame: EncodedFrame, of track: TrackID, arrived: SessionTime) -> UInt8? {
    do {
      guard var entry = try entries.removeValue(forKey: track) ?? newEntry(frame.codec, of: track) else { return nil }
      defer { entries[track] = entry }
      entry.newest = arrived
      if entry.codec != frame.codec, let decoder = try AudioDecoders.make(frame.codec) {
        restoreMissing(of: &entry, next: nil)
        (entry.codec, entry.decoder) = (frame.codec, decoder)
      }
      guard frame.payload.count > 0 else {
        entry.lost += 1
        if entry.lost <= Self.concealmentLimit { entry.missing.append(id) }
        return nil
      }
      restoreMissing(of: &entry, next: frame.payload.bytes)
      entry.lost = 0
      let block = add(id, to: &entry) { (decoder, samples) throws(CodecError) in
        try decoder.decode(frame.payload.bytes, into: samples)
      }
      guard let block else { return nil }
      return AudioLevel(of: UnsafeBufferPointer(rebasing: block.samples[..<block.count])).headerExtensionValue
    } catch {
      errors += 1
      return nil
    }
  }

  private mutating func newEntry(_ codec: Codec, of track: TrackID) throws(CodecError) -> Entry? {
    guard let decoder = try AudioDecoders.make(codec) else { return nil }
    let entry = Entry(codec: codec, decoder: decoder, track: mixer.addTrack())
    if names.count > 2 * entries.count + 16 {
      let present = Set(entries.values.map(\.track))
      names = names.filter { present.contains($0.key) }
    }
    names[entry.track] = track
    if let processor = processors[track] { mixer.process(processor, track: entry.track) }
    return entry
  }

  /// Stands in for what is missing, of which the last stretch lies before the packet `next`, when that is there.
  private mutating func restoreMissing(of entry: inout Entry, next: UnsafeRawBufferPointer?) {
    for (index, id) in entry.missing.enumerated() {
      let packet = index + 1 == entry.lost ? next : nil
      let block = add(id, to: &entry) { (decoder, samples) throws(CodecError) in
        try decoder.restore(samples: Self.packetSamples, next: packet, into: samples)
      }
      if let packet { block?.isCopy = entry.decoder.carriesCopy(packet) }
    }
    entry.missing.removeAll(keepingCapacity: true)
  }

  /// Lets the decoder make a block, which waits from then on. Nil when there is none.
  private mutating func add(
    _ id: FrameID, to entry: inout Entry,
    _ decode: (any AudioDecoder, UnsafeMutableBufferPointer<Float>) throws(CodecError) -> Int
  ) -> Block? {
    let count: Int
    do {
      count = try decode(entry.decoder, decoded) * OpusDecoder.channels
    } catch {
      errors += 1
      return nil
    }
    guard count > 0 else { return nil }
    let block = spare.popLast() ?? Block(max(480, count))
    (block.id, block.arrived, block.isCopy) = (id, entry.newest, false)
    block.fill(decoded, count)
    entry.waiting.append(block)
    entry.room += block.samples.count
    while entry.room > Self.mostRoom, entry.waiting.count > 1 { drop(1, of: &entry) }
    return block
  }

  /// Places the sound of a packet. What lies at or after `end` is left out. Answers whether it is a packet that never came
  /// and was brought again by the one behind it.
  @discardableResult
  mutating func play(_ id: FrameID, of track: TrackID, at time: SessionTime, until end: SessionTime?) -> Bool {
    guard var entry = entries.removeValue(forKey: track) else { return false }
    defer { entries[track] = entry }
    if entry.missing.contains(id) { restoreMissing(of: &entry, next: nil) }
    guard let index = entry.waiting.firstIndex(where: { $0.id == id }) else { return false }
    let block = entry.waiting[index]
    var count = block.count
    if let end {
      let room = Self.samples(at: end) &- Self.samples(at: time)
      count = min(count, Int(max(0, min(room, Int64(AudioDecoders.maximumSamples)))) * OpusDecoder.channels)
    }
    mixer.insert(
      UnsafeBufferPointer(rebasing: block.samples[..<count]), at: Self.samples(at: time), track: entry.track)
    // Packets are placed in the order in which they came: those before this one were not wanted.
    let isCopy = block.isCopy
    drop(index + 1, of: &entry)
    return isCopy
  }

  /// Lets go of the first blocks that wait.
  private mutating func drop(_ count: Int, of entry: inout Entry) {
    for block in entry.waiting[..<count] { entry.room -= block.samples.count }
    spare.append(contentsOf: entry.waiting[..<count])
    entry.waiting.removeFirst(count)
  }

  /// Lets go of what arrived before an instant and has not been played: nobody wants the sound of a disabled track.
  mutating func forget(before instant: SessionTime) {
    let stale = entries.compactMap { $1.waiting.first.map { $0.arrived < instant } == true ? $0 : nil }
    for track in stale {
      guard var entry = entries.removeValue(forKey: track) else { continue }
      drop(entry.waiting.prefix { $0.arrived < instant }.count, of: &entry)
      entries[track] = entry
    }
  }

  /// Mixes the next 20 ms. The samples are valid until the next call. `tap` is given what each track has that is not silent; nil:
  /// nobody listens.
  mutating func mix(tap: ((TrackID, UnsafeBufferPointer<Float>) -> Void)? = nil) -> UnsafeBufferPointer<Float> {
    if let tap {
      mixer.mix(into: mixed) { [names] track, samples in if let name = names[track] { tap(name, samples) } }
    } else {
      mixer.mix(into: mixed)
    }
    return UnsafeBufferPointer(mixed)
  }

  /// Says what is done to the sound of a track that has not been mixed yet; nil: nothing.
  mutating func process(_ processor: AudioProcessor?, track: TrackID) {
    processors[track] = processor
    if let entry = entries[track] { mixer.process(processor, track: entry.track) }
  }

  /// Lets the decoder of a track go; what has been placed is still played.
  mutating func release(_ track: TrackID) {
    processors[track] = nil
    guard let entry = entries.removeValue(forKey: track) else { return }
    mixer.removeTrack(entry.track)
    spare.append(contentsOf: entry.waiting)
  }

  private static func length(of samples: some BinaryInteger) -> Duration { .nanoseconds(Int64(samples) * 125_000 / 6) }

  /// An instant as a number of samples at 48 kHz, rounded to the nearest.
  static func samples(at time: SessionTime) -> Int64 {
    let (milliseconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return milliseconds &* 48 &+ (rest * 48 + (rest < 0 ? -500_000 : 500_000)) / 1_000_000
  }
}
