import MediaCore
import Testing

@testable import PeerConnection

@Suite struct DuplicateWindowTests {
  @Test func everyPacketIsNewOnce() {
    var random = SeededRandom(seed: 9)
    var window = DuplicateWindow()
    var seen: Set<Int64> = []
    var highest: Int64 = 65_000
    for _ in 0..<20_000 {
      let number = highest + Int64(random.next() % 40) - 30
      highest = max(highest, number)
      let isNew = window.insert(number)
      #expect(isNew == seen.insert(number).inserted)
    }
  }

  @Test func whatIsTooOldCountsAsSeen() {
    var window = DuplicateWindow()
    let size = DuplicateWindow.size
    let numbers = [10_000, 10_001 - size, 10_000 - size, 1_000_000, 1_000_001 - size, 10_000]
    #expect(numbers.map { window.insert($0) } == [true, true, false, true, true, false])
  }

  @Test func extremeNumbersDoNotTrap() {
    for first in [Int64.min, -1, 0, Int64.max] {
      for second in [Int64.min, -5, 0, Int64.max] {
        var window = DuplicateWindow()
        _ = window.insert(first)
        _ = window.insert(second)
        let isNew = window.insert(second)
        #expect(!isNew)
      }
    }
  }
}
