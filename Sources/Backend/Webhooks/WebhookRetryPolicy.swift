import JobsAPI
import MediaCore

/// When a message that was not taken is sent again. Pure.
///
/// | attempt | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 |
/// | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
/// | after | 5 s | 5 min | 30 min | 2 h | 5 h | 10 h | 14 h | 20 h | 24 h |
///
/// Each wait is longer or shorter by up to a tenth, so that a receiver that comes back is not met by all at once. After
/// the tenth attempt, 75 hours after the first, or when a message is older than `longest`, it is given up.
struct WebhookRetryPolicy: Hashable, Sendable {
  /// The waits after the first attempt, the second, and so on.
  static let waits: [Duration] = [
    .seconds(5), .seconds(300), .seconds(1800), .seconds(7200), .seconds(18_000), .seconds(36_000), .seconds(50_400),
    .seconds(72_000), .seconds(86_400),
  ]
  /// No message is sent when it is older.
  var longest = Duration.seconds(4 * 86_400)

  /// How long to wait after an attempt; nil: no more.
  ///
  /// - Parameters:
  ///   - attempt: how often it was tried, from 1.
  ///   - age: how old the message is.
  ///   - asked: what the receiver asked for (`Retry-After`), in seconds; taken up to a day, and never shortens a wait.
  ///   - chance: 0 to 1, decides the jitter.
  func wait(afterAttempt attempt: Int, age: Duration, asked: Int64?, chance: Double) -> Duration? {
    guard attempt >= 1, attempt <= Self.waits.count else { return nil }
    let wait = Self.waits[attempt - 1].microseconds
    let share: Double = min(max(chance, 0), 1) * 2 - 1
    let jitter = Int64(Double(wait / 10) * share)
    let span: Duration = max(.microseconds(wait + jitter), .seconds(min(asked ?? 0, 86_400)))
    return age + span > longest ? nil : span
  }
}
