/// Whether the peer is there, by what comes from it. A value in nanoseconds of whatever clock is used.
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
  static let silenceLimit: Int64 = 10_000_000_000
  /// RFC 7675 section 5.1.
  static let deathLimit: Int64 = 30_000_000_000

  /// When something last came of which is known.
  private(set) var heardAt: Int64 = 0
  /// Nothing has come for longer than `silenceLimit`.
  private(set) var isSilent = false
  /// Nothing came for longer than `deathLimit`.
  private(set) var isDead = false

  /// A pair is connected.
  mutating func begin(at now: Int64) { (heardAt, isSilent, isDead) = (now, false, false) }

  /// Something came.
  mutating func heard(at now: Int64) { heardAt = now }

  /// Another pair is looked for: that the one before is dead is not the end.
  mutating func doubt() { isDead = false }

  /// Measures the silence. `mayDie`: no other pair is looked for. True when the peer is given up by this.
  mutating func check(mayDie: Bool, at now: Int64) -> Bool {
    guard !isDead else { return false }
    let silence = now &- heardAt
    isSilent = silence > Self.silenceLimit
    isDead = mayDie && silence > Self.deathLimit
    return isDead
  }
}
