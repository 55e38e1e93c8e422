import Layouts
import MediaCore
import Testing

@testable import Settings

@Suite struct ValuesTests {
  @Test func durationsAreReadInAllUnits() throws {
    #expect(try Values.duration("90") == .seconds(90))
    #expect(try Values.duration("1h30m") == .seconds(5400))
    #expect(try Values.duration("500ms") == .milliseconds(500))
    #expect(try Values.duration("2d") == .seconds(172_800))
  }

  @Test(arguments: ["", "h", "-5s", "5 s", "1.5h", "5x", "99999999999s", "31d", "5s5", "١s"])
  func badDurationsAreRefused(text: String) {
    #expect(throws: ValueError.self) { try Values.duration(text) }
  }

  @Test func sizesMustBeEvenAndSensible() throws {
    #expect(try Values.size("1280x720") == CanvasSize(width: 1280, height: 720))
    #expect(try Values.size("720x1280").isPortrait)
    for bad in ["1280", "1281x720", "0x0", "32x32", "8000x8000", "axb", "1280x720x3", "-2x100", "4096x4096"] {
      #expect(throws: ValueError.self, "\(bad)") { try Values.size(bad) }
    }
  }

  @Test func bitRatesHaveUnitsAndLimits() throws {
    #expect(try Values.bitrate("2500k") == 2_500_000)
    #expect(try Values.bitrate("2.5M") == 2_500_000)
    #expect(try Values.bitrate("800000") == 800_000)
    for bad in ["", "k", "-1M", "1", "1G", "nan", "inf", "100M"] {
      #expect(throws: ValueError.self, "\(bad)") { try Values.bitrate(bad) }
    }
  }

  @Test func aCodecIsOneOfThoseThatAreWritten() throws {
    #expect(try Values.codec("vp8") == .vp8 && Values.codec("av1") == .av1)
    for bad in ["", "VP9", "h264", "vp10"] {
      let error = #expect(throws: ValueError.self) { try Values.codec(bad) }
      #expect(error?.description == "there is no codec for recordings '\(bad)'; known: vp8, vp9, av1")
    }
  }

  @Test func aMistypedWordFindsItsNeighbour() {
    #expect(Values.suggestion(for: "layuot", among: ["layout", "size"]) == "layout")
    #expect(Values.suggestion(for: "zzzzzz", among: ["layout", "size"]) == nil)
  }
}
