import Glibc
import Testing

@testable import Transport

@Suite(.serialized) struct LeakTests {
  private func entries(of directory: String) -> Int {
    guard let handle = opendir(directory) else { return -1 }
    defer { closedir(handle) }
    var count = 0
    while readdir(handle) != nil { count += 1 }
    return count
  }

  /// True as soon as a directory has no more than so many entries, within 30 s.
  private func comesDown(_ directory: String, to limit: Int) -> Bool {
    for _ in 0..<300 {
      if entries(of: directory) <= limit { return true }
      usleep(100_000)
    }
    return false
  }

  @Test func connectingAndClosingLeavesNoThreadsOrDescriptors() throws {
    func cycle() throws {
      let pair = try TestPair()
      pair.a.run { $0.openDataChannel(label: "x") }
      #expect(pair.connect())
      #expect(pair.b.heard.wait { !$0.opened.isEmpty })
      pair.end()
    }
    // The first ones start what stays: the SCTP thread, GLib's.
    for _ in 0..<3 { try cycle() }
    let threads = entries(of: "/proc/self/task")
    let descriptors = entries(of: "/proc/self/fd")
    for _ in 0..<50 { try cycle() }
    // Other suites of this process open and close theirs at the same time, so the counts are looked at until they have
    // come down: what fifty cycles leak would stay.
    #expect(comesDown("/proc/self/task", to: threads + 12))
    #expect(comesDown("/proc/self/fd", to: descriptors + 24))
  }
}
