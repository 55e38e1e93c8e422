import Foundation
import JobsAPI

/// The operator's folder with the keys of rooms that are encrypted end to end, which jobs name: a file `NAME` or `NAME.yaml`
/// for each. Blocks; any thread.
public struct KeyFolder: Hashable, Sendable {
  /// A worker tells no more names than this.
  static let mostNames = 1000
  private static let endings = ["", ".yaml", ".yml"]

  private let path: String

  /// The folder at a path.
  public init(_ path: String) { self.path = path }

  /// The names of the keys, sorted; empty when the folder cannot be read.
  public func names() -> [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    let names = files.map { file in
      Self.endings.first { !$0.isEmpty && file.hasSuffix($0) }.map { String(file.dropLast($0.count)) } ?? file
    }
    return Array(Set(names.filter(KeyName.isValid)).sorted().prefix(Self.mostNames))
  }

  /// The file of a key; nil when there is none. The name must be valid.
  public func file(of name: String) -> String? {
    guard KeyName.isValid(name) else { return nil }
    return Self.endings.map { "\(path)/\(name)\($0)" }.first { FileManager.default.fileExists(atPath: $0) }
  }
}
