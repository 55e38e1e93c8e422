import Glibc

/// The processors that this process may run on, which `taskset` and containers with a set of processors narrow.
public enum Processors {
  /// How many there are, at least 1; all of the machine's when the kernel does not say. Reads a file of the kernel, which never
  /// blocks; any thread.
  public static var count: Int {
    let all = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return all }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = max(0, read(descriptor, &bytes, bytes.count))
    return min(all, allowed(String(decoding: bytes[..<count], as: UTF8.self)) ?? all)
  }

  /// `Cpus_allowed_list` of `/proc/PID/status` (proc_pid_status(5)), such as `0-3,8`; nil when there is none.
  public static func allowed(_ status: String) -> Int? {
    let name = "Cpus_allowed_list:"
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
    var count = 0
    for range in line.dropFirst(name.count).split(separator: ",") {
      let ends = range.filter { !$0.isWhitespace }.split(separator: "-", omittingEmptySubsequences: false).map {
        Int($0)
      }
      guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil, (0...last).contains(first),
        last < 1 << 20
      else { return nil }
      count += last - first + 1
    }
    return count > 0 ? count : nil
  }
}
