import MediaCore

/// What a subscriber wants of a video track (UpdateTrackSettings).
struct VideoWish: Hashable, Sendable {
  /// True while the subscriber wants nothing at all.
  var isDisabled = false
  /// The highest layer wanted: 0 low, 1 medium, 2 high.
  var quality = 2
  /// The width in pixels at which the subscriber shows it; 0 when unknown. Goes before `quality`.
  var width = 0
  /// The height in pixels at which the subscriber shows it; 0 when unknown.
  var height = 0
  /// Frames per second that suffice; 0 for all.
  var framesPerSecond = 0
  /// When bandwidth is short: 1 is served first, larger numbers later, 0 after all these.
  var priority: UInt32 = 0
}

/// One simulcast layer of a published track.
struct LayerState: Hashable, Sendable {
  /// Picture width that the publisher announced, in pixels; 0 when unknown.
  var width = 0
  /// Picture height that the publisher announced, in pixels; 0 when unknown.
  var height = 0
  /// When its last packet came; nil before the first.
  var lastPacket: Instant?
  /// Highest temporal layer seen.
  var highestTemporalLayer: UInt8 = 0
  /// Frames per second, measured over about a second; 0 before that.
  var framesPerSecond = 0

  /// Bits per second, measured over about a second; nil before that.
  var bitsPerSecond: Int?

  /// Frames that the track's other layers had since its last packet.
  private var framesElsewhere = 0
  private var windowStart = Instant.distantPast
  private var windowFrames = 0
  private var windowBytes = 0

  /// A layer without packets yet.
  init(width: Int = 0, height: Int = 0) {
    self.width = width
    self.height = height
  }

  /// Counts a packet.
  mutating func note(startsFrame: Bool, temporalLayer: UInt8, bytes: Int, now: Instant) {
    lastPacket = now
    framesElsewhere = 0
    highestTemporalLayer = max(highestTemporalLayer, min(temporalLayer, 3))
    windowBytes &+= bytes
    guard startsFrame else { return }
    windowFrames += 1
    let elapsed = now - windowStart
    guard elapsed >= .seconds(1) else { return }
    if elapsed < .seconds(3) {
      framesPerSecond = Int(Int64(windowFrames) * 1_000_000_000 / elapsed.nanoseconds)
      bitsPerSecond = Int(clamping: Int64(windowBytes) &* 8_000_000_000 / elapsed.nanoseconds)
    }
    windowStart = now
    windowFrames = 0
    windowBytes = 0
  }

  /// Another layer of the track had a frame.
  mutating func noteFrameElsewhere() { framesElsewhere &+= 1 }

  /// True while packets come.
  func isFlowing(at now: Instant) -> Bool {
    lastPacket.map { now - $0 < LayerChoice.silence && framesElsewhere < LayerChoice.framesElsewhere } ?? false
  }
}

/// Chooses the layer for a subscriber. Pure.
enum LayerChoice {
  /// A layer without packets for this long is taken for switched off: publishers stop the large
  /// layers when bandwidth or computing power is short. Must be longer than the slowest frame rate's period.
  static let silence = Duration.milliseconds(1500)
  /// So is one that lets so many frames of the others pass: when the network stalls it holds up all of them, and a layer of
  /// a fifth of the others' frame rate lets ten pass.
  static let framesElsewhere = 20

  /// The layer to send: the largest one that flows up to what is wanted, else the smallest that flows. Nil when
  /// nothing is wanted. Before anything has flowed it is what is wanted. `limit` is the highest one that fits through
  /// the subscriber's network.
  static func layer(of layers: [LayerState], wish: VideoWish, limit: Int = .max, now: Instant) -> Int? {
    guard !wish.isDisabled, !layers.isEmpty else { return nil }
    let wanted = min(wantedLayer(layers, wish), max(0, limit))
    if let best = layers.indices.last(where: { $0 <= wanted && layers[$0].isFlowing(at: now) }) { return best }
    return layers.indices.first { layers[$0].isFlowing(at: now) } ?? wanted
  }

  /// The highest temporal layer that gives the frame rate wanted of a layer; each one doubles the rate (RFC 7741
  /// section 4.2 leaves that open; all known publishers do it).
  static func temporalLayer(of layer: LayerState, wish: VideoWish) -> UInt8 {
    guard wish.framesPerSecond > 0, layer.framesPerSecond > 0 else { return .max }
    var result = layer.highestTemporalLayer
    var rate = layer.framesPerSecond
    // A rate a tenth short of the wish is good enough: measured rates are never exact.
    while result > 0, rate / 2 * 10 >= wish.framesPerSecond * 9 {
      rate /= 2
      result -= 1
    }
    return result == layer.highestTemporalLayer ? .max : result
  }

  /// The layer that a wish is for, whether it flows or not.
  static func wantedLayer(_ layers: [LayerState], _ wish: VideoWish) -> Int {
    let last = layers.count - 1
    guard wish.width > 0, wish.height > 0, layers.allSatisfy({ $0.width > 0 }) else {
      return min(max(0, wish.quality), last)
    }
    return layers.firstIndex { $0.width >= wish.width && $0.height >= wish.height } ?? last
  }
}
