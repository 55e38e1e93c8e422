/// What begins a chapter of a recording; each level has what those before it have.
public enum ChapterDetail: String, Sendable, Hashable, CaseIterable {
  /// Nothing.
  case nothing = "none"
  /// Markers, pauses, and losses of the connection.
  case marks
  /// Who comes and goes, and shared screens.
  case people
  /// Who talks for long.
  case talkers

  /// What it is called in errors.
  public static let what = "level of chapters"
}
