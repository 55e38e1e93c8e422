/// How a picture differs from the one before. What is more contains what is less.
public enum PictureChange: Int, Comparable, Sendable {
  /// In nothing.
  case nothing
  /// In something small that does not stay: rings that show how loud somebody is, a clock.
  case detail
  /// In anything.
  case anything

  /// In the order of the cases.
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
