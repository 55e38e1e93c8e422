import Glibc

/// Programs that tests start.
///
/// Not Foundation's `Process`, which waits for everybody who holds its pipes, a daemon too. Nothing of this process is
/// open in a child but its standard streams: suites run at the same time, and the other end of a socket that lives on in
/// somebody's server never sees it closed.
package enum ChildProcess {
  /// Starts a program: its path and arguments. Standard input is empty; the other streams go to the end of these files,
  /// or where this process's go. Nil when it can't be started. The caller waits for its end.
  package static func start(_ words: [String], output: String? = nil, errors: String? = nil) -> pid_t? {
    guard let path = words.first else { return nil }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    for (stream, file) in [(Int32(1), output), (2, errors)] {
      guard let file else { continue }
      posix_spawn_file_actions_addopen(&actions, stream, file, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    }
    guard let closeFrom, closeFrom(&actions, 3) == 0 else { return nil }
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    return posix_spawn(&process, path, &actions, nil, &pointers, environ) == 0 ? process : nil
  }

  /// Waits for a program's end: its exit code; 128 + signal when one ended it.
  package static func wait(_ process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
  }

  private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

  /// glibc has it since 2.34; the module `Glibc` doesn't show it.
  private static let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
    unsafeBitCast($0, to: CloseFrom.self)
  }
}
