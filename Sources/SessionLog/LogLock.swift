import Glibc

/// The right to write or delete a log, for one process at a time: flock(2) of its folder, which the system takes back from a
/// process that is gone.
final class LogLock {
  private let descriptor: Int32

  /// Takes the lock; nil when somebody else has it. Throws `.open` when the folder can't be opened.
  init?(_ folder: String) throws(LogError) {
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw LogError(.open, folder, cannot: "open the folder", number: errno) }
    // Where there are no locks, nobody has one.
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return nil }
  }

  deinit { close(descriptor) }
}
