import Dispatch
import Glibc
import Platform
import Synchronization
import Testing

@Suite struct PlatformTests {
  private static func nameOfThisThread() -> String {
    var name = [UInt8](repeating: 0, count: 32)
    let descriptor = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    let count = max(0, read(descriptor, &name, name.count))
    return String(decoding: name[..<count].prefix { $0 != 10 }, as: UTF8.self)
  }

  @Test func aJoinedThreadHasRunUnderItsName() {
    let seen = Mutex("")
    guard
      let thread = NamedThread("a name of more than fifteen bytes", { seen.withLock { $0 = Self.nameOfThisThread() } })
    else {
      Issue.record("no thread could be had")
      return
    }
    thread.join()
    #expect(seen.withLock { $0 } == "a name of more ")
  }

  @Test func whatTakesTooLongIsCancelled() async throws {
    struct Fault: Error {}
    #expect(try await TimeLimit.run(.seconds(300)) { 7 } == 7)
    await #expect(throws: Fault.self) { try await TimeLimit.run(.seconds(300)) { throw Fault() } }
    let isCancelled = Mutex(false)
    await #expect(throws: TimeLimit.Exceeded.self) {
      try await TimeLimit.run(.milliseconds(10)) {
        do {
          try await Task.sleep(for: .seconds(300))
        } catch {
          isCancelled.withLock { $0 = true }
        }
      }
    }
    #expect(isCancelled.withLock { $0 })
  }

  @Test func aDetachedThreadIsNotTheCallers() async {
    let caller = pthread_self()
    let other = await withCheckedContinuation { continuation in
      DetachedThread.start(name: "test") { continuation.resume(returning: pthread_self()) }
    }
    #expect(pthread_equal(other, caller) == 0)
  }

  /// Where a number of threads wait until all of them have come.
  private final class Meeting: Sendable {
    private let count: Int
    private let arrived = Atomic<Int>(0)
    private let all = DispatchSemaphore(value: 0)
    init(of count: Int) { self.count = count }

    func attend() {
      if arrived.add(1, ordering: .relaxed).newValue == count { for _ in 0..<count { all.signal() } }
      all.wait()
    }
  }

  /// More bodies wait for each other than the cooperative pool has threads: on it, they would wait for ever.
  @Test func workThatWaitsDoesNotHoldTheTasks() async {
    let count = 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let meeting = Meeting(of: count)
    await withTaskGroup { group in
      for _ in 0..<count { group.addTask { await BlockingWork.run { meeting.attend() } } }
    }
  }

  private enum Trouble: Error { case disk }

  @Test func whatTheWorkThrowsKeepsItsType() async {
    do throws(Trouble) {
      _ = try await BlockingWork.run { () throws(Trouble) -> Int in throw .disk }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error == .disk)
    }
  }

  @Test func theClocksCountTheSameNanoseconds() {
    let (steady, wall) = (MonotonicClock.now, WallClock.nanoseconds)
    #expect(MonotonicClock.now >= steady)
    // The system's own coarse reading of the calendar, in whole seconds.
    #expect(abs(wall / 1_000_000_000 - Int64(time(nil))) <= 1)
    #expect(abs(WallClock.microseconds - wall / 1000) < 60_000_000)
    #expect(abs(WallClock.milliseconds - wall / 1_000_000) < 60_000)
    #expect(abs(WallClock.seconds - wall / 1_000_000_000) < 60)
  }
}
