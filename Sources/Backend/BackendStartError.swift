/// Why the backend can't start or has to stop.
public struct BackendStartError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One line: what is wrong, where, what to do.
  public var description: String
  /// Makes an error; see the properties.
  public init(_ description: String) { self.description = description }
}
