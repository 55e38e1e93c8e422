import Glibc

/// Stream sockets with a path in the file system (unix(7)).
public enum UnixSocket {
  /// Why a socket cannot be had. One line, without what to do.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What cannot be done, where, and why.
    public let description: String
  }

  /// The longest path that the kernel takes, in bytes.
  public static let longestPath = 107

  /// A connected socket, which blocks. The caller closes it.
  public static func connect(_ path: String) throws(Failure) -> Int32 {
    try make(path, "connect to") { Glibc.connect($0, $1, $2) }
  }

  /// A bound socket of mode 0600, which does not block. The caller closes it, and removes the path.
  public static func bind(_ path: String) throws(Failure) -> Int32 {
    let descriptor = try make(path, "make") { descriptor, address, length in
      // What is made by bind() has the socket's own mode, less the mask: nobody else comes between.
      fchmod(descriptor, 0o600)
      return Glibc.bind(descriptor, address, length)
    }
    setNonBlocking(descriptor)
    return descriptor
  }

  /// Two connected sockets that do not block; nil when there are no descriptors left.
  public static func pair() -> (reader: Int32, writer: Int32)? {
    var pair: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
      return nil
    }
    pair.forEach(setNonBlocking)
    return (pair[0], pair[1])
  }

  /// Makes reads and writes return at once.
  public static func setNonBlocking(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  private static func make(
    _ path: String, _ what: String, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(Failure) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count <= longestPath, !path.utf8.contains(0) else {
      throw Failure(description: "the path \(path) is too long for a socket")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else {
      throw Failure(description: "cannot make a socket: \(String(cString: strerror(errno)))")
    }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0 else {
      let failure = Failure(description: "cannot \(what) \(path): \(String(cString: strerror(errno)))")
      close(descriptor)
      throw failure
    }
    return descriptor
  }
}
