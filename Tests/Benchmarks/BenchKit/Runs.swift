import Foundation
import Synchronization

/// What a command has cost.
package struct Cost {
  /// Processor time, seconds.
  package var processor: Double
  /// How long it took, seconds.
  package var time: Double
  /// The most memory that it held, MiB.
  package var memory: Double
  /// The part of the time in which others had its processor.
  package var disturbance: Double
}

/// Ends with a line on standard error, ends what runs in the background, and leaves no folder.
package func fail(_ line: String) -> Never {
  Background.endAll()
  for folder in folders.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: folder) }
  let name = URL(filePath: CommandLine.arguments[0]).lastPathComponent
  FileHandle.standardError.write(Data("\(name): \(line)\n".utf8))
  exit(1)
}

/// A command in the background.
package final class Background {
  private static let running = Mutex<Set<pid_t>>([])
  private let process: Process

  /// Starts it on this processor.
  package init(_ words: [String], on processor: String) {
    process = start(words, on: processor)
    Self.running.withLock { [pid = process.processIdentifier] in _ = $0.insert(pid) }
  }

  fileprivate static func endAll() { running.withLock { for pid in $0 { kill(pid, SIGTERM) } } }

  /// What it has cost so far, seconds of processor time.
  package var processorTime: Double { processorTimes(of: process.processIdentifier) }

  /// Ends it and waits for that.
  package func stop() {
    process.terminate()
    process.waitUntilExit()
    Self.running.withLock { [pid = process.processIdentifier] in _ = $0.remove(pid) }
  }
}

/// recbot's room server on a port of its own, on the second processor; its key is in the environment of what is started.
package struct RoomServer {
  /// Where it is.
  package let url: String
  /// What it costs, and how it is ended.
  package let process: Background

  /// Starts it.
  package init(_ recbot: String) {
    setenv("LIVEKIT_API_KEY", "devkey", 1)
    setenv("LIVEKIT_API_SECRET", "secret", 1)
    let port = Int.random(in: 20_000..<30_000)
    url = "ws://127.0.0.1:\(port)"
    process = Background([recbot, "room-server", "--port", "\(port)"], on: "1")
    Thread.sleep(forTimeInterval: 1)
  }
}

/// Runs a command to its end on these processors.
@discardableResult
package func run(_ words: [String], on processors: String = "0,1") -> Cost {
  let first = Int(processors.prefix { $0 != "," }) ?? 0
  let (began, busy) = (ContinuousClock.now, busyTime(of: first))
  let usage = usage(of: spawn(words, on: processors), words)
  let elapsed = (ContinuousClock.now - began) / .seconds(1)
  let others = processors.contains(",") ? 0 : max(0, busyTime(of: first) - busy - usage.processor) / elapsed
  return Cost(processor: usage.processor, time: elapsed, memory: usage.memory, disturbance: others)
}

/// Runs commands to their ends at the same time, each on its processor, so that whatever slows this machine down slows down each of
/// them; gives their processor times in seconds.
package func runTogether(_ commands: [(words: [String], processor: String)]) -> [Double] {
  commands.map { ($0.words, spawn($0.words, on: $0.processor)) }.map { words, pid in usage(of: pid, words).processor }
}

/// Waits for a process, and gives seconds of processor time and the most memory in MiB.
private func usage(of pid: pid_t, _ words: [String]) -> (processor: Double, memory: Double) {
  var (status, usage) = (Int32(0), rusage())
  guard wait4(pid, &status, 0, &usage) == pid, status == 0 else { fail("failed: \(words.joined(separator: " "))") }
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
  return (seconds(usage.ru_utime) + seconds(usage.ru_stime), Double(usage.ru_maxrss) / 1024)
}

/// The middle one.
package func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// Two digits behind the point.
package func text(_ value: Double, digits: Int = 2) -> String { String(format: "%.\(digits)f", value) }

private let folders = Mutex<[String]>([])

/// A new folder for what a benchmark makes.
package func makeFolder() -> String {
  let name = URL(filePath: CommandLine.arguments[0]).lastPathComponent
  let folder = NSTemporaryDirectory() + "\(name)-\(getpid())"
  do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) } catch {
    fail("\(error)")
  }
  folders.withLock { $0.append(folder) }
  return folder
}

private func words(_ words: [String], on processors: String) -> [String] {
  ["taskset", "--cpu-list", processors] + words
}

private func start(_ command: [String], on processors: String) -> Process {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = words(command, on: processors)
  process.standardOutput = FileHandle.nullDevice
  process.standardError = FileHandle.nullDevice
  do { try process.run() } catch { fail("\(command[0]) cannot be started: \(error)") }
  return process
}

/// Starts a command whose cost `wait4` tells, its children's included.
private func spawn(_ command: [String], on processors: String) -> pid_t {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  for descriptor in Int32(0)...2 { posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0) }
  let arguments = words(command, on: processors)
  let pointers = arguments.map { strdup($0) } + [nil]
  defer { for pointer in pointers { free(pointer) } }
  var pid = pid_t()
  guard posix_spawnp(&pid, arguments[0], &actions, nil, pointers, environ) == 0 else {
    fail("\(command[0]) cannot be started: deploy/install-deps.sh --bench installs it")
  }
  return pid
}

private let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))

/// Fields of a line of /proc.
private func fields(_ path: String, _ prefix: String = "") -> [Substring] {
  let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  return text.split(separator: "\n").first { $0.hasPrefix(prefix) }?.split(separator: " ") ?? []
}

/// Seconds that a process has spent (proc(5), `stat`).
private func processorTimes(of pid: pid_t) -> Double {
  let values = fields("/proc/\(pid)/stat")
  guard values.count > 14 else { return 0 }
  return ((Double(values[13]) ?? 0) + (Double(values[14]) ?? 0)) / ticks
}

/// Seconds that a processor was not idle, and that the machine below kept for others.
private func busyTime(of processor: Int) -> Double {
  let values = fields("/proc/stat", "cpu\(processor) ").dropFirst().map { Double($0) ?? 0 }
  guard values.count > 7 else { return 0 }
  // user, nice, system, idle, iowait, irq, softirq, steal
  return (values[0] + values[1] + values[2] + values[5] + values[6] + values[7]) / ticks
}
