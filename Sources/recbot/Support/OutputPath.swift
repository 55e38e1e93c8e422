import Glibc
import Platform

/// Where a recording is to be written.
enum OutputPath {
  /// The default name in the current folder: the room and the time (UTC).
  static func standard(room: String, ending: String = "webm") -> String {
    var now = time_t(WallClock.seconds)
    var parts = tm()
    gmtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
    let stamp = String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "\(RoomText.fileName(room))-\(stamp).\(ending)"
  }

  /// The file that is asked for: a folder, with a slash at its end, gets the default name.
  static func named(_ path: String?, room: String) -> String {
    guard let path else { return standard(room: room) }
    return path.hasSuffix("/") ? path + standard(room: room) : path
  }

  /// Refuses, before anything else is done, what could not be written later. `endings` are those that the name may
  /// have, `flag` is what gives it.
  static func check(_ path: String, endings: [String] = [".webm"], flag: String = "--output") throws {
    guard endings.contains(where: path.lowercased().hasSuffix) else {
      let known = endings.joined(separator: ", ")
      throw Failure(
        .usage,
        "\(flag) \(path): the name must end in \(known)"
          + (flag == "--output" && endings == [".webm"] ? ", or in / for a folder" : ""))
    }
    var status = stat()
    if lstat(path, &status) == 0 {
      throw Failure(
        .outputExists, "\(path) exists already and is not overwritten; choose another \(flag) or move it away")
    }
    try checkParent(of: path, flag: flag)
  }

  /// True when two names are of the same file, which need not be there; their folders are.
  static func isSame(_ one: String, _ other: String) -> Bool {
    func parts(_ path: String) -> (folder: String, name: Substring) {
      guard let slash = path.lastIndex(of: "/") else { return (".", path[...]) }
      return (path.startIndex == slash ? "/" : String(path[..<slash]), path[path.index(after: slash)...])
    }
    let (a, b) = (parts(one), parts(other))
    guard a.name == b.name else { return false }
    var (first, second) = (stat(), stat())
    guard stat(a.folder, &first) == 0, stat(b.folder, &second) == 0 else { return a.folder == b.folder }
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino
  }

  /// Refuses a folder that could not be filled later: it is made, or is there and empty.
  static func checkFolder(_ path: String, flag: String) throws {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    guard let folder = opendir(path) else {
      guard errno == ENOENT else {
        throw Failure(.outputNotWritable, "\(flag) \(path): \(String(cString: strerror(errno)))")
      }
      return try checkParent(of: path, flag: flag)
    }
    defer { closedir(folder) }
    // "." and ".." are in every folder.
    for _ in 0..<2 { _ = readdir(folder) }
    guard readdir(folder) == nil else {
      throw Failure(.outputExists, "\(path) is not empty; choose another folder for \(flag), or move it away")
    }
  }

  private static func checkParent(of path: String, flag: String) throws {
    var status = stat()
    let folder = path.lastIndex(of: "/").map { path.startIndex == $0 ? "/" : String(path[..<$0]) } ?? "."
    guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw Failure(
        .outputNotWritable, "the folder \(folder) of the output does not exist; make it, or choose another \(flag)")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      let why = String(cString: strerror(errno))
      throw Failure(.outputNotWritable, "cannot write into \(folder): \(why); choose another \(flag)")
    }
  }
}
