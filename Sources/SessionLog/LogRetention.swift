import Glibc

/// Deletes logs whose time is over.
public enum LogRetention {
  /// Deletes the logs directly in `folder` that may be deleted at `now`, nanoseconds since 1970-01-01 UTC; gives their
  /// folders. What is no log, what cannot be read, what is being written, and what is to be kept stays. Throws `.open` when
  /// the folder cannot be read, `.write` when a log cannot be deleted. Blocks for the disk.
  public static func prune(
    _ folder: String, at now: Int64, layouts: @escaping LayoutTextReader, isDryRun: Bool = false
  ) throws(LogError) -> [String] {
    var pruned: [String] = []
    for name in try LogFolder.contents(of: folder).sorted() {
      let path = "\(folder)/\(name)"
      guard let reader = try? SessionLogReader(path: path, layouts: layouts),
        let limit = reader.beginning.keepUntil, limit <= now, let lock = try? LogLock(path), access(path, F_OK) == 0
      else { continue }
      defer { withExtendedLifetime(lock) {} }
      if !isDryRun { try delete(path) }
      pruned.append(path)
    }
    return pruned
  }

  /// Deletes a log: its files, and the folder when nothing else is in it.
  static func delete(_ path: String) throws(LogError) {
    for file in try LogFolder.files(in: path).map({ "\(path)/\($0)" }) where unlink(file) != 0 {
      throw LogError(.write, file, cannot: "delete it", number: errno)
    }
    guard rmdir(path) == 0 || errno == ENOTEMPTY || errno == EEXIST else {
      throw LogError(.write, path, cannot: "delete the folder", number: errno)
    }
  }
}
