import Foundation
import Glibc

/// A worker's place in the data folder: `worker/N`, with a lock, its journal and the parts that it records. A worker
/// that starts again finds what it left.
final class WorkerFolder: Sendable {
  /// The folder, absolute.
  let path: String
  private let lock: Int32

  private init(path: String, lock: Int32) {
    self.path = path
    self.lock = lock
  }

  deinit { close(lock) }

  /// Where the journal is.
  var journal: String { "\(path)/journal.jsonl" }

  /// Where the parts of a job go. Made if need be.
  func parts(of job: String) throws(WorkerError) -> String {
    let folder = partsPath(of: job)
    try Self.make(folder)
    return folder
  }

  /// Where the parts of a job go, made or not.
  func partsPath(of job: String) -> String { "\(path)/parts/\(Self.fileName(job))" }

  /// The first place that no living worker has. Throws when the data folder cannot be used.
  static func take(in data: String) throws(WorkerError) -> WorkerFolder {
    let root = "\(data)/worker"
    try make(root)
    for number in 1...999 {
      if let folder = try lock("\(root)/\(number)") { return folder }
    }
    throw WorkerError("\(root): 999 workers use it")
  }

  /// Makes a chosen name one worker's in this data folder, as long as the result lives. Throws when it is taken.
  static func hold(name: String, in data: String) throws(WorkerError) -> WorkerFolder {
    if let held = try lock("\(data)/worker/names/\(fileName(name))") { return held }
    throw WorkerError(
      "a worker named \(name) runs with the data folder \(data) already; give each a name of its own (--name), or none")
  }

  /// The places of workers that are gone, which left something behind. Each is held until it is let go.
  static func abandoned(in data: String) throws(WorkerError) -> [WorkerFolder] {
    let root = "\(data)/worker"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    var folders: [WorkerFolder] = []
    for name in names.sorted() where Int(name) != nil {
      if access("\(root)/\(name)/journal.jsonl", F_OK) == 0, let folder = try lock("\(root)/\(name)") {
        folders.append(folder)
      }
    }
    return folders
  }

  private static func lock(_ path: String) throws(WorkerError) -> WorkerFolder? {
    try make(path)
    let descriptor = open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw WorkerError("\(path)/lock cannot be opened: \(String(cString: strerror(errno)))", isFolder: true)
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
    return WorkerFolder(path: path, lock: descriptor)
  }

  /// Makes a folder, and those above it, for this user only.
  static func make(_ path: String) throws(WorkerError) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw WorkerError("the folder \(path) cannot be made: \(String(cString: strerror(errno)))", isFolder: true)
    }
  }

  /// A name that is safe as one step of a path.
  static func fileName(_ text: String) -> String {
    let safe = text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") ? $0 : "_" }
    return safe.isEmpty ? "_" : String(safe.prefix(100))
  }
}
