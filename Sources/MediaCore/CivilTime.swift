/// Dates as texts (proleptic Gregorian calendar, UTC), computed without the C library's shared state.
public enum CivilTime {
  /// Microseconds since 1970-01-01 UTC as `2026-11-21` and `20261121T143000Z`.
  public static func texts(microseconds: Int64) -> (date: String, time: String) {
    let total = microseconds >= 0 ? microseconds / 1_000_000 : -((-microseconds &+ 999_999) / 1_000_000)
    let days = total >= 0 ? total / 86_400 : -((-total &+ 86_399) / 86_400)
    let second = total - days * 86_400
    let (year, month, day) = date(ofDay: days)
    let date = [pad(year, 4), pad(month, 2), pad(day, 2)]
    let clock = pad(second / 3600, 2) + pad(second / 60 % 60, 2) + pad(second % 60, 2)
    return (date.joined(separator: "-"), date.joined() + "T" + clock + "Z")
  }

  /// The date of a day counted from 1970-01-01, which may be negative, by Howard Hinnant's "chrono-Compatible Low-Level Date
  /// Algorithms". Any day that is a time in nanoseconds.
  public static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // Eras of 400 years that begin on 1 March, so that the leap day ends a year.
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let part = (5 * dayOfYear + 2) / 153
    let month = part < 10 ? part + 3 : part - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * part + 2) / 5 + 1)
  }

  private static func pad(_ value: Int64, _ width: Int) -> String {
    let digits = String(value.magnitude)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
