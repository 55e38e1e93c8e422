import Glibc
import MediaCore
import Platform
import TestKit
import Testing

@testable import Transport

@Suite struct MediaLoopTests {
  @Test func runsPostedWorkInOrderOnItsOwnThread() {
    let loop = MediaLoop(name: "order")
    defer { loop.stop() }
    let box = Box()
    for number in 0..<10_000 {
      loop.post { [loop] in
        box.numbers.append(number)
        if !loop.isCurrent { box.strangers += 1 }
      }
    }
    let result = loop.sync { (box.numbers, box.strangers) }
    #expect(result.0 == Array(0..<10_000))
    #expect(result.1 == 0)
    #expect(!loop.isCurrent)
  }

  @Test func postsFromSeveralThreadsAllArrive() {
    let loop = MediaLoop(name: "many")
    defer { loop.stop() }
    let box = Box()
    let others = (0..<4).map { MediaLoop(name: "poster\($0)") }
    for other in others {
      other.post { for number in 0..<1000 { loop.post { box.numbers.append(number) } } }
    }
    for other in others { other.stop() }
    #expect(loop.sync { box.numbers.count } == 4000)
  }

  @Test func syncGivesResultsAndErrorsAndRunsAtOnceOnTheLoop() throws {
    let loop = MediaLoop(name: "sync")
    defer { loop.stop() }
    #expect(loop.sync { 42 } == 42)
    #expect(throws: TransportError.sctp(7)) {
      try loop.sync { () throws(TransportError) -> Int in throw .sctp(7) }
    }
    #expect(loop.sync { loop.sync { 5 } } == 5)
  }

  @Test func timersFireInOrderOfTimeAndNeverEarly() {
    let loop = MediaLoop(name: "timers")
    defer { loop.stop() }
    let heard = Heard()
    let box = Box()
    let start = MonotonicClock.now
    loop.post {
      for delay in [30, 10, 20] {
        loop.timer(after: .milliseconds(delay)) {
          box.numbers.append(delay)
          if MonotonicClock.now - start < .milliseconds(delay) { box.strangers += 1 }
          heard.add { $0.gatheringDone += 1 }
        }
      }
    }
    #expect(heard.wait { $0.gatheringDone == 3 })
    #expect(loop.sync { box.numbers } == [10, 20, 30])
    #expect(loop.sync { box.strangers } == 0)
  }

  @Test func timersKeepTheirOrderWhenTheLoopIsLate() {
    let loop = MediaLoop(name: "late")
    defer { loop.stop() }
    let box = Box()
    let heard = Heard()
    loop.post {
      for delay in [5, 1, 4, 2, 3] { loop.timer(after: .microseconds(delay * 100)) { box.numbers.append(delay) } }
      let cancelled = loop.timer(after: .microseconds(200)) { box.strangers += 1 }
      cancelled.cancel()
      loop.timer(after: .microseconds(600)) { heard.add { $0.gatheringDone = 1 } }
      let until = MonotonicClock.now + .milliseconds(5)
      while MonotonicClock.now < until {}
    }
    #expect(heard.wait { $0.gatheringDone == 1 })
    #expect(loop.sync { box.numbers } == [1, 2, 3, 4, 5])
    #expect(loop.sync { box.strangers } == 0)
  }

  @Test func timersOfZeroLengthDoNotHoldTheLoop() {
    let loop = MediaLoop(name: "zero")
    defer { loop.stop() }
    let box = Box()
    loop.post { loop.timer(after: .zero, repeats: true) { box.strangers += 1 } }
    #expect(loop.sync { 1 } == 1)
    #expect(loop.sync { 2 } == 2)
  }

  @Test func aLoopThatRestsWakesSoOftenAtMost() {
    let loop = MediaLoop(name: "rest", rest: .milliseconds(5))
    defer { loop.stop() }
    let heard = Heard()
    let began = MonotonicClock.now
    // One that fires in each round, so that the loop never waits.
    loop.post { loop.timer(after: .zero, repeats: true) { heard.add { $0.gatheringDone += 1 } } }
    #expect(heard.wait { $0.gatheringDone >= 20 })
    #expect(MonotonicClock.now - began >= .milliseconds(19 * 5))
    #expect(loop.sync { 1 } == 1)
  }

  @Test func theTimerQueueSorts() {
    var random = SeededRandom(seed: 6)
    var queue = TimerQueue()
    var expected: [Instant] = []
    for _ in 0..<1000 {
      let interval = Duration.nanoseconds(Int64.random(in: 0...300, using: &random))
      expected.append(.zero + interval)
      queue.add(LoopTimer(interval: interval, repeats: false, now: .zero) {})
    }
    var taken: [Instant] = []
    while let timer = queue.takeDue(now: .nanoseconds(1000)) { taken.append(timer.due) }
    #expect(taken == expected.sorted())
    #expect(queue.next === nil)
  }

  @Test func slowBeatsFallTogether() {
    func due(_ milliseconds: Int64, repeats: Bool = true, at now: Int64) -> Int64 {
      LoopTimer(interval: .milliseconds(milliseconds), repeats: repeats, now: .zero + .milliseconds(now)) {}.due
        .nanoseconds
        / 1_000_000
    }
    for now in Int64(7000)...7999 {
      #expect(due(1000, at: now) == 8000)
      #expect(due(5000, at: now) == 12_000)
    }
    #expect(due(1000, repeats: false, at: 7200) == 8200)
    #expect(due(999, at: 7200) == 8199)
  }

  @Test func repeatingTimersKeepTheirBeatUntilCancelled() {
    let loop = MediaLoop(name: "repeat")
    defer { loop.stop() }
    let heard = Heard()
    let start = MonotonicClock.now
    loop.post {
      var count = 0
      var timer: LoopTimer?
      timer = loop.timer(after: .milliseconds(5), repeats: true) {
        count += 1
        if count == 20 {
          timer?.cancel()
          heard.add { $0.gatheringDone = count }
        }
        if count > 20 { heard.add { $0.gatheringDone = count } }
      }
    }
    #expect(heard.wait { $0.gatheringDone >= 20 })
    #expect(MonotonicClock.now - start >= .milliseconds(100))
    loop.sync {}
    #expect(heard.read { $0.gatheringDone } == 20)
  }

  @Test func stopDoesWhatWasPostedBeforeAndNothingAfter() {
    let loop = MediaLoop(name: "stop")
    let box = Box()
    for number in 0..<100 { loop.post { box.numbers.append(number) } }
    loop.stop()
    #expect(box.numbers.count == 100)
    loop.post { box.numbers.append(-1) }
    loop.stop()
    #expect(box.numbers.count == 100)
    #expect(loop.sync { 3 } == 3)
  }

  /// In a debug build, which the tests are.
  @Test func theDoorsStopWhoIsOnAnotherThread() async {
    await #expect(processExitsWith: .failure) { MediaLoop(name: "door").timer(after: .zero) {} }
    await #expect(processExitsWith: .failure) { MediaLoop(name: "door").offload({ 1 }, completion: { _ in }) }
    await #expect(processExitsWith: .success) {
      let loop = MediaLoop(name: "door")
      loop.sync { _ = loop.timer(after: .zero) {} }
      loop.stop()
    }
  }

  @Test func afterTheEndTheCallersThreadTakesTheLoopsPlace() {
    let loop = MediaLoop(name: "ended")
    #expect(!loop.isCurrent)
    loop.stop()
    #expect(!loop.isCurrent)
    let isCurrent = loop.sync {
      // Nobody is left to fire it.
      loop.timer(after: .zero) { Issue.record("a timer of a loop that has ended") }
      return loop.sync { loop.isCurrent }
    }
    #expect(isCurrent)
    #expect(!loop.isCurrent)
  }

  @Test func stopFromTheLoopItselfDoesNotHang() {
    let heard = Heard()
    do {
      let loop = MediaLoop(name: "self")
      loop.post {
        loop.stop()
        heard.add { $0.gatheringDone = 1 }
      }
    }
    #expect(heard.wait { $0.gatheringDone == 1 })
  }

  @Test func brokenPipesDoNotEndTheProcess() {
    let loop = MediaLoop(name: "pipe")
    loop.stop()
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    close(ends[0])
    var byte: UInt8 = 0
    #expect(write(ends[1], &byte, 1) == -1)
    #expect(errno == EPIPE)
    close(ends[1])
  }
}

// Sendable: used on one loop, and read after it has been waited for.
final class Box: @unchecked Sendable {
  var numbers: [Int] = []
  var strangers = 0
}
