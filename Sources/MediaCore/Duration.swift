/// Whole numbers of a `Duration`, for the wire, for what is stored, and for libraries that count by themselves; and its text.
extension Duration {
  /// Whole nanoseconds, rounded towards zero; the nearest that an `Int64` can hold (292 years).
  public var nanoseconds: Int64 { whole(1_000_000_000) }

  /// Whole microseconds, likewise.
  public var microseconds: Int64 { whole(1_000_000) }

  /// Whole milliseconds, likewise.
  public var milliseconds: Int64 { whole(1000) }

  /// Longer than anything takes: 292 years, all that an `Instant` can hold.
  public static let forever = Duration.nanoseconds(Int64.max)

  /// Seconds with milliseconds, rounded toward negative infinity, for logs and goldens: `12.345`.
  public var inSeconds: String {
    let nanoseconds = nanoseconds
    let ms = nanoseconds >= 0 ? nanoseconds / 1_000_000 : (nanoseconds + 1) / 1_000_000 - 1
    let fraction = String(1000 + ms.magnitude % 1000).dropFirst()
    return "\(ms < 0 ? "-" : "")\(ms.magnitude / 1000).\(fraction)"
  }

  private func whole(_ perSecond: Int64) -> Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: perSecond)
    let (sum, isLonger) = product.addingReportingOverflow(attoseconds / (1_000_000_000_000_000_000 / perSecond))
    return isTooLong || isLonger ? (seconds < 0 ? .min : .max) : sum
  }
}
