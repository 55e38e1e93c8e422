import Codecs
import Compositor
import MediaCore
import Platform
import Rooms
import Synchronization

/// Encodes the pictures of one publication, in all its sizes, and sends them. `take` may be called on any thread; the work is
/// done on the room's media thread.
final class VideoSender: TrackSender {
  private let queue: SendQueue<VideoProcessor>
  private let encoding: VideoEncoding
  /// Layers of which somebody needs a keyframe; nil: of all.
  private let keyframes = Mutex<Set<Int?>>([])

  init(_ options: VideoPublishOptions, core: RoomCore) {
    encoding = VideoEncoding(options)
    // The encoder is given the present: two pictures wait, more are left out.
    queue = SendQueue(core: core, limit: 2, processor: options.processor) { [threads = core.threads] in
      threads.media.post($0)
    }
  }

  var dropped: Int { queue.dropped }

  func begin(as id: LocalTrackID) { queue.begin(as: id) }

  func pause(_ isPaused: Bool) { if queue.pause(isPaused) { wantKeyframe(nil) } }

  func process(_ processors: TrackProcessors) { queue.process(processors.video) }

  func wantKeyframe(_ layer: Int?) { keyframes.withLock { _ = $0.insert(layer) } }

  func take(_ frame: VideoFrame) {
    let now = MonotonicClock.now
    queue.put { [self] client, id, processor in
      let wanted = keyframes.withLock { wanted in
        defer { wanted = [] }
        return wanted
      }
      let isSent = encoding.encode(frame, by: processor, at: now, keyframes: wanted) {
        bytes, layer, rtpTime, capturedAt in
        client.send(
          MediaBuffer(copying: bytes), of: id, layer: layer, rtpTime: rtpTime, capturedAt: capturedAt, audioLevel: nil,
          isVoice: false)
      }
      if !isSent { keyframes.withLock { $0.formUnion(wanted) } }
      return isSent
    }
  }
}

// Sendable by confinement: the media thread's.
/// The encoders of one publication, a layer each.
private final class VideoEncoding: @unchecked Sendable {
  typealias Send = (UnsafeRawBufferPointer, _ layer: Int, _ rtpTime: UInt32, _ capturedAt: Instant) -> Void

  private struct Layer {
    var size: Dimensions
    var encoder: VPXEncoder
    var pool = PicturePool(limit: 2)
  }

  /// The largest picture that is sent.
  private static let sizeCap = SizeCap.standard

  private let options: VideoPublishOptions
  private let frameRate: Int
  private var layers: [Layer] = []
  private var size: Dimensions?
  private var processing = PictureProcessing()
  private var clock = SendClock()
  private var rate: FrameRateLimit
  private var last = Duration.seconds(-1)

  init(_ options: VideoPublishOptions) {
    self.options = options
    frameRate = min(120, max(1, options.maximumFrameRate))
    rate = FrameRateLimit(frameRate)
  }

  /// False when the picture is left out: it comes too soon after the one before, or its size cannot be encoded.
  func encode(
    _ frame: VideoFrame, by processor: VideoProcessor?, at now: Instant, keyframes: Set<Int?>, send: Send
  ) -> Bool {
    let (elapsed, capturedAt) = clock.time(frame.time, at: now)
    guard elapsed > last, rate.admits(elapsed) else { return false }
    do {
      let source = processor.map { processing.process(frame.picture, by: $0) } ?? frame.picture
      if size != frame.dimensions { try open(for: frame.dimensions) }
      let pts = elapsed.nanoseconds / 1000 * 9 / 100
      for index in layers.indices {
        let isWanted = keyframes.contains(nil) || keyframes.contains(index)
        _ = try layers[index].encoder.encode(picture(source, index), pts: pts, forceKeyframe: isWanted) {
          bytes, _ in
          send(bytes, index, UInt32(truncatingIfNeeded: pts), capturedAt)
        }
      }
      last = elapsed
      return true
    } catch {
      // The next one finds new encoders, which begin with keyframes.
      (layers, size) = ([], nil)
      return false
    }
  }

  private func picture(_ picture: Picture, _ index: Int) -> Picture {
    let size = layers[index].size
    guard size != Dimensions(width: picture.width, height: picture.height) else { return picture }
    let scaled = layers[index].pool.take(width: size.width, height: size.height)
    PictureScaling.scale(picture, to: scaled)
    return scaled
  }

  private func open(for size: Dimensions) throws {
    guard Self.sizeCap.allows(width: size.width, height: size.height) else {
      throw VideoFrame.Fault.size(width: size.width, height: size.height)
    }
    let codec = options.codec == .vp8 ? VPXCodec.vp8 : .vp9
    layers = try options.layers(of: size).map { layer in
      let size = Dimensions(width: layer.width, height: layer.height)
      let encoder = try VPXEncoder(
        codec, width: size.width, height: size.height, framesPerSecond: frameRate, bitrate: layer.bitrate,
        settings: .live(codec))
      return Layer(size: size, encoder: encoder)
    }
    self.size = size
  }
}
