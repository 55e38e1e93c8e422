import Glibc
import NIOCore

/// What it means that a server could not listen.
public enum ListenFault {
  /// The line for people; nil when the error is of another kind.
  public static func text(of error: any Error, at host: String, port: Int) -> String? {
    switch error {
    case let error as IOError: "cannot listen on \(host):\(port): \(String(cString: strerror(error.errnoCode)))"
    case is SocketAddressError.UnknownHost: "cannot listen on \(host): the name is not known"
    case is SocketAddressError: "cannot listen on \(host): there is no such address here"
    default: nil
    }
  }
}
