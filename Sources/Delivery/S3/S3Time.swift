import Foundation

/// Times in HTTP headers.
enum S3Time {
  /// A store's wishes count up to this many milliseconds.
  private static let longestWish: Int64 = 300_000

  /// `Sat, 21 Nov 2026 14:30:00 GMT` (RFC 9110 section 5.6.7) as seconds since 1970; nil for anything else.
  static func seconds(httpDate text: String) -> Int64? {
    let words = text.split(separator: " ")
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard words.count == 6, words[5] == "GMT", let day = Int(words[1]),
      let month = months.firstIndex(of: String(words[2])),
      let year = Int(words[3]), (1970...9999).contains(year), (1...31).contains(day)
    else { return nil }
    let clock = words[4].split(separator: ":").map { Int($0) }
    guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
      (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    let y = month < 2 ? year - 1 : year
    let shifted = (month + 10) % 12
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * shifted + 2) / 5 + day - 1 - 719_468
    return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
  }

  /// `Retry-After` (RFC 9110 section 10.2.3) in milliseconds: seconds, or a date.
  static func pause(retryAfter text: String, now: Int64) -> Int64? {
    let seconds = Int64(text.trimmingCharacters(in: .whitespaces)) ?? seconds(httpDate: text).map { $0 &- now }
    guard let seconds, seconds > 0 else { return nil }
    return min(seconds, longestWish / 1000) * 1000
  }
}
