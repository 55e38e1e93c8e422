import Foundation
import Glibc
import SystemKit

/// A process of `queue-workers`. Ended with SIGKILL, as a machine that loses power ends one.
final class WorkerProcess {
  private let process: pid_t
  private var isRunning = true
  /// True when it is known to have ended.
  var hasEnded: Bool { !isRunning }

  /// Starts one with these arguments; nil when the program isn't there.
  init?(_ arguments: [String]) {
    var buffer = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    guard length > 0 else { return nil }
    let own = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let program = URL(filePath: own).deletingLastPathComponent().appending(path: "queue-workers").path
    guard let process = ChildProcess.start([program] + arguments) else { return nil }
    self.process = process
  }

  deinit { kill() }

  /// Ends it, in the middle of whatever it does.
  func kill() {
    guard isRunning else { return }
    isRunning = false
    Glibc.kill(process, SIGKILL)
    _ = ChildProcess.wait(process)
  }

  /// The exit code once it has ended by itself, -1 for any other end; nil while it runs.
  func ended() -> Int32? {
    guard isRunning else { return -1 }
    var status: Int32 = 0
    guard waitpid(process, &status, WNOHANG) == process else { return nil }
    isRunning = false
    return status & 0x7f == 0 ? status >> 8 & 0xff : -1
  }

  /// Freezes it.
  func freeze() { Glibc.kill(process, SIGSTOP) }
  /// Lets it go on, as a zombie that doesn't know how long it was away.
  func thaw() { Glibc.kill(process, SIGCONT) }
}
