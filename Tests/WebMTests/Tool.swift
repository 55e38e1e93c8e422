import Glibc
import SystemKit

/// Runs programs for the tests.
enum Tool {
  struct Result {
    /// Exit code; 128 + signal for a killed program.
    var status: Int32
    var output: String
    var errors: String
  }

  /// Full path of a program in PATH or beside the tests' own executable; nil when it is not there.
  static func find(_ name: String) -> String? {
    var directories = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":").map(String.init)
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    if count > 0 {
      let executable = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      directories.append(executable.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 })
    }
    return directories.map { $0 + "/" + name }.first { access($0, X_OK) == 0 }
  }

  /// Runs a program to its end.
  static func run(_ arguments: [String], in directory: TemporaryDirectory) -> Result {
    let output = directory.path("stdout-\(UInt64.random(in: 0 ... .max))")
    let errors = directory.path("stderr-\(UInt64.random(in: 0 ... .max))")
    guard let process = start(arguments, output: output, errors: errors) else {
      return Result(status: 127, output: "", errors: "cannot start \(arguments)")
    }
    let status = ChildProcess.wait(process)
    defer {
      unlink(output)
      unlink(errors)
    }
    return Result(
      status: status, output: String(decoding: Files.read(output), as: UTF8.self),
      errors: String(decoding: Files.read(errors), as: UTF8.self))
  }

  /// Starts a program with a pipe from its standard output; the reading end is the caller's.
  static func start(_ arguments: [String], errors: String) -> (process: pid_t, output: Int32)? {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[1]) }
    if let process = start(arguments, output: "/proc/self/fd/\(ends[1])", errors: errors) { return (process, ends[0]) }
    close(ends[0])
    return nil
  }

  private static func start(_ arguments: [String], output: String, errors: String) -> pid_t? {
    guard let name = arguments.first, let path = name.contains("/") ? name : find(name) else { return nil }
    return ChildProcess.start([path] + arguments.dropFirst(), output: output, errors: errors)
  }

  /// What ffmpeg says when it decodes a file and may not overlook any error: nothing, for a good one.
  static func decode(_ path: String, in directory: TemporaryDirectory) -> String {
    let result = run(["ffmpeg", "-v", "error", "-xerror", "-nostdin", "-i", path, "-f", "null", "-"], in: directory)
    return result.errors + (result.status == 0 ? "" : "exit code \(result.status)")
  }

  /// True when the programs that judge the files are installed.
  static let judgesAreThere = ["ffmpeg", "ffprobe", "mkvmerge", "mkvinfo"].allSatisfy { find($0) != nil }
}

/// Whole files.
enum Files {
  static func read(_ path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    let size = Int(lseek(descriptor, 0, SEEK_END))
    guard size > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
  }

  /// What a pipe has; nil at its end.
  static func readSome(_ descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  static func write(_ bytes: some Collection<UInt8>, to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    Array(bytes).withUnsafeBytes { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

/// A directory that is gone after the test.
final class TemporaryDirectory {
  private let root: String

  init() {
    var template = Array("/tmp/webm-tests-XXXXXX".utf8CString)
    root =
      mkdtemp(&template) == nil
      ? "/tmp" : String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    guard root != "/tmp", let list = opendir(root) else { return }
    while let entry = readdir(list) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if unlink(path(name)) != 0, name != ".", name != ".." { rmdir(path(name)) }
    }
    closedir(list)
    rmdir(root)
  }

  func path(_ name: String) -> String { root + "/" + name }
}

/// True when a descriptor still is that file. Other suites run in this process, so that the number of a closed one may
/// already be another file's.
func isOpen(_ descriptor: Int32, on path: String) -> Bool {
  var name = [CChar](repeating: 0, count: 4096)
  let count = readlink("/proc/self/fd/\(descriptor)", &name, name.count)
  guard count > 0 else { return false }
  return String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == path
}
