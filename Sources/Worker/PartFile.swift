import JobsAPI
import WebM

/// What a part's file says of itself.
struct PartFile: Hashable, Sendable {
  /// How long it plays, in microseconds.
  var duration: Int64
  /// When it began.
  var startedAt: Timestamp?
  /// How much of it is the gaps between joined parts, in microseconds.
  var gaps: Int64 = 0

  /// Looks at a file; nil when there is nothing in it that could be played. Blocks for the disk.
  static func probe(_ path: String) -> PartFile? {
    guard let report = try? WebMProbe.probe(path), report.end.nanoseconds > 0 else { return nil }
    return PartFile(
      duration: report.end.nanoseconds / 1000,
      startedAt: report.date.map { Timestamp(microseconds: $0 / 1000) }, gaps: report.joinedGaps.nanoseconds / 1000)
  }
}
