import Foundation

/// A cron expression of five fields (minute, hour, day of month, month, day of week), as in `crontab(5)`: lists,
/// ranges, steps, names of months and days, 7 for Sunday, and `@hourly` to `@yearly`. When both days are given, either
/// is enough.
///
/// In the hour that daylight saving leaves out, a time fires as many minutes later as the clock jumps; in the hour
/// that comes twice, a given hour fires the first time only, and `*` hours fire in both.
public struct CronExpression: Hashable, Sendable {
  /// Why a text is not a cron expression.
  public struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line: which field, what is wrong.
    public var description: String
  }

  /// The text that it was made from.
  public let text: String
  private let minutes: UInt64
  private let hours: UInt64
  private let days: UInt64
  private let months: UInt64
  private let weekdays: UInt64
  private let isEveryHour: Bool
  private let isEveryDay: Bool
  private let isEveryWeekday: Bool

  private static let macros = [
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
  ]
  private static let monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
  private static let dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

  /// Reads an expression.
  public init(_ text: String) throws(Problem) {
    guard text.utf8.count <= 256 else { throw Problem(description: "a cron expression has at most 256 bytes") }
    let lower = text.lowercased()
    let fields = (Self.macros[lower] ?? lower).split(whereSeparator: { $0 == " " || $0 == "\t" })
    guard fields.count == 5 else {
      throw Problem(description: "a cron expression has 5 fields (minute hour day month weekday), not \(fields.count)")
    }
    self.text = text
    minutes = try Self.set(fields[0], "minute", 0...59)
    hours = try Self.set(fields[1], "hour", 0...23)
    days = try Self.set(fields[2], "day of month", 1...31)
    months = try Self.set(fields[3], "month", 1...12, names: Self.monthNames, firstName: 1)
    let weekdays = try Self.set(fields[4], "day of week", 0...7, names: Self.dayNames, firstName: 0)
    self.weekdays = (weekdays | weekdays >> 7) & 0x7f
    isEveryHour = fields[1].hasPrefix("*")
    isEveryDay = fields[2].hasPrefix("*")
    isEveryWeekday = fields[4].hasPrefix("*")
  }

  private static func set(
    _ field: Substring, _ name: String, _ range: ClosedRange<Int>, names: [String] = [], firstName: Int = 0
  ) throws(Problem) -> UInt64 {
    func value(_ text: Substring) throws(Problem) -> Int {
      if let index = names.firstIndex(of: String(text)) { return index + firstName }
      guard let value = Int(text), range.contains(value), text.allSatisfy(\.isASCII), !text.hasPrefix("+") else {
        throw Problem(description: "\(name): '\(text.prefix(20))' is not in \(range.lowerBound)-\(range.upperBound)")
      }
      return value
    }
    var bits: UInt64 = 0
    for part in field.split(separator: ",", omittingEmptySubsequences: false) {
      let pieces = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      var step = 1
      if pieces.count == 2 {
        guard let given = Int(pieces[1]), given >= 1, given <= range.upperBound else {
          throw Problem(description: "\(name): '\(pieces[1].prefix(20))' is not a step")
        }
        step = given
      }
      var bounds = range
      if name == "day of week" { bounds = 0...6 }
      if pieces[0] != "*" {
        let ends = pieces[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try value(ends[0])
        let last = ends.count == 2 ? try value(ends[1]) : pieces.count == 2 ? bounds.upperBound : first
        guard first <= last else {
          throw Problem(description: "\(name): the range '\(pieces[0].prefix(20))' ends before it begins")
        }
        bounds = first...last
      }
      for value in stride(from: bounds.lowerBound, through: bounds.upperBound, by: step) { bits |= 1 << UInt64(value) }
    }
    return bits
  }

  /// The first moment after `time` at which the expression fires; nil when there is none within 12 years (the 30th of
  /// February).
  public func next(after time: Timestamp, in zone: TimeZone) -> Timestamp? {
    let after = time.seconds
    let localNow = after + offset(at: after, in: zone)
    // A day early, because the hour that comes twice may begin before midnight.
    var day = localNow.floorDivided(by: 86_400) - 1
    let lastDay = day + 12 * 366
    var best: Int64?
    while day <= lastDay {
      // Clocks are never set by more than a day, so nothing of a later day can come before what was found.
      if let best, day * 86_400 > best + offset(at: best, in: zone) + 86_400 { break }
      if matches(day: day) {
        for moment in moments(of: day, around: localNow, in: zone) where moment > after {
          best = min(best ?? .max, moment)
        }
      }
      day += 1
    }
    return best.map { Timestamp(seconds: $0) }
  }

  /// The moments of a matching day, those left out that lie clearly before `localNow`; not in order.
  private func moments(of day: Int64, around localNow: Int64, in zone: TimeZone) -> [Int64] {
    var moments: [Int64] = []
    for hour in 0..<24 where hours >> UInt64(hour) & 1 == 1 {
      if day * 86_400 + Int64(hour + 1) * 3600 + 10_800 < localNow { continue }
      // The first few hours suffice: what is found there is before everything later.
      if moments.count > 240 { break }
      for minute in 0..<60 where minutes >> UInt64(minute) & 1 == 1 {
        let local = day * 86_400 + Int64(hour * 3600 + minute * 60)
        moments += instants(local: local, in: zone)
      }
    }
    return moments
  }

  /// The moments at which clocks in the zone show a local time (seconds since 1970 as if local were UTC).
  private func instants(local: Int64, in zone: TimeZone) -> [Int64] {
    let before = offset(at: local - 86_400, in: zone)
    let after = offset(at: local + 86_400, in: zone)
    let early = local - max(before, after)
    let late = local - min(before, after)
    if early == late { return [early] }
    let isEarly = offset(at: early, in: zone) == local - early
    let isLate = offset(at: late, in: zone) == local - late
    switch (isEarly, isLate) {
    case (true, true): return isEveryHour ? [early, late] : [early]
    case (true, false): return [early]
    case (false, true): return [late]
    // Left out: the offset from before the change makes it as much later as the clock jumps.
    // `*` hours go by the clock, which never shows it.
    case (false, false): return isEveryHour ? [] : [local - before]
    }
  }

  private func offset(at seconds: Int64, in zone: TimeZone) -> Int64 {
    Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
  }

  private func matches(day: Int64) -> Bool {
    var seconds = time_t(day * 86_400)
    var parts = tm()
    guard gmtime_r(&seconds, &parts) != nil else { return false }
    guard months >> UInt64(parts.tm_mon + 1) & 1 == 1 else { return false }
    let isDay = days >> UInt64(parts.tm_mday) & 1 == 1
    let isWeekday = weekdays >> UInt64(parts.tm_wday) & 1 == 1
    if isEveryDay || isEveryWeekday { return isDay && isWeekday }
    return isDay || isWeekday
  }
}
