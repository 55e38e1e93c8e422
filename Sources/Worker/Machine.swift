import Glibc
import JobsAPI
import Platform

/// What the machine, or the container, has, and what processes use of it: read from `/proc` and the control group
/// (cgroup v2, and v1 for memory and processor quota). Files of these systems never block.
enum Machine {
  /// What recordings may use in all.
  static func limits() -> Admission.Limits {
    var cores = Double(Processors.count)
    var memory = Int64(sysconf(Int32(_SC_PHYS_PAGES))).multipliedReportingOverflow(
      by: Int64(sysconf(Int32(_SC_PAGESIZE)))
    ).partialValue
    for folder in controlGroups() {
      if let quota = quota(text("\(folder)/cpu.max")) { cores = min(cores, quota) }
      if let limit = text("\(folder)/memory.max").flatMap({ number($0) }), limit > 0 { memory = min(memory, limit) }
    }
    // Version 1 of control groups.
    if let quota = text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").flatMap({ number($0) }), quota > 0,
      let period = text("/sys/fs/cgroup/cpu/cpu.cfs_period_us").flatMap({ number($0) }), period > 0
    {
      cores = min(cores, Double(quota) / Double(period))
    }
    if let limit = text("/sys/fs/cgroup/memory/memory.limit_in_bytes").flatMap({ number($0) }), limit > 0 {
      memory = min(memory, limit)
    }
    return Admission.Limits(cores: max(0.1, cores), memory: max(64 << 20, memory))
  }

  /// What a process has used so far: processor time in microseconds, and its resident memory in bytes. Nil when there is
  /// no such process.
  static func use(of process: Int32) -> (time: Int64, memory: Int64)? {
    guard let stat = text("/proc/\(process)/stat"), let time = processorTime(stat) else { return nil }
    let pages = text("/proc/\(process)/statm").flatMap { text in
      text.split(separator: " ").dropFirst().first.flatMap { Int64($0) }
    }
    return (time, (pages ?? 0) &* Int64(sysconf(Int32(_SC_PAGESIZE))))
  }

  /// utime and stime of `/proc/PID/stat` (proc(5)), in microseconds. The name of the process, in brackets, may have
  /// anything in it.
  static func processorTime(_ stat: String) -> Int64? {
    guard let bracket = stat.lastIndex(of: ")") else { return nil }
    let fields = stat[stat.index(after: bracket)...].split(separator: " ")
    guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else { return nil }
    let ticks = max(1, Int64(sysconf(Int32(_SC_CLK_TCK))))
    return (user &+ system) &* (1_000_000 / ticks)
  }

  /// Cores of a `cpu.max`: `50000 100000` is half a core, `max 100000` no limit.
  static func quota(_ text: String?) -> Double? {
    let words = text?.split { $0 == " " || $0 == "\n" } ?? []
    guard words.count == 2, let quota = Double(words[0]), let period = Double(words[1]), quota > 0, period > 0 else {
      return nil
    }
    return quota / period
  }

  /// The folders of this process's control group and those above it, of which each may have limits.
  private static func controlGroups() -> [String] {
    let path = text("/proc/self/cgroup")?.split(separator: "\n").first { $0.hasPrefix("0::") }?.dropFirst(3) ?? "/"
    var folders: [String] = ["/sys/fs/cgroup"]
    var folder = "/sys/fs/cgroup"
    for name in path.split(separator: "/") where name != ".." {
      folder += "/\(name)"
      folders.append(folder)
    }
    return folders
  }

  private static func number(_ text: String) -> Int64? { Int64(text.filter { !$0.isWhitespace }) }

  /// A small file; nil when it can't be read.
  private static func text(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }
}
