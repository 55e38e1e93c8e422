import Codecs
import MediaCore
import Rooms
import Session
import Synchronization

/// Sound that somebody else publishes. Nothing is decoded while nobody renders it. May be used on any thread.
public final class RemoteAudioTrack: Sendable {
  /// The most packets that wait for the media thread: ten seconds. What comes then is left out.
  private static let waitingLimit = 500

  let state: RemoteTrackState
  private let core: RoomCore
  private let list = Mutex(RendererList<any AudioRenderer>())
  private let decoding = AudioDecoding()
  private let processing = CustomProcessing<AudioBlock>()

  init(_ track: Track, core: RoomCore) {
    state = RemoteTrackState(track)
    self.core = core
  }

  /// The room's name of the publication.
  public var id: TrackID { state.id }
  /// Who publishes it.
  public var participant: ParticipantIdentity { track.participant }
  /// The publisher's name for it.
  public var name: String { track.name }
  /// Where it comes from.
  public var source: TrackSource { track.source }
  /// The same as the room knows it.
  public var track: RemoteTrack { .audio(self) }

  /// Adds a renderer, which the track keeps. Adding it again does nothing.
  public func add(renderer: some AudioRenderer) {
    list.withLock { $0.renderers[ObjectIdentifier(renderer)] = renderer }
  }

  /// Takes a renderer away; it may be called once more with what is on its way.
  public func remove(renderer: some AudioRenderer) { remove(ObjectIdentifier(renderer)) }

  private func remove(_ renderer: ObjectIdentifier) {
    list.withLock { _ = $0.renderers.removeValue(forKey: renderer) }
  }

  /// How often a stretch of sound was withheld since its processor threw, made another length of it, or was late.
  public var processorFailures: Int { processing.failures }

  /// Has other sound made of what is decoded from now on, before anybody renders it; nil: it is rendered as it is.
  public func process(by processor: (any CustomAudioProcessor)?) { processing.process(by: processor) }

  /// The sound as a sequence of stereo blocks, until the track is gone or the reader goes away. Keeps at most `limit` blocks
  /// that are not read yet (ten seconds of the usual 20 ms), and loses the oldest.
  public func blocks(limit: Int = 500) -> AsyncStream<AudioBlock> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: AudioBlock.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
    let renderer = SequenceRenderer(continuation)
    let key = ObjectIdentifier(renderer)
    continuation.onTermination = { [weak self] _ in
      self?.remove(key)
      self?.state.forget(key)
    }
    add(renderer: renderer)
    state.whenGone(key) { continuation.finish() }
    return stream
  }

  /// Says whether the server is to send the track; also after the connection was lost and came back. A two-party room sends all that there is.
  public func receive(_ isWanted: Bool) {
    core.client?.receive([ReceptionWish(track: id, reception: isWanted ? .wanted : .hidden)])
  }

  /// Returns when the track is not published any more, the bot has left, or the task is cancelled.
  public func ended() async { await state.ended() }

  /// Takes a packet, or a lost one (empty); on the loop.
  func receive(_ frame: EncodedFrame) {
    let isTaken: Bool? = list.withLock { list in
      guard !list.renderers.isEmpty else { return nil }
      guard list.waiting < Self.waitingLimit else { return false }
      list.waiting += 1
      return true
    }
    switch isTaken {
    case nil: break
    case true?: core.threads.media.post { [self] in decode(frame) }
    case false?: state.change { $0.statistics.dropped += 1 }
    }
  }

  private func decode(_ frame: EncodedFrame) {
    let renderers = list.withLock { list in
      list.waiting -= 1
      return Array(list.renderers.values)
    }
    guard !renderers.isEmpty else { return }
    let outcome = decoding.decode(frame)
    state.change { $0.statistics.errors += outcome.errors }
    guard processing.isInUse else {
      for block in outcome.blocks { render(block, renderers) }
      return
    }
    for block in outcome.blocks {
      processing.pass(block) { [self] block in
        core.threads.media.post { [self] in render(block, list.withLock { Array($0.renderers.values) }) }
      }
    }
  }

  private func render(_ block: AudioBlock, _ renderers: [any AudioRenderer]) {
    guard !renderers.isEmpty else { return }
    state.change { $0.statistics.rendered += 1 }
    for renderer in renderers { renderer.render(block) }
  }
}

// Sendable by confinement: the media thread's.
/// A track's decoder.
private final class AudioDecoding: @unchecked Sendable {
  /// What is lost for longer is silence, a gap: what decoders invent does not fade out by itself.
  private static let concealmentLimit = 5

  private var decoder: (any AudioDecoder)?
  private var codec: Codec?
  private var clock = FrameClock()
  /// Lost packets directly before the next, the oldest first, of those that are made up for.
  private var missing: [Duration] = []
  private let buffer = UnsafeMutableBufferPointer<Float>.allocate(capacity: AudioDecoders.maximumBufferCount)

  deinit { buffer.deallocate() }

  func decode(_ frame: EncodedFrame) -> (blocks: [AudioBlock], errors: Int) {
    if frame.codec != codec {
      (codec, missing) = (frame.codec, [])
      decoder = (try? AudioDecoders.make(frame.codec)) ?? nil
    }
    guard let decoder else { return ([], 1) }
    let time = clock.time(of: frame)
    guard frame.payload.count > 0 else {
      if missing.count < Self.concealmentLimit { missing.append(time) }
      return ([], 0)
    }
    var blocks: [AudioBlock] = []
    let lost = missing
    missing = []
    for (index, lostTime) in lost.enumerated() {
      // Only the packet directly after a lost one may carry its copy.
      let next = index + 1 == lost.count ? frame.payload.bytes : nil
      let samples = min(960, max(0, Int((time - lostTime).nanoseconds / 125_000 * 6)))
      guard samples > 0, let count = try? decoder.restore(samples: samples, next: next, into: buffer), count > 0
      else { continue }
      blocks.append(block(count, lostTime))
    }
    do {
      let count = try decoder.decode(frame.payload.bytes, into: buffer)
      if count > 0 { blocks.append(block(count, time)) }
      return (blocks, 0)
    } catch {
      return (blocks, 1)
    }
  }

  private func block(_ samples: Int, _ time: Duration) -> AudioBlock {
    AudioBlock(Array(buffer[..<(samples * OpusDecoder.channels)]), channels: OpusDecoder.channels, time: time)
  }
}
