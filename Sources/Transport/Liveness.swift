import MediaCore

/// Whether the peer is there, by what comes from it. A value.
///
/// ```
///            10 s nothing            30 s nothing
///   alive ───────────────► silent ───────────────► dead
///     ▲                      │ heard                 │ begin
///     └──────────────────────┴───────────────────────┘
/// ```
/// From dead only another pair leads back; `doubt` says that one is looked for.
struct Liveness {
  /// The peer's keepalives and the answers to ours come each 5 s or so.
  static let silenceLimit = Duration.seconds(10)
  /// RFC 7675 section 5.1.
  static let deathLimit = Duration.seconds(30)

  /// When something last came of which is known.
  private(set) var heardAt = Instant.distantPast
  /// Nothing has come for longer than `silenceLimit`.
  private(set) var isSilent = false
  /// Nothing came for longer than `deathLimit`.
  private(set) var isDead = false

  /// A pair is connected.
  mutating func begin(at now: Instant) { (heardAt, isSilent, isDead) = (now, false, false) }

  /// Something came.
  mutating func heard(at now: Instant) { heardAt = now }

  /// Another pair is looked for: that the one before is dead is not the end.
  mutating func doubt() { isDead = false }

  /// Measures the silence. `mayDie`: no other pair is looked for. True when the peer is given up by this.
  mutating func check(mayDie: Bool, at now: Instant) -> Bool {
    guard !isDead else { return false }
    let silence = now - heardAt
    isSilent = silence > Self.silenceLimit
    isDead = mayDie && silence > Self.deathLimit
    return isDead
  }
}
