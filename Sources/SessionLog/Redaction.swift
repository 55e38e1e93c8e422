import MediaCore
import Session

/// Keeps out of a log what was redacted: of the time between a pause with `.redact` and its end a log has no frame and no
/// word, nor the sound that was on its way at the end. Who came, left and published in this time is kept, for what comes
/// afterwards. Pure; takes the events in their order.
public struct Redaction: Sendable {
  /// The sound of so long after the end of a redaction was on its way, as `SessionCore` has it.
  private static let tail = Duration.milliseconds(250)

  private var isOn = false
  /// The redactions so far, and which of them the pictures of each track have left behind by a keyframe.
  private var count = 0
  private var left: [TrackID: Int] = [:]
  private var audioBegins = SessionTime.distantPast

  /// Nothing is redacted yet.
  public init() {}

  /// True when the event may be logged.
  public mutating func admits(_ event: SessionEvent) -> Bool {
    switch event.payload {
    case .room(.pause(let policy)):
      if isOn, policy != .redact { end(at: event.arrived) }
      if policy == .redact, !isOn { (isOn, count) = (true, count + 1) }
    case .room(.resume): if isOn { end(at: event.arrived) }
    case .room(.data), .room(.chat), .room(.caption), .room(.speakers): return !isOn
    case .room: break
    case .frame(let frame, let track):
      guard !isOn else { return false }
      guard frame.codec.kind == .video else { return event.arrived >= audioBegins }
      // What is predicted from a redacted picture shows it.
      guard left[track, default: 0] < count else { return true }
      guard frame.isKeyframe else { return false }
      left[track] = count
    }
    return true
  }

  private mutating func end(at time: SessionTime) { (isOn, audioBegins) = (false, time + Self.tail) }
}
