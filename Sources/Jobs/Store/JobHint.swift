/// What a backend tells the others on the channel `recbot_jobs` (PostgreSQL's NOTIFY). Only a hint: it may be lost, and polling, or
/// the next heartbeat, finds in any case what it is about.
public enum JobHint: Hashable, Sendable {
  /// Where backends tell and hear it.
  public static let channel = "recbot_jobs"

  /// A job may have become free.
  case free
  /// Something about the job of this name has changed.
  case changed(String)

  private static let (freeText, changedPrefix) = ("free", "changed ")

  /// Reads what was told; nil: it is of another version, and may be about anything.
  public init?(text: String) {
    if text == Self.freeText {
      self = .free
    } else if text.hasPrefix(Self.changedPrefix) {
      self = .changed(String(text.dropFirst(Self.changedPrefix.count)))
    } else {
      return nil
    }
  }

  /// As it is told.
  public var text: String {
    switch self {
    case .free: Self.freeText
    case .changed(let id): Self.changedPrefix + id
    }
  }
}
