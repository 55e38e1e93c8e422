public import MediaCore

/// A clock that a test moves by hand.
public struct ManualTime: Sendable {
  /// The present moment.
  public private(set) var now: Instant

  /// A clock that stands at `now`.
  public init(_ now: Instant = .zero) { self.now = now }

  /// Lets time pass.
  public mutating func advance(by span: Duration) { advance(to: now + span) }

  /// Lets time pass until a moment; nothing happens when that has been already.
  public mutating func advance(to moment: Instant) { now = max(now, moment) }
}

extension Instant {
  /// The beginning of a test's clock.
  public static let zero = Instant(nanoseconds: 0)
}

extension ClockInstant {
  /// So many nanoseconds after the clock's beginning.
  public static func nanoseconds(_ value: Int64) -> Self { Self(nanoseconds: value) }
  /// So many milliseconds after it.
  public static func milliseconds(_ value: Int64) -> Self { Self(nanoseconds: 0) + .milliseconds(value) }
  /// So many seconds after it.
  public static func seconds(_ value: Int64) -> Self { Self(nanoseconds: 0) + .seconds(value) }
}
