/// A moment on the clock that media runs on (`MonotonicClock`): it never leaps, and means nothing outside this machine.
/// Spans between moments are `Duration`s.
///
/// Sums and differences that an `Instant` cannot hold are the nearest that it can.
public struct Instant: InstantProtocol, Hashable, Sendable, CustomStringConvertible {
  /// Nanoseconds since some moment before the program began.
  public var nanoseconds: Int64

  /// Makes the moment that is so many nanoseconds after the clock's beginning.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Before all others: what is due then is due at once.
  public static let distantPast = Instant(nanoseconds: .min)
  /// After all others: what is due then is never due.
  public static let distantFuture = Instant(nanoseconds: .max)

  /// The moment so much later; earlier when it is negative.
  public func advanced(by duration: Duration) -> Instant {
    let (sum, isTooFar) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
    return isTooFar ? (nanoseconds < 0 ? .distantPast : .distantFuture) : Instant(nanoseconds: sum)
  }

  /// The span from this moment to another; negative when that was before it.
  public func duration(to other: Instant) -> Duration {
    let (difference, isTooLong) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    return .nanoseconds(isTooLong ? (nanoseconds < 0 ? .max : .min) : difference)
  }

  /// Order in time.
  public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
  /// The moment so much later.
  public static func + (moment: Instant, span: Duration) -> Instant { moment.advanced(by: span) }
  /// The moment so much earlier.
  public static func - (moment: Instant, span: Duration) -> Instant { moment.advanced(by: .zero - span) }
  /// The span from `b` to `a`.
  public static func - (a: Instant, b: Instant) -> Duration { b.duration(to: a) }
  /// Moves on by a span.
  public static func += (moment: inout Instant, span: Duration) { moment = moment + span }
  /// Moves back by a span.
  public static func -= (moment: inout Instant, span: Duration) { moment = moment - span }

  /// Seconds with milliseconds, for logs: `12.345`.
  public var description: String { SessionTime(nanoseconds: nanoseconds).description }
}
