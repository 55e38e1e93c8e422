/// Follows by how many degrees the pictures of a stream must be turned, from the orientation element of its packets
/// (3GPP TS 26.114 section 7.4.5): every keyframe of a turned picture carries it, and every change.
///
/// A change may be lost, or a forwarder leaves out the temporal layer that carries it. libwebrtc's senders put the element on
/// every frame that is turned, so after them a frame without it is upright.
struct PictureRotation: Sendable {
  /// So many delta frames in a row that repeat what is known are a habit of the sender.
  private static let habit = 10

  /// Degrees: 0, 90, 180 or 270.
  private(set) var degrees = 0
  private var repeats = 0

  /// Takes the element of a packet whose frame was left out.
  mutating func leftOut(_ degrees: Int) { self.degrees = degrees }

  /// Takes a frame that was handed out; nil: none of its packets has the element.
  mutating func handedOut(_ degrees: Int?, isKeyframe: Bool) {
    if let degrees {
      if !isKeyframe, degrees == self.degrees { repeats = min(repeats + 1, Self.habit) }
      self.degrees = degrees
    } else if isKeyframe || repeats == Self.habit {
      self.degrees = 0
    } else if self.degrees != 0 {
      repeats = 0
    }
  }
}
