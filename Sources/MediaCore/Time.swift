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
  /// Makes a media time.
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

/// An instant on the recording's own clock: nanoseconds since the session began, on the monotonic clock.
/// Also used for spans. Arithmetic wraps instead of trapping; real values never come near the ends.
public struct SessionTime: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// Nanoseconds; negative before the session began.
  public var nanoseconds: Int64
  /// Makes an instant or span of so many nanoseconds.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  /// The beginning of the session.
  public static let zero = SessionTime(nanoseconds: 0)
  /// So many milliseconds.
  public static func milliseconds(_ value: Int64) -> SessionTime { .init(nanoseconds: value &* 1_000_000) }
  /// So many seconds.
  public static func seconds(_ value: Int64) -> SessionTime { .init(nanoseconds: value &* 1_000_000_000) }
  /// Whole milliseconds, rounded toward negative infinity.
  public var wholeMilliseconds: Int64 {
    nanoseconds >= 0 ? nanoseconds / 1_000_000 : (nanoseconds &+ 1) / 1_000_000 - 1
  }
  /// Order in time.
  public static func < (a: SessionTime, b: SessionTime) -> Bool { a.nanoseconds < b.nanoseconds }
  /// Sum.
  public static func + (a: SessionTime, b: SessionTime) -> SessionTime {
    .init(nanoseconds: a.nanoseconds &+ b.nanoseconds)
  }
  /// Difference.
  public static func - (a: SessionTime, b: SessionTime) -> SessionTime {
    .init(nanoseconds: a.nanoseconds &- b.nanoseconds)
  }
  /// Seconds with milliseconds, for logs and goldens: `12.345`.
  public var description: String {
    let ms = wholeMilliseconds
    let magnitude = ms.magnitude
    let fraction = String(1000 + magnitude % 1000).dropFirst()
    return "\(ms < 0 ? "-" : "")\(magnitude / 1000).\(fraction)"
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
