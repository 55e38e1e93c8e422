import Glibc
import Platform

/// A file that gets its name only when it is complete: until then it has none, so that a crash leaves nothing behind.
/// Where the file system cannot do that, it has a name of its own beside the final one.
final class FinishedFile {
  /// `O_TMPFILE` without the flag for folders; the same number on all Linux machines that Swift runs on.
  private static let unnamed: Int32 = 0o20_000_000

  private let path: String
  private let descriptor: Int32
  /// The name it has meanwhile; nil: none.
  private var temporary: String?

  /// Makes an empty file, mode 0600. Throws `.exists` when there is something under `path` already, `.open`, `.full`.
  init(path: String) throws(WebMError) {
    self.path = path
    var status = stat()
    guard lstat(path, &status) != 0 else {
      throw WebMError(code: .exists, failed: "create it", path: path, number: EEXIST)
    }
    let folder = FileWriting.folder(of: path)
    var opened = open(folder, Self.unnamed | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600)
    if opened < 0, [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(errno) {
      let name = "\(path).\(getpid()).joining"
      opened = open(name, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_RDWR, 0o600)
      temporary = name
    }
    guard opened >= 0 else { throw WebMError(code: .open, failed: "create it", path: path, number: errno) }
    descriptor = opened
  }

  deinit {
    close(descriptor)
    if let temporary { unlink(temporary) }
  }

  /// A descriptor of the file, for its writer to close.
  func makeDescriptor() throws(WebMError) -> Int32 {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw WebMError(code: .open, failed: "open it", path: path, number: errno) }
    return copy
  }

  /// Gives the file its name, durably. Throws `.exists` when there is something of that name by now.
  func publish() throws(WebMError) {
    // `linkat` makes the name or fails; it never replaces anything.
    let source = temporary ?? "/proc/self/fd/\(descriptor)"
    guard linkat(AT_FDCWD, source, AT_FDCWD, path, temporary == nil ? AT_SYMLINK_FOLLOW : 0) == 0 else {
      throw WebMError(code: .write, failed: "give it its name", path: path, number: errno)
    }
    if let number = FileWriting.syncFolder(of: path) {
      throw WebMError(code: .sync, failed: "fsync of its directory", path: path, number: number)
    }
  }
}
