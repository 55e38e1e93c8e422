import Glibc

/// What is done alike wherever files are written. Blocks; any thread. Results are `errno`'s numbers, nil when all went well.
public enum FileWriting {
  /// Writes all bytes where the descriptor stands (for a file that is appended to, at its end), however often the system
  /// takes only a part, or a signal comes between. When it takes nothing, that is `ENOSPC`.
  public static func append(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    whole(bytes) { rest, _ in write(descriptor, rest.baseAddress, rest.count) }
  }

  /// Writes all bytes from the byte `offset` of the file on, likewise.
  public static func put(_ bytes: UnsafeRawBufferPointer, at offset: Int64, to descriptor: Int32) -> Int32? {
    whole(bytes) { rest, done in pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done)) }
  }

  @inline(__always)
  private static func whole(
    _ bytes: UnsafeRawBufferPointer, _ take: (_ rest: UnsafeRawBufferPointer, _ done: Int) -> Int
  ) -> Int32? {
    var done = 0
    while done < bytes.count {
      let count = take(UnsafeRawBufferPointer(rebasing: bytes[done...]), done)
      if count > 0 {
        done += count
      } else if count == 0 {
        return ENOSPC
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  /// The folder in which a path's file is: everything before the last slash.
  public static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes the name of a file durable: its entry in the folder. A folder that may be written but not read cannot be synced,
  /// and some file systems have no such thing; the file itself is safe by then, and only a failing disk (`EIO`) is told.
  public static func syncFolder(of path: String) -> Int32? {
    let descriptor = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return fsync(descriptor) != 0 && errno == EIO ? EIO : nil
  }
}
