/// Whole numbers of a `Duration`, for the wire, for what is stored, and for libraries that count by themselves.
extension Duration {
  /// Whole nanoseconds, rounded towards zero; the nearest that an `Int64` can hold (292 years).
  public var nanoseconds: Int64 { whole(1_000_000_000) }

  /// Whole microseconds, likewise.
  public var microseconds: Int64 { whole(1_000_000) }

  /// Whole milliseconds, likewise.
  public var milliseconds: Int64 { whole(1000) }

  /// Longer than anything takes: 292 years, all that an `Instant` can hold.
  public static let forever = Duration.nanoseconds(Int64.max)

  private func whole(_ perSecond: Int64) -> Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: perSecond)
    let (sum, isLonger) = product.addingReportingOverflow(attoseconds / (1_000_000_000_000_000_000 / perSecond))
    return isTooLong || isLonger ? (seconds < 0 ? .min : .max) : sum
  }
}
