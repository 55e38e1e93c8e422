import MediaCore
import Session

/// Finds where the picture of a video track stood still: a shown picture that was not replaced for longer than three times
/// the usual interval, and than 150 ms more than it (`freezeCount` of the W3C's webrtc-stats, section 8.4). Pure.
struct FreezeWatch: Hashable {
  /// Times that the picture stood still.
  private(set) var count = 0
  /// How long in all.
  private(set) var total = Duration.zero
  /// The longest of them.
  private(set) var longest = Duration.zero
  /// When the longest began.
  private(set) var longestAt = SessionTime.zero
  private var shownAt: SessionTime?
  /// The usual interval; nil before the second picture.
  private var usual: Duration?
  /// What stands longer before it ends for a reason of its own was no mere coincidence with it.
  private static let endSlack = Duration.seconds(1)

  /// A picture is shown, in the place of the one before.
  mutating func shown(at time: SessionTime) {
    defer { shownAt = time }
    guard let shownAt, time > shownAt else { return }
    let gap = time - shownAt
    guard let usual else {
      self.usual = min(gap, .seconds(1))
      return
    }
    note(gap, since: shownAt)
    // A freeze says little about what is usual; a lower rate does, after some pictures.
    self.usual = usual + (min(gap, Self.limit(usual)) - usual) / 16
  }

  /// Nobody expects another picture: it is muted, held back, lost with the connection, or over.
  mutating func interrupt(at time: SessionTime) {
    if let shownAt, time - shownAt > Self.endSlack { note(time - shownAt, since: shownAt) }
    shownAt = nil
  }

  private mutating func note(_ gap: Duration, since: SessionTime) {
    guard let usual, gap > Self.limit(usual) else { return }
    count += 1
    total += gap
    if gap > longest { (longest, longestAt) = (gap, since) }
  }

  private static func limit(_ usual: Duration) -> Duration { max(usual * 3, usual + .milliseconds(150)) }
}
