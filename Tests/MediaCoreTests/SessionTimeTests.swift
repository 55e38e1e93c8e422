import MediaCore
import Testing

@Suite struct SessionTimeTests {
  @Test func whatIsTooFarIsTheNearestThatThereIs() {
    let moment = SessionTime(nanoseconds: 1_000_000_000)
    #expect(SessionTime.distantPast < .zero && SessionTime.zero < moment && moment < .distantFuture)
    #expect(moment + .forever == .distantFuture)
    #expect(SessionTime.distantFuture + .nanoseconds(1) == .distantFuture)
    #expect(SessionTime.distantPast - .nanoseconds(1) == .distantPast)
    #expect(SessionTime.distantFuture - .distantPast == .forever)
    #expect(SessionTime.distantPast - .distantFuture == .nanoseconds(Int64.min))
    #expect(moment - .distantPast == .forever)
  }

  @Test(
    arguments: [
      (0, 0), (999_999, 0), (1_000_000, 1), (-1, -1), (-1_000_000, -1), (-1_000_001, -2),
      (.max, 9_223_372_036_854), (.min, -9_223_372_036_855),
    ] as [(Int64, Int64)])
  func millisecondsAreRoundedTowardNegativeInfinity(nanoseconds: Int64, milliseconds: Int64) {
    #expect(SessionTime(nanoseconds: nanoseconds).milliseconds == milliseconds)
  }

  @Test func theSpanSinceTheBeginningLeadsBack() {
    #expect(SessionTime.zero.sinceBeginning == .zero)
    #expect((SessionTime.zero + .milliseconds(1500)).sinceBeginning == .milliseconds(1500))
    for moment in [SessionTime.distantPast, SessionTime(nanoseconds: -1), SessionTime.distantFuture] {
      #expect(moment.sinceBeginning == moment - .zero, "\(moment)")
      #expect(SessionTime.zero + moment.sinceBeginning == moment, "\(moment)")
    }
    #expect(SessionTime.distantFuture.sinceBeginning == .forever)
  }
}
