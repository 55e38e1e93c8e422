import MediaCore
import Testing

@Suite struct InstantTests {
  @Test func spansLieBetweenMoments() {
    let early = Instant(nanoseconds: 5_000_000_000)
    let late = early + .milliseconds(1500)
    #expect(late.nanoseconds == 6_500_000_000)
    #expect(late - early == .milliseconds(1500))
    #expect(early - late == .milliseconds(-1500))
    #expect(late - .seconds(7) == Instant(nanoseconds: -500_000_000))
    #expect(early < late && early.duration(to: late) == .milliseconds(1500))
    var moment = early
    moment += .seconds(2)
    moment -= .milliseconds(1)
    #expect(moment.nanoseconds == 6_999_000_000)
    #expect(late.description == "6.500")
    #expect("\(Instant.distantPast)" == "-9223372036.855" && "\(Instant(nanoseconds: -1))" == "-0.001")
  }

  @Test func whatIsTooFarIsTheNearestThatThereIs() {
    let now = Instant(nanoseconds: 1_000_000_000)
    #expect(Instant.distantPast < now && now < .distantFuture)
    #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
    #expect(Instant.distantPast - .seconds(1) == .distantPast)
    #expect(now + .seconds(Int64.max) == .distantFuture)
    #expect(now - .seconds(Int64.max) < .distantPast + .seconds(2))
    #expect(now - .distantPast == .forever)
    #expect(Instant.distantFuture - .distantPast == .forever)
    #expect(Instant.distantPast - .distantFuture == .nanoseconds(Int64.min))
    #expect(now - .distantFuture > .nanoseconds(Int64.min))
    #expect(now + .forever == .distantFuture)
  }
}
