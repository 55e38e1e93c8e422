import MediaCore
import Testing

@Suite struct DurationTests {
  @Test func wholeUnitsAreRoundedTowardsZero() {
    #expect(Duration.milliseconds(1500).nanoseconds == 1_500_000_000)
    #expect(Duration.nanoseconds(1999).microseconds == 1)
    #expect(Duration.nanoseconds(-1999).microseconds == -1)
    #expect(Duration.seconds(-3).microseconds == -3_000_000)
    #expect(Duration.zero.nanoseconds == 0)
  }

  @Test func whatDoesNotFitIsTheNearestThatDoes() {
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration.seconds(Int64.min).microseconds == .min)
    #expect(Duration.nanoseconds(Int64.max).nanoseconds == .max)
    #expect((Duration.nanoseconds(Int64.max) + .nanoseconds(1)).nanoseconds == .max)
    #expect(Duration.microseconds(Int64.min).microseconds == .min)
  }
}
