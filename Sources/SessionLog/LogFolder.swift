import Glibc

/// A log's folder: the files `000001.rlog`, `000002.rlog` and so on, mode 0600, in a folder of mode 0700.
enum LogFolder {
  /// A file gets no longer than this by much: so much is read again when one is damaged, and written again by `erase`.
  static let fileSize: Int64 = 64 << 20
  private static let ending = ".rlog"

  /// The name of a file.
  static func name(_ number: UInt32) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ending
  }

  /// Makes the folder; one that is there must be empty.
  static func make(_ path: String) throws(LogError) {
    if mkdir(path, 0o700) == 0 { return }
    let number = errno
    guard number == EEXIST else { throw LogError(.open, path, cannot: "make the folder of the log", number: number) }
    guard try contents(of: path).isEmpty else {
      throw LogError(.exists, "\(path): is not empty; a session log needs a folder of its own")
    }
  }

  /// The log's files, in their order.
  static func files(in path: String) throws(LogError) -> [String] {
    let files = try contents(of: path).filter { name in
      name.hasSuffix(ending) && name.count > ending.count && name.dropLast(ending.count).allSatisfy(\.isWholeNumber)
    }
    guard !files.isEmpty else {
      throw LogError(.notALog, "\(path): no session log: it has no file 000001.rlog")
    }
    return files.sorted { ($0.count, $0) < ($1.count, $1) }
  }

  /// The names of what is in a folder.
  static func contents(of path: String) throws(LogError) -> [String] {
    guard let folder = opendir(path) else {
      throw LogError(.open, path, cannot: "read the folder", number: errno)
    }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
