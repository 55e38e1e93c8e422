import FrameEncryption
import Glibc
import Settings

/// The file that `--e2ee-key-file` names.
enum KeyFile {
  /// Reads it; `-` is standard input. Somebody else's eyes on it are refused, as ssh refuses them.
  static func read(_ path: String) throws -> FrameKeys {
    let isInput = path == "-"
    let descriptor = isInput ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw Failure(.usage, "the key file \(path) cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    if !isInput {
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        throw Failure(.usage, "the key file \(path) is not a file")
      }
      guard status.st_mode & 0o077 == 0 else {
        throw Failure(.usage, "others may read the key file \(path); run chmod 600 \(path)")
      }
    }
    var bytes = [UInt8](repeating: 0, count: FrameKeyFile.maximumBytes + 1)
    var count = 0
    while count < bytes.count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        let rest = buffer[count...]
        return Glibc.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else {
        throw Failure(.usage, "the key file \(path) cannot be read: \(String(cString: strerror(errno)))")
      }
      if got == 0 { break }
      count += got
    }
    do {
      return try FrameKeyFile.keys(Array(bytes.prefix(count)), file: isInput ? "standard input" : path)
    } catch {
      throw Failure(.usage, "\(error)")
    }
  }
}
