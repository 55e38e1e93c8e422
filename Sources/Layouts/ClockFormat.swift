import MediaCore

/// How a time of day is written: some of the conversions of POSIX `strftime`, without locales.
public struct ClockFormat: Hashable, Sendable {
  /// The pattern, such as `%H:%M`.
  public let pattern: String

  /// Hours and minutes.
  public static let standard = ClockFormat(checked: "%H:%M")

  private init(checked pattern: String) { self.pattern = pattern }

  /// Reads a pattern: at most 64 characters, with only `%H %I %M %S %p %Y %m %d %e %y %F %T %R %%`; nil otherwise.
  public init?(_ pattern: String) {
    guard !pattern.isEmpty, pattern.unicodeScalars.count <= 64 else { return nil }
    var isConversion = false
    for scalar in pattern.unicodeScalars {
      if isConversion {
        guard "HIMSpYmdeyFTR%".unicodeScalars.contains(scalar) else { return nil }
        isConversion = false
      } else {
        isConversion = scalar == "%"
      }
    }
    guard !isConversion else { return nil }
    self.pattern = pattern
  }

  /// The text at an instant.
  ///
  /// - Parameters:
  ///   - seconds: since 1970-01-01 00:00 UTC.
  ///   - utcOffset: seconds to add for the local time.
  public func text(seconds: Int64, utcOffset: Int = 0) -> String {
    // Some 30 000 years each way: more than any clock says, less than overflows.
    let local = min(max(seconds, -1 << 40), 1 << 40) + Int64(min(max(utcOffset, -86_400), 86_400))
    let day = local >= 0 ? local / 86_400 : -((-local + 86_399) / 86_400)
    let second = Int(local - day * 86_400)
    let date = CivilTime.date(ofDay: day)
    let (hour, minute) = (second / 3600, second / 60 % 60)
    func two(_ value: Int, pad: String = "0") -> String { value < 10 ? "\(pad)\(value)" : "\(value)" }
    var result = ""
    var isConversion = false
    for scalar in pattern.unicodeScalars {
      guard isConversion else {
        if scalar == "%" { isConversion = true } else { result.unicodeScalars.append(scalar) }
        continue
      }
      isConversion = false
      switch scalar {
      case "H": result += two(hour)
      case "I": result += two((hour + 11) % 12 + 1)
      case "M": result += two(minute)
      case "S": result += two(second % 60)
      case "p": result += hour < 12 ? "AM" : "PM"
      case "Y": result += "\(date.year)"
      case "y": result += two(Int(((date.year % 100) + 100) % 100))
      case "m": result += two(Int(date.month))
      case "d": result += two(Int(date.day))
      case "e": result += two(Int(date.day), pad: " ")
      case "F": result += "\(date.year)-\(two(Int(date.month)))-\(two(Int(date.day)))"
      case "T": result += "\(two(hour)):\(two(minute)):\(two(second % 60))"
      case "R": result += "\(two(hour)):\(two(minute))"
      default: result += "%"
      }
    }
    return result
  }
}
