import Testing

@testable import recbot

@Suite struct SlateTests {
  @Test func lengthsAreWholeSecondsAndReadAsClocksDo() {
    let second: Int64 = 1_000_000_000
    #expect(Slate.length(4_999_000_000) == "5 s")
    #expect(Slate.length(5_400_000_000) == "5 s")
    #expect(Slate.length(0) == "1 s")
    #expect(Slate.length(59_600_000_000) == "1:00 min")
    #expect(Slate.length(125 * second) == "2:05 min")
    #expect(Slate.length(3_725 * second) == "1:02:05 h")
  }
}
