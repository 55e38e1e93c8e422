import JobsAPI
import MediaCore
import Settings

/// Moments and spans as people write and read them.
enum TimeText {
  /// A moment: RFC 3339 such as `2026-11-21T09:30:00+01:00`, or from now, such as `+10m`.
  static func moment(_ text: String, now: Timestamp) throws(ValueError) -> Timestamp {
    if text.hasPrefix("+") { return now + .seconds(try seconds(String(text.dropFirst()))) }
    guard let moment = Timestamp(text) else {
      throw ValueError("'\(text)' is not a moment; write for example 2026-11-21T09:30:00Z, or +10m for in ten minutes")
    }
    return moment
  }

  /// A span in whole seconds, such as `90s` or `2h`; at least one.
  static func seconds(_ text: String) throws(ValueError) -> Int64 {
    let milliseconds = try Values.duration(text).milliseconds
    guard milliseconds >= 1000 else { throw ValueError("'\(text)' is less than a second") }
    return milliseconds / 1000
  }

  /// To the second, in UTC: `2026-11-21 09:30:00Z`.
  static func short(_ moment: Timestamp) -> String {
    Timestamp(seconds: moment.seconds).description.replacing("T", with: " ")
  }

  /// `1:02:03` or `2:03`, from microseconds.
  static func length(_ microseconds: Int64) -> String {
    let seconds = max(0, microseconds / 1_000_000)
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
    return hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
  }
}
