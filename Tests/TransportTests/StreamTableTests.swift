import MediaCore
import Testing

@testable import Transport

@Suite struct StreamTableTests {
  @Test func sourcesThatFlowStayWhenOthersAreMadeUp() {
    var table = StreamTable()
    for ssrc in 0..<UInt32(100) { #expect(table.accepted(ssrc, isMedia: true) == nil) }
    var forgotten = 0
    for made in 0..<UInt32(100_000) {
      if let gone = table.accepted(1_000_000 + made, isMedia: made.isMultiple(of: 2)) {
        forgotten += 1
        #expect(gone >= 1_000_000)
      }
      // Each flows now and then.
      #expect(table.accepted(made % 100, isMedia: true) == nil)
    }
    #expect(table.count == StreamTable.capacity)
    #expect(forgotten == 100_000 + 100 - StreamTable.capacity)
    for ssrc in 0..<UInt32(100) { #expect(table.hasMedia(ssrc)) }
  }

  @Test func removedSourcesAreForgotten() {
    var random = SeededRandom(seed: 4)
    var table = StreamTable()
    var model: Set<UInt32> = []
    for _ in 0..<20_000 {
      let ssrc = UInt32.random(in: 0..<6000, using: &random)
      if Bool.random(using: &random) {
        if let gone = table.accepted(ssrc, isMedia: true) { model.remove(gone) }
        model.insert(ssrc)
      } else {
        table.remove(ssrc)
        model.remove(ssrc)
      }
      #expect(table.count == model.count)
    }
    for ssrc in 0..<UInt32(6000) { #expect(table.hasMedia(ssrc) == model.contains(ssrc)) }
  }

  @Test func onlyMediaMakesTheCountOfWrapsKnown() {
    var table = StreamTable()
    _ = table.accepted(7, isMedia: false)
    #expect(!table.hasMedia(7) && table.count == 1)
    _ = table.accepted(7, isMedia: true)
    #expect(table.hasMedia(7) && table.count == 1)
  }
}
