import FoundationEssentials
import Glibc
import Platform

/// The other end of a control socket, for commands: sends requests and waits for their answers. Blocks the calling
/// thread, for at most ten seconds a call. Confined to one thread.
public final class ControlClient {
  private let descriptor: Int32
  private var input: [UInt8] = []

  /// Connects to a job. Throws when there is none.
  public init(job: String, in directory: RunDirectory) throws(ControlError) {
    guard RunDirectory.isName(job) else {
      throw ControlError("'\(job)' is no job's name: letters, digits, dot, dash and underscore, at most 64")
    }
    if let exact = try? UnixSocket.connect(directory.socket(of: job)) {
      descriptor = exact
    } else {
      // Sockets may be left of processes that were killed.
      let running = directory.jobs().filter(directory.isTaken)
      let meant = running.filter { $0.hasPrefix(job) }
      guard meant.count < 2 else {
        throw ControlError("'\(job)' is the beginning of several names: \(meant.joined(separator: ", "))")
      }
      guard let name = meant.first, let socket = try? UnixSocket.connect(directory.socket(of: name)) else {
        throw ControlError(
          "no recording with the job name '\(job)' is running here"
            + (running.isEmpty
              ? " (looked in \(directory.path))" : "; there are: \(running.joined(separator: ", "))"))
      }
      descriptor = socket
    }
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  deinit { close(descriptor) }

  /// Sends a request and waits for its answer. Throws when the recording refuses it or goes away.
  @discardableResult
  public func ask(_ request: ControlRequest) throws(ControlError) -> ControlAnswer {
    guard let body = try? JSONEncoder().encode(request) else { throw ControlError("the request cannot be written") }
    let bytes = Array(body) + [UInt8(ascii: "\n")]
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw ControlError("the recording does not take the command") }
      sent += count
    }
    while let line = nextLine() {
      guard let answer = ControlAnswer(line: line) else { continue }
      guard answer.ok else { throw ControlError(answer.error ?? "the recording refuses the command") }
      return answer
    }
    throw ControlError("the recording gave no answer")
  }

  /// The next line, waiting for it as long as it takes; nil when the recording has ended. For listeners.
  public func nextEvent() -> String? {
    var forever = timeval(tv_sec: 0, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &forever, socklen_t(MemoryLayout<timeval>.size))
    return nextLine().map { String(decoding: $0, as: UTF8.self) }
  }

  private func nextLine() -> [UInt8]? {
    while true {
      if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
        defer { input.removeFirst(end + 1) }
        return Array(input[..<end])
      }
      var room = [UInt8](repeating: 0, count: 4096)
      let count = read(descriptor, &room, room.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0, input.count < 1 << 20 else { return nil }
      input += room[..<count]
    }
  }
}
