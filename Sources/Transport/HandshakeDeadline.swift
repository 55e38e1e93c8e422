/// When a handshake that does not complete is given up. A value in nanoseconds of whatever clock is used.
struct HandshakeDeadline {
  /// Most time for a handshake.
  static let limit: Int64 = 30_000_000_000
  /// Most time after the first sign that it has failed. Such a sign may be forged, or be the consequence of a forged
  /// message; so it does not end the handshake, but nobody shall wait for long when it is true.
  static let doubtLimit: Int64 = 10_000_000_000

  /// When it is given up.
  private(set) var due: Int64
  private var isDoubted = false

  init(began: Int64) { due = began &+ HandshakeDeadline.limit }

  /// There is a sign of failure; the first one counts.
  mutating func doubt(at now: Int64) {
    guard !isDoubted else { return }
    isDoubted = true
    due = min(due, now &+ HandshakeDeadline.doubtLimit)
  }
}
