/// What can go wrong with writing a picture to a file.
public struct CompositorError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One line for people: what was tried and what Cairo said.
  public var description: String
}
