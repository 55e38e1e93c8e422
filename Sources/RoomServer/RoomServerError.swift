import Glibc
import NIOCore

/// Why the room server could not start.
public enum RoomServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Another program listens there already.
  case portInUse(host: String, port: Int)
  /// The address is not one of this machine's, or not an address at all.
  case addressUnavailable(host: String, port: Int)
  /// The operating system doesn't let this user listen there (ports below 1024).
  case portNotPermitted(host: String, port: Int)
  /// No API key was configured: nobody could join.
  case noAPIKeys
  /// `start` was called twice, or after `stop`.
  case alreadyStarted
  /// Anything else that the operating system said.
  case cannotListen(host: String, port: Int, reason: String)

  /// Cause and remedy in one line.
  public var description: String {
    switch self {
    case .portInUse(let host, let port):
      "port \(port) on \(host) is already in use: stop the program that listens there, or choose another port"
        + " (0 takes any free one)"
    case .addressUnavailable(let host, let port):
      "cannot listen on \(host) port \(port): it is not an address of this machine"
    case .portNotPermitted(let host, let port):
      "not allowed to listen on \(host) port \(port): choose a port above 1023"
    case .noAPIKeys: "the room server needs at least one API key with a secret that is not empty"
    case .alreadyStarted: "the room server was started already"
    case .cannotListen(let host, let port, let reason): "cannot listen on \(host) port \(port): \(reason)"
    }
  }

  init(binding host: String, port: Int, error: any Error) {
    guard let error = error as? IOError else {
      // What is left are failures of name resolution.
      self = .addressUnavailable(host: host, port: port)
      return
    }
    switch error.errnoCode {
    case EADDRINUSE: self = .portInUse(host: host, port: port)
    case EADDRNOTAVAIL: self = .addressUnavailable(host: host, port: port)
    case EACCES, EPERM: self = .portNotPermitted(host: host, port: port)
    default: self = .cannotListen(host: host, port: port, reason: "error \(error.errnoCode)")
    }
  }
}
