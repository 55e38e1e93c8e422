import MediaCore
import Recording
import Session
import TestKit
import Testing

@testable import recbot

@Suite struct EmptyRoomTests {
  private func progress(_ seconds: Int64, people: Int) -> RecordingProgress {
    var progress = RecordingProgress()
    (progress.phase, progress.time, progress.participants) = (.recording, .seconds(seconds), people)
    return progress
  }

  @Test func anEmptyRoomIsToldOfOnceEachTimeThatItIsEmpty() {
    var watch = EmptyRoomWatch()
    var told: [Int64] = []
    for second in Int64(0)...200 {
      // Somebody is there from 50 to 60, and from 100 to 110.
      let people = (50..<60).contains(second) || (100..<110).contains(second) ? 1 : 0
      if watch.isNews(progress(second, people: people)) { told.append(second) }
    }
    #expect(told == [30, 90, 140])
  }

  @Test func aRecordingThatEndsSoonerIsToldOfAtItsEnd() {
    var watch = EmptyRoomWatch()
    let isSaid = watch.isNews(progress(2, people: 0))
    #expect(!isSaid)
    #expect(watch.isNews(atEnd: .empty) && !watch.isNews(atEnd: .stopped))
    _ = watch.isNews(progress(3, people: 1))
    #expect(!watch.isNews(atEnd: .empty))
  }
}
