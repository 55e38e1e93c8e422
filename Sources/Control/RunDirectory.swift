import Glibc
import Platform

/// The folder with the control sockets of this user's recordings: `JOB.sock`.
public struct RunDirectory: Sendable {
  /// Path of the folder with the sockets.
  public let path: String

  /// The folder that is named (a setting), or `recbot` in `XDG_RUNTIME_DIR`, or `/tmp/recbot-UID`.
  public init(named: String?, environment: [String: String]) {
    if let named, !named.isEmpty {
      path = named
    } else if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
      path = runtime + "/recbot"
    } else {
      path = "/tmp/recbot-\(geteuid())"
    }
  }

  /// Takes this folder.
  public init(path: String) { self.path = path }

  /// Makes the folder if it is missing, mode 0700, and makes sure that it is this user's own and nobody else can write
  /// into it: in `/tmp` somebody else could have made it.
  public func prepare() throws(ControlError) {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw ControlError("cannot make the folder \(path) for control sockets: \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw ControlError("\(path), for control sockets, is no folder")
    }
    guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
      throw ControlError("\(path), for control sockets, belongs to or can be written by others; set RECBOT_RUN_DIR")
    }
  }

  /// The socket of a job.
  public func socket(of job: String) -> String { "\(path)/\(job).sock" }

  /// True when a job of this name runs.
  public func isTaken(_ job: String) -> Bool {
    guard let descriptor = try? UnixSocket.connect(socket(of: job)) else { return false }
    close(descriptor)
    return true
  }

  /// True for letters, digits, dot, dash and underscore, 1 to 64 of them, beginning with a letter or digit.
  public static func isName(_ job: String) -> Bool {
    let bytes = job.utf8
    func isPlain(_ byte: UInt8) -> Bool {
      (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
    guard let first = bytes.first, isPlain(first), bytes.count <= 64 else { return false }
    return bytes.allSatisfy { isPlain($0) || $0 == 45 || $0 == 46 || $0 == 95 }
  }

  /// A job's name made from a file's: without folder and suffix, and what a name must not have is an underscore.
  public static func name(from output: String) -> String {
    var file = output[(output.lastIndex(of: "/").map { output.index(after: $0) } ?? output.startIndex)...]
    if file.hasSuffix(".webm") { file.removeLast(5) }
    var result = ""
    for scalar in file.unicodeScalars.prefix(60) {
      let isPlain = scalar.isASCII && isName("a" + String(Character(scalar)))
      result.unicodeScalars.append(isPlain ? scalar : "_")
    }
    return isName(result) ? result : "r" + result
  }

  /// The names of all jobs that have a socket, in order; those that have ended without cleaning up too.
  public func jobs() -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name.hasSuffix(".sock"), RunDirectory.isName(String(name.dropLast(5))) else { continue }
      names.append(String(name.dropLast(5)))
    }
    return names.sorted()
  }

  /// Makes a listening socket for a job, mode 0600. One left behind by a process that was killed is replaced; one of a
  /// job that runs is not.
  func listen(_ job: String) throws(ControlError) -> Int32 {
    try prepare()
    let path = socket(of: job)
    // Two jobs of one name that start at once must not both find the place free.
    let folder = open(self.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if folder >= 0 { close(folder) } }
    guard folder >= 0, flock(folder, LOCK_EX) == 0 else { throw Self.failure("lock", self.path) }
    if let connection = try? UnixSocket.connect(path) {
      close(connection)
      throw ControlError("a recording with the job name '\(job)' is running; choose another --job")
    }
    unlink(path)
    let descriptor: Int32
    do {
      descriptor = try UnixSocket.bind(path)
    } catch {
      throw ControlError("\(error.description); RECBOT_RUN_DIR says where sockets are made")
    }
    guard Glibc.listen(descriptor, 8) == 0 else {
      let error = Self.failure("listen at", path)
      close(descriptor)
      unlink(path)
      throw error
    }
    return descriptor
  }

  private static func failure(_ what: String, _ path: String) -> ControlError {
    ControlError("cannot \(what) \(path): \(String(cString: strerror(errno)))")
  }
}
