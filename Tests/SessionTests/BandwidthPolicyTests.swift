import MediaCore
import Testing

@testable import Session

/// A connection with a capacity, several videos, and a policy that says how many of them may come.
private struct Path {
  var policy = BandwidthPolicy()
  var second: Int64 = 0
  /// Bits a second.
  var capacity: Int64 = 10_000_000
  var videos = 4
  var videoRate: Int64 = 500_000
  let audioRate: Int64 = 40_000
  /// Loss that has nothing to do with the queue, 1/1000.
  var randomLoss = 0
  var paused = 0
  var quality = ConnectionQuality.unknown
  var alerts: [BandwidthAlert] = []

  var flowing: Int { min(policy.limit ?? videos, videos) - paused }

  mutating func pass(_ seconds: Int) {
    for _ in 0..<seconds {
      second += 1
      let wanted = audioRate + Int64(flowing) * videoRate
      let isFull = wanted > capacity
      let carried = min(wanted, capacity)
      let lost = isFull ? Int((wanted - capacity) * 1000 / wanted) : 0
      let share = Double(carried) / Double(wanted)
      let report = NetworkReport(
        incoming: carried, incomingAudio: Int64(Double(audioRate) * share),
        incomingVideo: Int64(Double(Int64(flowing) * videoRate) * share), flowingVideos: flowing,
        lossPerMille: lost + randomLoss, queueDelay: isFull ? .milliseconds(180) : .milliseconds(3), quality: quality)
      policy.update(report, videos: videos, at: .seconds(second))
      if let alert = policy.alert(videos: videos, paused: paused) { alerts.append(alert) }
    }
  }
}

@Suite struct BandwidthPolicyTests {
  @Test func aGoodConnectionIsNeverLimited() {
    var path = Path()
    path.pass(600)
    #expect(path.policy.limit == nil && path.alerts.isEmpty)
  }

  @Test func lossAloneIsRepairedAndLimitsNothing() {
    var path = Path()
    for loss in [10, 50, 100, 300] {
      path.randomLoss = loss
      path.quality = loss > 50 ? .poor : .good
      path.pass(60)
    }
    #expect(path.policy.limit == nil && path.alerts.isEmpty)
  }

  @Test func aNarrowConnectionCarriesAsManyAsFit() {
    var path = Path()
    path.pass(5)
    path.capacity = 1_200_000
    path.pass(3)
    // Nine tenths of 1.2 Mbit/s, less the sound, at half a megabit each.
    #expect(path.policy.limit == 2)
    #expect(path.alerts.count == 1)
    let alert = path.alerts[0]
    #expect(alert.numberOfVideos == 2 && alert.isLimited)
    #expect(alert.bandwidth == 1200)
    #expect((300...500).contains(alert.streamBandwidth))
  }

  @Test func whatAVideoTakesIsLearnedWithoutAQueue() {
    for capacity: Int64 in [900_000, 1_000_000] {
      var path = Path()
      path.videos = 3
      path.pass(5)
      path.capacity = capacity
      // Two of half a megabit and the sound do not fit: one step must be enough.
      path.pass(4)
      #expect(path.alerts.map(\.numberOfVideos) == [1], "\(capacity)")
      #expect((490...510).contains(path.alerts.first?.streamBandwidth ?? 0))
    }
  }

  @Test func anAlmostDeadConnectionLeavesOnlySound() {
    var path = Path()
    path.pass(5)
    path.capacity = 200_000
    path.pass(8)
    #expect(path.policy.limit == 0)
    #expect(path.alerts.last?.numberOfVideos == 0)
  }

  @Test func recoveryComesStepByStepAndEndsWithAll() {
    var path = Path()
    path.pass(5)
    path.capacity = 200_000
    path.pass(12)
    path.capacity = 10_000_000
    path.pass(40)
    #expect(path.policy.limit == nil)
    let numbers = path.alerts.map(\.numberOfVideos)
    #expect(numbers.suffix(4) == [1, 2, 3, 4], "\(numbers)")
    #expect(path.alerts.last?.isLimited == false)
  }

  @Test func stepsThatFailAreTriedMoreAndMoreRarely() {
    var path = Path()
    path.pass(5)
    path.capacity = 1_200_000
    path.pass(300)
    let early = path.alerts.count
    path.pass(300)
    let late = path.alerts.count - early
    // Each failed step is two alerts: up and down again.
    #expect(early <= 14 && late <= 8, "\(early) alerts, then \(late)")
    #expect((2...3).contains(path.policy.limit ?? 99))
  }

  @Test func oneBadSecondChangesNothing() {
    var path = Path()
    path.pass(5)
    path.capacity = 300_000
    path.pass(1)
    path.capacity = 10_000_000
    path.pass(30)
    #expect(path.policy.limit == nil && path.alerts.isEmpty)
  }

  @Test func whatTheServicePausesIsTold() {
    var path = Path()
    path.pass(5)
    path.paused = 1
    path.pass(5)
    #expect(path.alerts.map(\.numberOfVideos) == [3])
    path.paused = 0
    path.pass(5)
    #expect(path.alerts.map(\.numberOfVideos) == [3, 4])
    #expect(path.alerts.map(\.isLimited) == [true, false])
    #expect(path.policy.limit == nil)
  }

  @Test func peopleWhoComeAndGoAreNoAlert() {
    var path = Path()
    for videos in [1, 5, 2, 9, 0, 3] {
      path.videos = videos
      path.pass(5)
    }
    #expect(path.alerts.isEmpty)
  }

  @Test func aLongQueueCountsWithoutLoss() {
    var policy = BandwidthPolicy()
    for second in 1...3 {
      policy.update(
        NetworkReport(
          incoming: 1_000_000, incomingAudio: 40_000, incomingVideo: 960_000, flowingVideos: 4,
          queueDelay: .milliseconds(400)), videos: 4, at: .seconds(Int64(second)))
    }
    #expect(policy.limit == 3)
  }

  @Test(arguments: 0..<200)
  func limitsAreSensibleWhateverIsReported(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var policy = BandwidthPolicy()
    var told: Int?
    var now: Int64 = 0
    for _ in 0..<400 {
      now += Int64.random(in: 200...3000, using: &random)
      let videos = Int.random(in: 0...12, using: &random)
      let report = NetworkReport(
        incoming: .random(in: 0...20_000_000, using: &random), incomingAudio: .random(in: 0...100_000, using: &random),
        incomingVideo: .random(in: 0...20_000_000, using: &random), flowingVideos: .random(in: 0...12, using: &random),
        lossPerMille: .random(in: 0...1000, using: &random),
        queueDelay: .milliseconds(.random(in: 0...500, using: &random)),
        estimate: Bool.random(using: &random) ? .random(in: 0...20_000_000, using: &random) : nil)
      policy.update(report, videos: videos, at: .milliseconds(now))
      if let limit = policy.limit {
        #expect(limit >= 0, "seed \(seed)")
        #expect(limit <= 12 + 3, "seed \(seed)")
      }
      let paused = Int.random(in: 0...2, using: &random)
      if let alert = policy.alert(videos: videos, paused: paused) {
        let number = alert.isLimited ? alert.numberOfVideos : nil
        #expect(number != told, "seed \(seed): the same number again")
        #expect(alert.isLimited == (alert.numberOfVideos < videos), "seed \(seed)")
        told = number
      }
    }
    // From whatever state: an hour without trouble ends all limits.
    for _ in 0..<3600 {
      now += 1000
      policy.update(
        NetworkReport(incoming: 5_000_000, incomingAudio: 40_000, incomingVideo: 4_900_000, flowingVideos: 9),
        videos: 9, at: .milliseconds(now))
    }
    #expect(policy.limit == nil, "seed \(seed)")
  }
}
