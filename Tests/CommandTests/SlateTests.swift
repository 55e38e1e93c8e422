import Testing

@testable import recbot

@Suite struct SlateTests {
  @Test func lengthsAreWholeSecondsAndReadAsClocksDo() {
    #expect(Slate.length(.milliseconds(4_999)) == "5 s")
    #expect(Slate.length(.milliseconds(5_400)) == "5 s")
    #expect(Slate.length(.zero) == "1 s")
    #expect(Slate.length(.milliseconds(59_600)) == "1:00 min")
    #expect(Slate.length(.seconds(125)) == "2:05 min")
    #expect(Slate.length(.seconds(3_725)) == "1:02:05 h")
  }
}
