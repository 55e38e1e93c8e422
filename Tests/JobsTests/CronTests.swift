import Foundation
import Testing

@testable import Jobs
@testable import JobsAPI

@Suite struct CronTests {
  func fires(_ text: String, _ zone: String, after: String, count: Int) throws -> [String] {
    let expression = try CronExpression(text)
    let zone = try #require(TimeZone(identifier: zone))
    var time = try #require(Timestamp(after))
    var result: [String] = []
    for _ in 0..<count {
      guard let next = expression.next(after: time, in: zone) else { break }
      result.append(next.description)
      time = next
    }
    return result
  }

  @Test func ordinaryTimes() throws {
    #expect(
      try fires("30 9 * * mon-fri", "UTC", after: "2026-11-20T10:00:00Z", count: 2) == [
        "2026-11-23T09:30:00Z", "2026-11-24T09:30:00Z",
      ])
    #expect(
      try fires("*/20 * * * *", "UTC", after: "2026-11-20T10:19:59Z", count: 2) == [
        "2026-11-20T10:20:00Z", "2026-11-20T10:40:00Z",
      ])
    #expect(try fires("@yearly", "Asia/Tokyo", after: "2026-11-20T10:00:00Z", count: 1) == ["2026-12-31T15:00:00Z"])
    #expect(try fires("0 0 29 2 *", "UTC", after: "2097-01-01T00:00:00Z", count: 1) == ["2104-02-29T00:00:00Z"])
    #expect(try fires("0 0 30 2 *", "UTC", after: "2026-01-01T00:00:00Z", count: 1) == [])
    #expect(
      try fires("0 12 1 * sun", "UTC", after: "2026-11-20T00:00:00Z", count: 3) == [
        "2026-11-22T12:00:00Z", "2026-11-29T12:00:00Z", "2026-12-01T12:00:00Z",
      ])
  }

  /// Berlin goes from 02:00 to 03:00 on 29 March 2026 and from 03:00 back to 02:00 on 25 October 2026.
  @Test func theHourThatIsLeftOutFiresLater() throws {
    #expect(
      try fires("30 2 * * *", "Europe/Berlin", after: "2026-03-28T00:00:00Z", count: 3) == [
        "2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z",
      ])
    #expect(
      try fires("30 * * * *", "Europe/Berlin", after: "2026-03-29T00:00:00Z", count: 3) == [
        "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z",
      ])
  }

  @Test func theHourThatComesTwiceFiresOnceUnlessEveryHourIsMeant() throws {
    #expect(
      try fires("30 2 * * *", "Europe/Berlin", after: "2026-10-24T12:00:00Z", count: 2) == [
        "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z",
      ])
    #expect(
      try fires("30 * * * *", "Europe/Berlin", after: "2026-10-24T23:45:00Z", count: 3) == [
        "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z",
      ])
    #expect(
      try fires("30 1 * * *", "America/New_York", after: "2026-10-31T12:00:00Z", count: 2) == [
        "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z",
      ])
  }

  /// Every minute of two years in zones with odd clocks: moments only go forward, and nothing is left out that a
  /// search minute by minute finds.
  @Test(arguments: ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
  func agreesWithASearchMinuteByMinute(zone: String) throws {
    let timeZone = try #require(TimeZone(identifier: zone))
    let expression = try CronExpression("*/7 * * * *")
    let start = try #require(Timestamp("2026-09-20T00:00:00Z")).seconds
    var expected: [Int64] = []
    var offset: Int64 = 0
    for minute in 0..<(70 * 1440) {
      let moment = start + Int64(minute) * 60
      // No clock changes at another minute.
      if minute % 30 == 0 {
        offset = Int64(timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment))))
      }
      let local = moment + offset
      if local / 60 % 60 % 7 == 0 { expected.append(moment) }
    }
    var found: [Int64] = []
    var time = Timestamp(seconds: start - 1)
    while let next = expression.next(after: time, in: timeZone), next.seconds < start + 70 * 86_400 {
      found.append(next.seconds)
      time = next
    }
    let isSame = found == expected
    #expect(isSame, "\(Set(found).symmetricDifference(expected).count) moments differ")
  }

  @Test(arguments: [
    "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-3 * * * *",
    "*/0 * * * *", "a * * * *", "1,,2 * * * *", "-1 * * * *", "+1 * * * *", "1- * * * *", "@sometimes",
    "99999999999999999999 * * * *",
  ])
  func nonsenseIsRefused(text: String) {
    #expect(throws: CronExpression.Problem.self) { try CronExpression(text) }
  }

  @Test func refusalsSayWhatIsWrong() {
    #expect {
      try CronExpression("0 25 * * *")
    } throws: {
      "\($0)" == "hour: '25' is not in 0-23"
    }
  }
}

@Suite struct TimestampTests {
  @Test(arguments: [
    ("2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z"), ("2026-11-21T09:30:00.5+01:00", "2026-11-21T08:30:00.500000Z"),
    ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
    ("2024-02-29T00:00:00-00:30", "2024-02-29T00:30:00Z"),
  ])
  func readsAndWritesRFC3339(text: String, written: String) { #expect(Timestamp(text)?.description == written) }

  @Test(arguments: [
    "", "2026-11-21", "2026-11-21T09:30:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-21T24:00:00Z",
    "2026-11-21T09:30:00.Z", "2026-11-21T09:30:00+1:00", "2026-11-21T09:30:00Zx", "٢٠٢٦-11-21T09:30:00Z",
  ])
  func refusesOthers(text: String) { #expect(Timestamp(text) == nil) }
}
