import Synchronization
import Testing

@testable import Backend

/// Whoever asks whether the backend can work gets an answer in time, and leaves nothing behind.
@Suite struct ReadinessTests {
  @Test func aDatabaseThatHangsIsAskedOnce() async {
    let asked = Atomic<Int>(0)
    let release = Notifier()
    let check = ReadinessCheck(patience: .milliseconds(20)) {
      asked.wrappingAdd(1, ordering: .relaxed)
      while !release.isClosed { await release.wait(since: release.notices, atMost: .seconds(60)) }
      return true
    }
    for _ in 0..<3 {
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<10 { group.addTask { await check.isReady() } }
        for await isReady in group { #expect(!isReady) }
      }
    }
    #expect(asked.load(ordering: .relaxed) == 1)
    release.close()
    while await !check.isReady() {}
  }

  @Test func eachAnswerIsFresh() async {
    let works = Atomic<Bool>(true)
    let check = ReadinessCheck { works.load(ordering: .relaxed) }
    #expect(await check.isReady())
    works.store(false, ordering: .relaxed)
    #expect(await !check.isReady())
    works.store(true, ordering: .relaxed)
    #expect(await check.isReady())
  }
}
