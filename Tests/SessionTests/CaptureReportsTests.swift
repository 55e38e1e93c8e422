import MediaCore
import Testing

@testable import Session

@Suite struct CaptureReportsTests {
  private static let ms: Int64 = 1_000_000

  private func reports(_ values: [Int64]) -> CaptureReports {
    var reports = CaptureReports()
    for (index, value) in values.enumerated() { reports.take(value * Self.ms, at: Int64(index) * 1_000 * Self.ms) }
    return reports
  }

  @Test func singleOutliersDoNotCount() {
    #expect(reports([]).mapping == nil)
    #expect(reports([5]).mapping == 5 * Self.ms)
    #expect(reports([5, 8_000, 6, -3_000, 7]).mapping == 5 * Self.ms)
    // Wrong ones that don't agree with each other prove nothing, however many.
    #expect(reports([5, 8_000, 1_000, -3_000, 4_000]).mapping == 5 * Self.ms)
  }

  /// What a busy sender was late makes the mapping larger, never smaller.
  @Test func ofFewTheLeastCountsAndOfManyTheMedian() {
    #expect(reports([60]).mapping == 60 * Self.ms)
    #expect(reports([60, 5]).mapping == 5 * Self.ms)
    #expect(reports([60, 5, 50, 40]).mapping == 5 * Self.ms)
    #expect(reports([60, 5, 50, 40, 30]).mapping == 30 * Self.ms)
    #expect(reports([60, 5, 50, 40, 30, 20, 10]).mapping == 30 * Self.ms)
  }

  @Test func threeThatAgreeAreBelieved() {
    #expect(reports([5, 6, 60_000, 60_001]).mapping == 5 * Self.ms)
    #expect(reports([5, 6, 60_000, 60_001, 60_002]).mapping == 60_002 * Self.ms)
  }

  @Test func againstASingleReportTwoAreEnough() {
    #expect(reports([-140, 0]).mapping == -140 * Self.ms)
    #expect(reports([-140, 0, 1]).mapping == Self.ms)
    // Nor is it forgotten what speaks against it when the media clock changes.
    var changed = reports([-140, 0])
    changed.move(by: 1_000 * Self.ms)
    for report in [999, 1_001] as [Int64] { changed.take(report * Self.ms, at: 0) }
    #expect(changed.mapping == 1_001 * Self.ms)
  }

  @Test func enoughAreFourOrNoneAgainstItForLong() {
    let long: Int64 = 21_000 * Self.ms
    #expect(!reports([5, 6, 7]).areEnough(at: 3_000 * Self.ms))
    #expect(reports([5, 6, 7, 8]).areEnough(at: 3_000 * Self.ms))
    #expect(reports([5]).areEnough(at: long))
    #expect(!reports([-140, 0]).areEnough(at: long))
    #expect(!CaptureReports().areEnough(at: long))
  }

  @Test func aRepetitionSaysNothingNew() {
    #expect(reports([5, 8_000, 8_000, 8_000, 8_000]).mapping == 5 * Self.ms)
    #expect(reports([5, 5, 5]).count == 1)
  }

  @Test func aMoveStaysUntilAReportAgrees() {
    var reports = reports([7, 9])
    reports.move(by: 400 * Self.ms)
    #expect(reports.mapping == 407 * Self.ms)
    // One about the clock as it was.
    reports.take(4 * Self.ms, at: 0)
    #expect(reports.mapping == 407 * Self.ms)
    // What was the network's, not the clock's.
    reports.quicken(by: 10 * Self.ms)
    #expect(reports.mapping == 397 * Self.ms)
    reports.take(401 * Self.ms, at: 0)
    #expect(reports.mapping == 401 * Self.ms)
    reports.quicken(by: 10 * Self.ms)
    #expect(reports.mapping == 401 * Self.ms)
  }

  @Test func whatMayBeAboutEitherClockIsKeptForLater() {
    var reports = reports([7, 9])
    // It overtook the first packet behind a stall.
    reports.take(107 * Self.ms, at: 0, isDoubtful: true)
    #expect(reports.mapping == 7 * Self.ms)
    reports.move(by: 110 * Self.ms)
    reports.take(107 * Self.ms, at: 0)
    #expect(reports.mapping == 107 * Self.ms)
  }

  @Test func jitteryReportsMoveTheMappingLittle() throws {
    var random = SeededRandom(seed: 1)
    var reports = CaptureReports()
    for index in Int64(0)..<100 {
      reports.take(Int64.random(in: -30...30, using: &random) * Self.ms + index * 200_000, at: index)
      if index > 10 { #expect(abs(try #require(reports.mapping) - index * 200_000) < 25 * Self.ms) }
    }
  }
}
