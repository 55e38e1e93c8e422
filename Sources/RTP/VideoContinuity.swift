/// Judges whether a frame can be decoded after packets before it were lost, from picture identifiers and temporal
/// layers (RFC 7741 section 4.2: PictureID, TL0PICIDX, TID, Y).
struct VideoContinuity: Sendable {
  enum Verdict: Sendable {
    /// All that the frame needs was decoded.
    case decodable
    /// It can't be decoded, but frames of lower layers can: leave it out and go on.
    case skippable
    /// Only a keyframe helps.
    case broken
  }

  private var pictureID: UInt16?
  private var isLong = false
  private var baseLayerIndex: UInt8?
  /// Frames of temporal layers up to this one have all they need.
  private var intactLayer: UInt8 = 3

  /// Whether `frame` directly follows the last frame handed out (or left out for a good reason): nothing that
  /// mattered was lost in between, for instance only padding.
  func follows(_ frame: VideoPayload) -> Bool {
    guard let last = pictureID, let next = frame.pictureID, isLong == frame.hasLongPictureID else { return false }
    return next == (last &+ 1) & (isLong ? 0x7fff : 0x7f)
  }

  /// Judges a delta frame. `hasGap`: packets directly before it were lost.
  mutating func judge(_ frame: VideoPayload, hasGap: Bool) -> Verdict {
    let layer = frame.temporalLayer ?? 0
    if hasGap, !follows(frame) {
      // Without layers every frame may depend on every other one.
      guard let last = baseLayerIndex, let index = frame.baseLayerIndex, frame.temporalLayer != nil else {
        return .broken
      }
      guard index == (layer == 0 ? last &+ 1 : last) else { return .broken }
      intactLayer = 0
    }
    if layer <= intactLayer { return .decodable }
    if frame.isLayerSync {
      // It needs the base layer only, and later frames of its layer need nothing older than it.
      if layer == intactLayer + 1 { intactLayer = layer }
      return .decodable
    }
    return .skippable
  }

  /// Notes a frame that was handed out.
  mutating func handedOut(_ frame: VideoPayload) {
    if frame.isKeyframe { intactLayer = 3 }
    note(frame)
    if frame.temporalLayer ?? 0 == 0 { baseLayerIndex = frame.baseLayerIndex }
  }

  /// Notes a frame that was left out although it (or its begin) had come, and that no later frame needs.
  mutating func leftOut(_ frame: VideoPayload) { note(frame) }

  private mutating func note(_ frame: VideoPayload) {
    pictureID = frame.pictureID
    isLong = frame.hasLongPictureID
  }
}
