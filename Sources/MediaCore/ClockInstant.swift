/// A moment on one of the program's clocks: `Instant` on the machine's, `SessionTime` on a recording's. Moments of two clocks
/// are never compared; spans between moments of one are `Duration`s.
///
/// Sums and differences that do not fit are the nearest that do.
public protocol ClockInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible
where Duration == Swift.Duration {
  /// Nanoseconds since the clock's beginning; negative before it.
  var nanoseconds: Int64 { get set }
  /// Makes the moment that is so many nanoseconds after the clock's beginning.
  init(nanoseconds: Int64)
}

extension ClockInstant {
  /// Before all others: what is due then is due at once.
  @inlinable public static var distantPast: Self { Self(nanoseconds: .min) }
  /// After all others: what is due then is never due.
  @inlinable public static var distantFuture: Self { Self(nanoseconds: .max) }

  /// The moment so much later; earlier when it is negative.
  @inlinable public func advanced(by duration: Duration) -> Self {
    let (sum, isTooFar) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
    return isTooFar ? (nanoseconds < 0 ? .distantPast : .distantFuture) : Self(nanoseconds: sum)
  }

  /// The span from this moment to another; negative when that was before it.
  @inlinable public func duration(to other: Self) -> Duration {
    let (difference, isTooLong) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    return .nanoseconds(isTooLong ? (nanoseconds < 0 ? .max : .min) : difference)
  }

  /// Order in time.
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  /// The moment so much later.
  @inlinable public static func + (moment: Self, span: Duration) -> Self { moment.advanced(by: span) }
  /// The moment so much earlier.
  @inlinable public static func - (moment: Self, span: Duration) -> Self { moment.advanced(by: .zero - span) }
  /// The span from `b` to `a`.
  @inlinable public static func - (a: Self, b: Self) -> Duration { b.duration(to: a) }
  /// Moves on by a span.
  @inlinable public static func += (moment: inout Self, span: Duration) { moment = moment + span }
  /// Moves back by a span.
  @inlinable public static func -= (moment: inout Self, span: Duration) { moment = moment - span }

  /// Seconds with milliseconds, for logs and goldens: `12.345`.
  public var description: String { Duration.nanoseconds(nanoseconds).inSeconds }
}
