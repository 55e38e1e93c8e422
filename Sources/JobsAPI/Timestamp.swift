import Foundation
import MediaCore
import Platform

/// A moment of the calendar: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// Leases, schedules and everything that is stored count in these. Media never does: it runs on the monotonic clock.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Microseconds since 1970.
  public var microseconds: Int64

  /// Wraps microseconds since 1970.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// Whole seconds since 1970.
  public init(seconds: Int64) { microseconds = seconds.multipliedClamped(by: 1_000_000) }

  /// The machine's idea of now.
  public static var now: Timestamp { Timestamp(microseconds: WallClock.microseconds) }

  /// Whole seconds since 1970, rounded down.
  public var seconds: Int64 { microseconds.floorDivided(by: 1_000_000) }

  /// The same moment for the calendar's functions.
  public var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }

  /// A moment of the calendar's functions, to the microsecond.
  public init(date: Date) {
    let value = (date.timeIntervalSince1970 * 1_000_000).rounded()
    microseconds = value.isFinite ? Int64(max(-9e15, min(value, 9e15))) : 0
  }

  /// Earlier.
  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }
  /// Later by a span.
  public static func + (time: Timestamp, span: Duration) -> Timestamp {
    Timestamp(microseconds: time.microseconds.addedClamped(span.microseconds))
  }
  /// Earlier by a span.
  public static func - (time: Timestamp, span: Duration) -> Timestamp {
    Timestamp(microseconds: time.microseconds.subtractedClamped(span.microseconds))
  }
  /// The span from one moment to another.
  public static func - (left: Timestamp, right: Timestamp) -> Duration {
    .microseconds(left.microseconds.subtractedClamped(right.microseconds))
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in UTC with microseconds where there are any: `2026-11-21T09:30:00Z`.
  public var description: String {
    var seconds = time_t(seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let fraction = microseconds - self.seconds * 1_000_000
    func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let year = String(Int(parts.tm_year) + 1900)
    var text = String(repeating: "0", count: max(0, 4 - year.count)) + year
    text += "-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T\(two(parts.tm_hour)):\(two(parts.tm_min))"
    text += ":\(two(parts.tm_sec))"
    if fraction != 0 {
      let digits = String(fraction)
      text += "." + String(repeating: "0", count: 6 - digits.count) + digits
    }
    return text + "Z"
  }

  /// Reads RFC 3339: `2026-11-21T09:30:00Z`, with a fraction or an offset such as `+01:00`. Nil when it is anything
  /// else; a date without an offset is refused, since nobody could know which moment is meant.
  public init?(_ text: String) {
    var reader = RFC3339Reader(text)
    guard let moment = reader.read() else { return nil }
    microseconds = moment
  }
}

extension Timestamp: Codable {
  /// From RFC 3339 text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Timestamp(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not a moment: give RFC 3339 such as 2026-11-21T09:30:00Z")
    }
    self = value
  }

  /// As RFC 3339 text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// Reads one RFC 3339 moment, byte by byte; total.
private struct RFC3339Reader {
  private let bytes: [UInt8]
  private var index = 0

  init(_ text: String) { bytes = Array(text.utf8.prefix(40)) }

  mutating func read() -> Int64? {
    guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
      take("T") || take("t") || take(" "), let hour = number(2), take(":"), let minute = number(2), take(":"),
      let second = number(2), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year), hour <= 23,
      minute <= 59, second <= 60
    else { return nil }
    var fraction: Int64 = 0
    if take(".") {
      var scale: Int64 = 100_000
      var digits = 0
      while let digit = digit() {
        fraction += Int64(digit) * scale
        scale /= 10
        digits += 1
      }
      guard digits > 0 else { return nil }
    }
    var offset = 0
    if take("+") || take("-") {
      let sign = bytes[index - 1] == UInt8(ascii: "-") ? -1 : 1
      guard let hours = number(2), take(":"), let minutes = number(2), hours <= 23, minutes <= 59 else { return nil }
      offset = sign * (hours * 3600 + minutes * 60)
    } else if !(take("Z") || take("z")) {
      return nil
    }
    guard index == bytes.count else { return nil }
    let days = Self.daysSince1970(year: year, month: month, day: day)
    let seconds = days * 86_400 + Int64(hour * 3600 + minute * 60 + min(second, 59) - offset)
    return seconds * 1_000_000 + fraction
  }

  private mutating func digit() -> Int? {
    guard index < bytes.count, (48...57).contains(bytes[index]) else { return nil }
    index += 1
    return Int(bytes[index - 1]) - 48
  }

  private mutating func number(_ length: Int) -> Int? {
    var value = 0
    for _ in 0..<length {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Howard Hinnant's days_from_civil: exact for all years.
  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return Int64(era * 146_097 + dayOfEra - 719_468)
  }
}

/// Arithmetic that ends at the ends of the range, instead of trapping beyond them.
extension Int64 {
  /// The sum, or the end of the range that it would pass.
  package func addedClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }

  /// The difference, or the end of the range that it would pass.
  package func subtractedClamped(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other > 0 ? .min : .max) : difference
  }

  /// The product, or the end of the range that it would pass.
  package func multipliedClamped(by factor: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? ((self < 0) == (factor < 0) ? .max : .min) : product
  }

  /// The quotient, rounded down; the divisor is positive.
  package func floorDivided(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
