import Session
import Testing

@testable import recbot

/// Who pauses twice is told; what changes something never is.
@Suite struct PauseBookTests {
  @Test func pausingTwiceIsTold() {
    let book = PauseBook()
    #expect(book.repeated(.pause(.slate), now: nil) == nil)
    // The recording shows it only now.
    #expect(book.repeated(.pause(.slate), now: nil) == "the recording is paused already (slate); 'resume' goes on")
    #expect(book.repeated(.pause(.cut), now: .slate) == nil)
    #expect(book.repeated(.resume, now: .cut) == nil)
    // It still shows the pause before.
    #expect(book.repeated(.pause(.cut), now: .cut) == nil)
    #expect(book.repeated(.title("x"), now: .cut) == nil)
  }

  @Test func aPauseThatItBeganWithCounts() {
    let book = PauseBook()
    #expect(book.repeated(.pause(.cut), now: .cut) != nil)
    #expect(book.repeated(.pause(.redact), now: .cut) == nil)
  }
}
