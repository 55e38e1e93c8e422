import MediaCore
import Testing

@Suite struct DurationTests {
  @Test func wholeUnitsAreRoundedTowardsZero() {
    #expect(Duration.milliseconds(1500).nanoseconds == 1_500_000_000)
    #expect(Duration.nanoseconds(1999).microseconds == 1)
    #expect(Duration.nanoseconds(-1999).microseconds == -1)
    #expect(Duration.seconds(-3).microseconds == -3_000_000)
    #expect(Duration.microseconds(1999).milliseconds == 1 && Duration.microseconds(-1999).milliseconds == -1)
    #expect(Duration.zero.nanoseconds == 0)
  }

  @Test func whatDoesNotFitIsTheNearestThatDoes() {
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration.seconds(Int64.min).microseconds == .min)
    #expect(Duration.nanoseconds(Int64.max).nanoseconds == .max)
    #expect((Duration.nanoseconds(Int64.max) + .nanoseconds(1)).nanoseconds == .max)
    #expect(Duration.microseconds(Int64.min).microseconds == .min)
  }

  @Test func theTextIsSecondsWithMilliseconds() {
    #expect(Duration.milliseconds(12_345).inSeconds == "12.345")
    #expect(Duration.zero.inSeconds == "0.000" && Duration.microseconds(999).inSeconds == "0.000")
    #expect(Duration.nanoseconds(-1).inSeconds == "-0.001" && Duration.milliseconds(-1500).inSeconds == "-1.500")
    #expect(Duration.forever.inSeconds == "9223372036.854")
    #expect(Duration.nanoseconds(Int64.min).inSeconds == "-9223372036.855")
    #expect(Duration.seconds(Int64.max).inSeconds == "9223372036.854")
    #expect(Duration.seconds(Int64.min).inSeconds == "-9223372036.855")
  }
}
