import MediaCore
import Platform
import Rooms
import Synchronization

/// Sends pictures of one publication that are encoded already, on the room's loop.
final class EncodedVideoSender: TrackSender {
  private struct Order {
    /// Layers of which nothing can be sent before a keyframe: what came before it is missing.
    var broken: Set<Int>
    /// The time of each layer's last frame.
    var last: [Int: Duration] = [:]
    var clock = SendClock()
  }

  private let queue: SendQueue<VideoProcessor>
  private let layers: Range<Int>
  private let keyframeWanted: @Sendable (Int?) -> Void
  private let order: Mutex<Order>

  init(_ source: some EncodedVideoSource, core: RoomCore) {
    layers = source.layers.indices
    keyframeWanted = { source.keyframeWanted(layer: $0) }
    order = Mutex(Order(broken: Set(source.layers.indices)))
    // A second of three layers.
    queue = SendQueue(core: core, limit: 100) { [threads = core.threads] in threads.loop.post($0) }
  }

  var dropped: Int { queue.dropped }

  func begin(as id: LocalTrackID) { queue.begin(as: id) }

  func pause(_ isPaused: Bool) {
    if isPaused { order.withLock { $0.broken = Set(layers) } }
    if queue.pause(isPaused) { keyframeWanted(nil) }
  }

  /// What is encoded cannot be processed: then it is not sent.
  func process(_ processors: TrackProcessors) {
    queue.process(processors.video)
    let isBroken = order.withLock { order in
      if processors.video != nil { order.broken = Set(layers) }
      return !order.broken.isEmpty
    }
    if processors.video == nil, isBroken { keyframeWanted(nil) }
  }

  func wantKeyframe(_ layer: Int?) { keyframeWanted(layer) }

  func take(_ frame: EncodedVideoFrame) {
    guard layers.contains(frame.layer), !frame.bytes.isEmpty else { return }
    let now = MonotonicClock.now
    let isTaken = queue.put { [self] client, id, processor in
      guard processor == nil else { return false }
      guard let (elapsed, capturedAt) = time(of: frame, at: now) else {
        lost(frame.layer)
        return false
      }
      client.send(
        MediaBuffer(frame.bytes), of: id, layer: frame.layer,
        rtpTime: UInt32(truncatingIfNeeded: elapsed.nanoseconds / 1000 * 9 / 100), capturedAt: capturedAt,
        audioLevel: nil, isVoice: false)
      return true
    }
    if !isTaken { lost(frame.layer) }
  }

  /// A frame of a layer is not sent: those that follow refer to it, and nobody in the room knows that it is missing.
  private func lost(_ layer: Int) {
    if order.withLock({ $0.broken.insert(layer).inserted }) { keyframeWanted(layer) }
  }

  /// When a frame was captured; nil when it cannot be sent.
  private func time(of frame: EncodedVideoFrame, at now: Instant) -> (elapsed: Duration, capturedAt: Instant)? {
    order.withLock { order in
      let time = order.clock.time(frame.time, at: now)
      let isAfterLast = time.elapsed > order.last[frame.layer] ?? .seconds(-1)
      guard isAfterLast, frame.isKeyframe || !order.broken.contains(frame.layer) else { return nil }
      order.broken.remove(frame.layer)
      order.last[frame.layer] = time.elapsed
      return time
    }
  }
}

/// Sends sound of one publication that is encoded already, on the room's loop.
final class EncodedAudioSender: TrackSender {
  private let queue: SendQueue<AudioProcessor>
  private let clock = Mutex(SendClock())

  init(core: RoomCore) {
    queue = SendQueue(core: core, limit: 100) { [threads = core.threads] in threads.loop.post($0) }
  }

  var dropped: Int { queue.dropped }

  func begin(as id: LocalTrackID) { queue.begin(as: id) }

  func pause(_ isPaused: Bool) { _ = queue.pause(isPaused) }

  /// What is encoded cannot be processed: then it is not sent.
  func process(_ processors: TrackProcessors) { queue.process(processors.audio) }

  func wantKeyframe(_ layer: Int?) {}

  func take(_ frame: EncodedAudioFrame) {
    let now = MonotonicClock.now
    queue.put { [self] client, id, processor in
      guard processor == nil, !frame.bytes.isEmpty else { return false }
      let time = clock.withLock { $0.time(frame.time, at: now) }
      client.send(
        MediaBuffer(frame.bytes), of: id, layer: 0,
        rtpTime: UInt32(truncatingIfNeeded: time.elapsed.nanoseconds / 1000 * 6 / 125), capturedAt: time.capturedAt,
        audioLevel: frame.level, isVoice: frame.level.map { $0 < quietestVoice } ?? false)
      return true
    }
  }
}
