/// Which program this is.
public enum Build {
  /// Its version (https://semver.org).
  public static let version = "0.1.0"
}
