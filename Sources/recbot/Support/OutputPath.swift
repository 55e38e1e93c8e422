import Glibc

/// Where a recording is to be written.
enum OutputPath {
  /// The default name in the current folder: the room and the time (UTC).
  static func standard(room: String, ending: String = "webm") -> String {
    var now = time(nil)
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
        "\(flag) \(path): the name must end in \(known)" + (endings == [".webm"] ? ", or in / for a folder" : ""))
    }
    var status = stat()
    if lstat(path, &status) == 0 {
      throw Failure(
        .outputExists, "\(path) exists already and is not overwritten; choose another \(flag) or move it away")
    }
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
