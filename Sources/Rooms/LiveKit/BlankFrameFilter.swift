/// Holds back the blank pictures that a LiveKit server sends when a subscription ends (VP8 8x8, others 2x2), and
/// everything that refers to them. One per video track.
struct BlankFrameFilter: Sendable {
  private var isBlank = false

  /// True when a frame may be passed on. `width` and `height` are those of a keyframe, in pixels, 0 when unknown.
  mutating func accepts(isKeyframe: Bool, width: Int, height: Int) -> Bool {
    if isKeyframe { isBlank = width > 0 && height > 0 && width <= 8 && height <= 8 }
    return !isBlank
  }
}
