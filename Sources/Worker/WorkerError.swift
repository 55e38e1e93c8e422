/// Why a worker can't start or has to stop.
public struct WorkerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One line: what is wrong, where, what to do.
  public var description: String
  /// True when it is a folder or file that can't be made or written, and not a setting.
  public var isFolder: Bool
  /// Makes an error; see the properties.
  public init(_ description: String, isFolder: Bool = false) {
    self.description = description
    self.isFolder = isFolder
  }
}
