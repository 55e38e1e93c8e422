import Codecs
import MediaCore
import Rooms
import Session
import Synchronization

/// Pictures that somebody else publishes. Nothing is decoded while nobody renders them. May be used on any thread.
public final class RemoteVideoTrack: Sendable {
  /// The most encoded frames that wait for the media thread; what comes then is left out until a keyframe.
  private static let waitingLimit = 60

  let state: RemoteTrackState
  private let core: RoomCore
  private let list = Mutex(RendererList<any VideoRenderer>())
  private let decoding = VideoDecoding()
  private let processing = CustomProcessing<VideoFrame>()

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
  public var track: RemoteTrack { .video(self) }

  /// Adds a renderer, which the track keeps; it begins with the next keyframe, which is asked for. Adding it again does
  /// nothing.
  public func add(renderer: some VideoRenderer) {
    let isFirst = list.withLock { list in
      list.renderers[ObjectIdentifier(renderer)] = renderer
      return list.renderers.count == 1
    }
    if isFirst { core.client?.requestKeyframe(id) }
  }

  /// Takes a renderer away; it may be called once more with what is on its way.
  public func remove(renderer: some VideoRenderer) { remove(ObjectIdentifier(renderer)) }

  private func remove(_ renderer: ObjectIdentifier) {
    let isLast = list.withLock { list in
      guard list.renderers.removeValue(forKey: renderer) != nil else { return false }
      return list.renderers.isEmpty
    }
    if isLast { core.threads.media.post { [decoding] in decoding.reset() } }
  }

  /// How often a picture was withheld since its processor threw or was late.
  public var processorFailures: Int { processing.failures }

  /// Has other pictures made of those that are decoded from now on, before anybody renders them; nil: they are rendered as they are.
  public func process(by processor: (any CustomVideoProcessor)?) { processing.process(by: processor) }

  /// The pictures as a sequence, from the next keyframe on, until the track is gone or the reader goes away. Keeps at most
  /// `limit` pictures that are not read yet, and loses the oldest.
  public func frames(limit: Int = 2) -> AsyncStream<VideoFrame> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: VideoFrame.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
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

  /// Asks its publisher for a keyframe.
  public func requestKeyframe() { core.client?.requestKeyframe(id) }

  /// Says whether the server is to send the track, and the size that suffices: of a track with several layers the smallest
  /// that has it comes. Nil: the largest.
  public func receive(_ isWanted: Bool, preferring dimensions: Dimensions? = nil) {
    core.client?.receive([
      ReceptionWish(
        track: id, reception: isWanted ? .wanted : .hidden, width: dimensions?.width ?? 0,
        height: dimensions?.height ?? 0)
    ])
  }

  /// Returns when the track is not published any more, the bot has left, or the task is cancelled.
  public func ended() async { await state.ended() }

  /// Takes a frame; on the loop.
  func receive(_ frame: EncodedFrame) {
    enum Way { case none, decoded, dropped }
    let way: Way = list.withLock { list in
      guard !list.renderers.isEmpty else { return .none }
      guard list.waiting < Self.waitingLimit else { return .dropped }
      list.waiting += 1
      return .decoded
    }
    switch way {
    case .none: break
    case .decoded: core.threads.media.post { [self] in decode(frame) }
    case .dropped:
      state.change { $0.statistics.dropped += 1 }
      decoding.isBehind.withLock { $0 = true }
    }
  }

  private func decode(_ frame: EncodedFrame) {
    let renderers = list.withLock { list in
      list.waiting -= 1
      return Array(list.renderers.values)
    }
    guard !renderers.isEmpty else { return }
    switch decoding.decode(frame) {
    case .picture(let frame):
      guard processing.isInUse else { return render(frame, renderers) }
      processing.pass(frame) { [self] frame in
        core.threads.media.post { [self] in render(frame, list.withLock { Array($0.renderers.values) }) }
      }
    case .nothing: break
    case .needsKeyframe(let isError):
      if isError { state.change { $0.statistics.errors += 1 } }
      core.client?.requestKeyframe(id)
    }
  }

  private func render(_ frame: VideoFrame, _ renderers: [any VideoRenderer]) {
    guard !renderers.isEmpty else { return }
    state.change { $0.statistics.rendered += 1 }
    for renderer in renderers { renderer.render(frame) }
  }
}

// Sendable by confinement: everything mutable but `isBehind` is the media thread's.
/// A track's decoder.
private final class VideoDecoding: @unchecked Sendable {
  enum Outcome {
    case picture(VideoFrame)
    case nothing
    case needsKeyframe(isError: Bool)
  }

  /// Frames were left out; any thread.
  let isBehind = Mutex(false)
  private var decoder: (any VideoDecoder)?
  private var codec: Codec?
  // Renderers may keep pictures: those are not used again.
  private var pool = PicturePool(limit: 8)
  private var clock = FrameClock()

  func reset() { (decoder, codec, pool) = (nil, nil, PicturePool(limit: 8)) }

  func decode(_ frame: EncodedFrame) -> Outcome {
    let wasBehind = isBehind.withLock { isBehind in
      defer { isBehind = false }
      return isBehind
    }
    if frame.codec != codec { (codec, decoder) = (frame.codec, VideoDecoders.make(frame.codec)) }
    guard let decoder else { return .nothing }
    if (frame.followsLoss || wasBehind) && !frame.isKeyframe { decoder.reset() }
    var isError = false
    do {
      if let picture = try decoder.decode(frame.payload.bytes, isKeyframe: frame.isKeyframe, into: &pool) {
        picture.rotation = frame.rotation
        return .picture(VideoFrame(picture, time: clock.time(of: frame)))
      }
    } catch {
      isError = true
    }
    return decoder.needsKeyframe ? .needsKeyframe(isError: isError) : .nothing
  }
}
