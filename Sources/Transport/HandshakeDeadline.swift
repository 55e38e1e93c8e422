import MediaCore

/// When a handshake that does not complete is given up. A value.
struct HandshakeDeadline {
  /// Most time for a handshake.
  static let limit = Duration.seconds(30)
  /// Most time after the first sign that it has failed. Such a sign may be forged, or be the consequence of a forged
  /// message; so it does not end the handshake, but nobody shall wait for long when it is true.
  static let doubtLimit = Duration.seconds(10)

  /// When it is given up.
  private(set) var due: Instant
  private var isDoubted = false

  init(began: Instant) { due = began + HandshakeDeadline.limit }

  /// There is a sign of failure; the first one counts.
  mutating func doubt(at now: Instant) {
    guard !isDoubted else { return }
    isDoubted = true
    due = min(due, now + HandshakeDeadline.doubtLimit)
  }
}
