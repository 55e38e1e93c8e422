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
    // Other suites run at the same time; fifty cycles that leak would show far more.
    #expect(entries(of: "/proc/self/task") <= threads + 12)
    #expect(entries(of: "/proc/self/fd") <= descriptors + 24)
    print(
      "threads \(threads) -> \(entries(of: "/proc/self/task")), descriptors \(descriptors) -> \(entries(of: "/proc/self/fd"))"
    )
  }
}
