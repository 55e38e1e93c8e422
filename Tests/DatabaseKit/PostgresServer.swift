import Foundation
import Glibc
import SystemKit
import Synchronization

/// A PostgreSQL server of the tests' own: a fresh folder, a Unix socket in it, no TCP.
package final class PostgresServer: Sendable {
  /// The one that all tests share, ended with the process; or why there is none. Nobody may kill it: other tests use it
  /// at the same time.
  package static let shared: Result<PostgresServer, Missing> = {
    do { return .success(try PostgresServer()) } catch let error as Missing { return .failure(error) } catch {
      return .failure(Missing(reason: "\(error)"))
    }
  }()

  /// Why there is no server.
  package struct Missing: Error {
    /// One line.
    package var reason: String
  }

  private static let counter = Atomic<Int>(0)

  let folder: String
  private let binaries: String
  private nonisolated(unsafe) var postmaster: pid_t = 0

  /// Starts one more server. Whoever starts it ends it.
  package init() throws {
    let number = Self.counter.wrappingAdd(1, ordering: .relaxed).newValue
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    guard let newest = versions.compactMap({ Int($0) }).max() else {
      throw Missing(reason: "PostgreSQL is not installed (deploy/install-deps.sh --tests installs it)")
    }
    binaries = "/usr/lib/postgresql/\(newest)/bin"
    folder = NSTemporaryDirectory() + "recbot-pg-\(getpid())-\(number)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if getuid() == 0 { try Self.run("/bin/chown", ["postgres", folder]) }
    try asServerUser(["\(binaries)/initdb", "-D", "\(folder)/data", "-A", "trust", "-U", "recbot", "-N"])
    try start()
    atexit { if case .success(let server) = PostgresServer.shared { server.end() } }
  }

  /// A new, empty database; returns its address.
  package func makeDatabase(_ name: String) throws -> String {
    try asServerUser(["\(binaries)/createdb", "-h", folder, "-U", "recbot", name])
    return "postgres:///\(name)?host=\(folder)&user=recbot"
  }

  /// Starts it again after it was killed.
  func start() throws {
    try asServerUser([
      "\(binaries)/pg_ctl", "-D", "\(folder)/data", "-w", "-l", "\(folder)/log", "-o",
      "-k \(folder) -c listen_addresses='' -c fsync=off -c max_connections=200", "start",
    ])
    let text = (try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)) ?? ""
    postmaster = pid_t(text.split(separator: "\n").first ?? "") ?? 0
  }

  /// As if the machine had lost power, but for its memory: no process is asked.
  func kill() {
    guard postmaster > 1 else { return }
    Glibc.kill(-postmaster, SIGKILL)
    Glibc.kill(postmaster, SIGKILL)
    // The pid file stays behind, as after a crash; the children go when they see that the postmaster is gone.
    while Glibc.kill(postmaster, 0) == 0 { usleep(10_000) }
    usleep(300_000)
  }

  /// The server dies and is started again. Blocks a thread of its own only.
  package func killAndStart() async {
    await withCheckedContinuation { continuation in
      Thread { [self] in
        kill()
        try? start()
        continuation.resume()
      }.start()
    }
  }

  /// Ends it, and removes everything of it.
  package func end() {
    try? asServerUser(["\(binaries)/pg_ctl", "-D", "\(folder)/data", "-m", "immediate", "stop"])
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The server refuses to run as root.
  private func asServerUser(_ command: [String]) throws {
    if getuid() == 0 {
      try Self.run("/usr/sbin/runuser", ["-u", "postgres", "--"] + command)
    } else {
      try Self.run(command[0], Array(command.dropFirst()))
    }
  }

  /// Runs a program to its end.
  private static func run(_ path: String, _ arguments: [String]) throws {
    let log = NSTemporaryDirectory() + "recbot-pg-\(UUID().uuidString).log"
    defer { unlink(log) }
    guard let process = ChildProcess.start([path] + arguments, output: log, errors: log) else {
      throw Missing(reason: "\(path) can't be started")
    }
    let status = ChildProcess.wait(process)
    guard status == 0 else {
      let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      throw Missing(reason: "\(path) \(arguments.joined(separator: " ")): \(status) \(text)")
    }
  }
}
