import MediaCore
import Session

/// Finds where the picture of a video track stood still: a shown picture that was not replaced for longer than three times
/// the usual interval, and than 150 ms more than it (`freezeCount` of the W3C's webrtc-stats, section 8.4). Pure.
struct FreezeWatch: Hashable {
  /// Times that the picture stood still.
  private(set) var count = 0
  /// How long in all.
  private(set) var total = SessionTime.zero
  /// The longest of them.
  private(set) var longest = SessionTime.zero
  /// When the longest began.
  private(set) var longestAt = SessionTime.zero
  private var shownAt: SessionTime?
  /// The usual interval, nanoseconds; nil before the second picture.
  private var usual: Int64?
  /// What stands longer before it ends for a reason of its own was no mere coincidence with it.
  private static let endSlack = SessionTime.seconds(1)

  /// A picture is shown, in the place of the one before.
  mutating func shown(at time: SessionTime) {
    defer { shownAt = time }
    guard let shownAt, time > shownAt else { return }
    let gap = (time - shownAt).nanoseconds
    guard let usual else {
      self.usual = min(gap, 1_000_000_000)
      return
    }
    note(gap, since: shownAt)
    // A freeze says little about what is usual; a lower rate does, after some pictures.
    self.usual = usual + (min(gap, Self.limit(usual)) - usual) / 16
  }

  /// Nobody expects another picture: it is muted, held back, lost with the connection, or over.
  mutating func interrupt(at time: SessionTime) {
    if let shownAt, time - shownAt > Self.endSlack { note((time - shownAt).nanoseconds, since: shownAt) }
    shownAt = nil
  }

  private mutating func note(_ gap: Int64, since: SessionTime) {
    guard let usual, gap > Self.limit(usual) else { return }
    count += 1
    let length = SessionTime(nanoseconds: gap)
    total = total + length
    if length > longest { (longest, longestAt) = (length, since) }
  }

  private static func limit(_ usual: Int64) -> Int64 { max(3 * usual, usual + 150_000_000) }
}
