import MediaCore

/// When and why a recording ends: by the room's word, at its maximum duration, or when only bots have been there too long.
///
///     open --event, limit or patience--> ended
struct EndWatch: Sendable {
  private let maximumDuration: Duration?
  private let patience: Duration?
  /// Since when nobody but bots is there.
  private var emptySince: SessionTime? = .zero
  /// The end that was found first, which stays; nil: there is none.
  private(set) var end: (reason: SessionEnd, at: SessionTime)?

  /// Watches by a recording's limits.
  init(_ settings: SessionCore.Settings) {
    maximumDuration = settings.maximumDuration
    patience = settings.stopWhenEmpty
  }

  /// Somebody came who is no bot.
  mutating func somebodyCame() { emptySince = nil }

  /// Nobody but bots is left.
  mutating func everybodyLeft(at now: SessionTime) { emptySince = emptySince ?? now }

  /// The recording ends at this instant, if no end was found before.
  mutating func finish(_ reason: SessionEnd, at instant: SessionTime) { end = end ?? (reason, instant) }

  /// Looks at the limits, at an instant and its time in the file. While the connection is lost nobody knows who is there.
  mutating func check(at time: SessionTime, fileTime: SessionTime, isLost: Bool) {
    if let patience, let emptySince, !isLost, time - emptySince >= patience { finish(.empty, at: time) }
    if let maximumDuration, fileTime.sinceBeginning >= maximumDuration { finish(.maxDuration, at: time) }
  }
}
