/// Ticks per second of an RTP clock.
public struct ClockRate: Hashable, Sendable {
  /// Ticks per second; always greater than zero.
  public let hertz: Int32
  /// Makes a rate; values below 1 become 1, so that no wire value can lead to a division by zero.
  public init(hertz: Int32) { self.hertz = max(1, hertz) }
  /// 90 kHz: all video payload formats.
  public static let video = ClockRate(hertz: 90_000)
  /// 48 kHz: Opus (RFC 7587 section 4.1).
  public static let opus = ClockRate(hertz: 48_000)
  /// 8 kHz: G.711, and by the rule G.722 too (RFC 3551 table 4).
  public static let telephone = ClockRate(hertz: 8_000)
}

/// A span of time or a media timestamp, in ticks of a named rate.
public struct MediaTime: Hashable, Sendable {
  /// Number of ticks; may be negative.
  public var ticks: Int64
  /// The length of a tick.
  public var rate: ClockRate
  /// Makes a media time; see the properties.
  public init(ticks: Int64, rate: ClockRate) {
    self.ticks = ticks
    self.rate = rate
  }
  /// The same span in nanoseconds, rounded toward zero; saturates instead of overflowing.
  public var nanoseconds: Int64 {
    let rate64 = Int64(rate.hertz)
    let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: rate64)
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return ticks < 0 ? .min : .max }
    let (sum, overflow2) = whole.addingReportingOverflow(rest * 1_000_000_000 / rate64)
    return overflow2 ? (ticks < 0 ? .min : .max) : sum
  }
}

/// A moment on the recording's own clock, or in its file: nanoseconds since the session, or the file, began.
public struct SessionTime: ClockInstant {
  /// Nanoseconds; negative before the session began.
  public var nanoseconds: Int64
  /// Makes the moment that is so many nanoseconds after the session's beginning.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  /// The beginning of the session.
  public static let zero = SessionTime(nanoseconds: 0)
  /// The span since the session began.
  @inlinable public var sinceBeginning: Duration { .nanoseconds(nanoseconds) }
  /// Whole milliseconds since the session began, rounded toward negative infinity.
  @inlinable public var milliseconds: Int64 {
    nanoseconds >= 0 ? nanoseconds / 1_000_000 : (nanoseconds + 1) / 1_000_000 - 1
  }
}

/// A 64-bit NTP timestamp: 32 bits of seconds since 1900, 32 bits of fraction (RFC 3550 section 4).
public struct NTPTime: Hashable, Sendable {
  /// Seconds in the high half, fraction in the low half.
  public var rawValue: UInt64
  /// Wraps a wire value.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Nanoseconds since 1900 (fits Int64 until the year 2192).
  public var nanoseconds: Int64 {
    let seconds = Int64(rawValue >> 32)
    let fraction = Int64(((rawValue & 0xffff_ffff) &* 1_000_000_000) >> 32)
    return seconds &* 1_000_000_000 &+ fraction
  }
  /// From nanoseconds since 1900; negative values become zero.
  public init(nanoseconds: Int64) {
    let ns = max(0, nanoseconds)
    let seconds = UInt64(ns / 1_000_000_000)
    let rest = UInt64(ns % 1_000_000_000)
    rawValue = (seconds << 32) | ((rest << 32) / 1_000_000_000)
  }
  /// The middle 32 bits, as used by LSR and DLSR (RFC 3550 section 6.4.1).
  public var middle32: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 16) }
}
