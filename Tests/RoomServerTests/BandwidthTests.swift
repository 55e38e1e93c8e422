import MediaCore
import TestKit
import Testing

@testable import RoomServer

@Suite struct BitrateAllocationTests {
  private func demand(
    _ layers: [Int?], spoke: Instant = .distantPast, screen: Bool = false, priority: UInt32 = 0, at position: Int = 0
  ) -> StreamDemand {
    StreamDemand(
      rank: .init(priority: priority, isScreen: screen, spokenAt: spoke, position: position), layers: layers)
  }

  @Test func everybodyGetsASmallPictureBeforeAnybodyGetsALargeOne() {
    let people = (0..<3).map { demand([150, 500, 1700], at: $0) }
    #expect(
      BitrateAllocation.shares(of: people, budget: 450, pauses: true) == [
        .upTo(layer: 0), .upTo(layer: 0), .upTo(layer: 0),
      ])
    #expect(
      BitrateAllocation.shares(of: people, budget: 800, pauses: true) == [
        .upTo(layer: 1), .upTo(layer: 0), .upTo(layer: 0),
      ])
    #expect(
      BitrateAllocation.shares(of: people, budget: 6000, pauses: true) == [
        .upTo(layer: 2), .upTo(layer: 2), .upTo(layer: 2),
      ])
  }

  @Test func screensAndTalkersAreServedFirstAndTheOthersPausedInTurn() {
    let room = [
      demand([150], at: 0), demand([150], spoke: .nanoseconds(5), at: 1), demand([300], screen: true, at: 2),
      demand([150], spoke: .nanoseconds(9), at: 3), demand([20], at: 4),
    ]
    let shares = BitrateAllocation.shares(of: room, budget: 600, pauses: true)
    #expect(shares == [.paused, .upTo(layer: 0), .upTo(layer: 0), .upTo(layer: 0), .paused])
    #expect(!BitrateAllocation.shares(of: room, budget: 0, pauses: false).contains(.paused))
    var wished = room
    wished[0].rank.priority = 1
    #expect(BitrateAllocation.shares(of: wished, budget: 200, pauses: true)[0] == .upTo(layer: 0))
  }

  @Test func layersThatDoNotFlowCostNothing() {
    let room = [demand([nil, nil], at: 0), demand([], at: 1), demand([nil, 400], at: 2)]
    #expect(
      BitrateAllocation.shares(of: room, budget: 100, pauses: true) == [.upTo(layer: 1), .upTo(layer: 0), .paused])
  }

  /// What is given never costs more than there is, and nothing is paused while something of a lower rank flows.
  @Test func theBudgetIsKept() {
    for seed in UInt64(0)..<500 {
      var random = SeededRandom(seed: seed)
      let demands = (0..<Int.random(in: 0...8, using: &random)).map { position in
        var rate = 0
        let layers: [Int?] = (0..<Int.random(in: 1...3, using: &random)).map { _ in
          rate += Int.random(in: 20...900, using: &random)
          return Int.random(in: 0...4, using: &random) == 0 ? nil : rate
        }
        return demand(
          layers, spoke: .nanoseconds(.random(in: 0...3, using: &random)), screen: Bool.random(using: &random),
          at: position)
      }
      let budget = Int.random(in: 0...5000, using: &random)
      let shares = BitrateAllocation.shares(of: demands, budget: budget, pauses: true)
      var cost = 0
      var pausedRank: StreamDemand.Rank?
      for (demand, share) in zip(demands, shares) {
        switch share {
        case .paused: pausedRank = min(pausedRank ?? demand.rank, demand.rank)
        case .upTo(let layer): cost += demand.layers.prefix(layer + 1).compactMap { $0 }.last ?? 0
        }
      }
      #expect(cost <= budget, "seed \(seed)")
      for (demand, share) in zip(demands, shares) where share != .paused && demand.layers.contains(where: { $0 != nil })
      {
        if let pausedRank { #expect(demand.rank < pausedRank, "seed \(seed)") }
      }
    }
  }
}

@Suite struct DownlinkTests {
  /// A subscriber behind a link of so many bits per second, that wants streams of so many each.
  private struct Link {
    var downlink = Downlink()
    var now = Instant.zero
    var capacity: Int
    var streams: [Int]
    var randomLoss = 0.0
    var sendsEstimates = true
    /// What the network keeps before it drops, in seconds.
    var buffer = 0.3
    /// What is measured when the estimate begins, of what comes then.
    var firstShare = 1.0
    /// The receiver is short of processor time: its estimate falls without cause, so often in a second.
    var falls = 0.0
    var random = SeededRandom(seed: 1)
    private var queue = 0.0
    private var estimate: Double?

    init(
      capacity: Int, streams: [Int], randomLoss: Double = 0, sendsEstimates: Bool = true, buffer: Double = 0.3,
      firstShare: Double = 1, falls: Double = 0
    ) {
      (self.capacity, self.streams, self.randomLoss) = (capacity, streams, randomLoss)
      (self.sendsEstimates, self.buffer, self.firstShare, self.falls) = (sendsEstimates, buffer, firstShare, falls)
    }

    /// How many streams the limit lets through.
    var flowing: Int {
      guard let limit = downlink.limit, downlink.allowsPauses else { return streams.count }
      var left = limit
      return streams.prefix { cost in
        left -= cost
        return left >= 0
      }.count
    }

    var sent: Int { streams.prefix(flowing).reduce(0, +) }

    mutating func pass(seconds: Int) {
      for _ in 0..<(seconds * 5) {
        now += .milliseconds(200)
        let sent = sent
        let (before, room) = (queue, Double(capacity) * buffer)
        queue = max(0, queue + Double(sent - capacity) / 5)
        let dropped = max(0, queue - room)
        queue -= dropped
        let received = Double(min(sent, capacity))
        if sendsEstimates { estimateAnew(received, isQueueGrowing: queue > before) }
        let loss = sent > 0 ? dropped * 5 / Double(sent) : 0
        downlink.note(loss: max(randomLoss, loss), now: now)
        downlink.note(roundTrip: .milliseconds(20) + .nanoseconds(Int64(queue / Double(capacity) * 1e9)), now: now)
        let next = flowing < streams.count ? sent + streams[flowing] : nil
        _ = downlink.update(sent: sent, nextStep: downlink.limit == nil ? nil : next, now: now)
      }
    }

    /// As libwebrtc's receiver does it: nothing for five seconds, then what comes just then; from there on up by 8 %
    /// a second to half as much again as what comes, and down to 85 % of what comes when queues grow.
    private mutating func estimateAnew(_ received: Double, isQueueGrowing: Bool) {
      guard now >= .seconds(5) else { return }
      var value = estimate ?? received * firstShare
      if isQueueGrowing || Double.random(in: 0..<1, using: &random) < falls / 5 {
        value = min(value, received * 0.85)
      } else if estimate != nil {
        value = max(value, min(value * 1.016, received * 1.5 + 10_000))
      }
      estimate = value
      downlink.note(estimate: UInt64(value), now: now)
    }
  }

  @Test func aFirstEstimateThatIsFarTooLowLimitsNothing() {
    var link = Link(capacity: 5_000_000, streams: [1_000_000, 1_000_000], firstShare: 0.1)
    for _ in 0..<60 {
      link.pass(seconds: 1)
      #expect(link.downlink.limit == nil)
    }
  }

  @Test func aReceiverShortOfProcessorTimeIsNotTakenForANarrowLink() {
    var link = Link(capacity: 5_000_000, streams: [1_000_000, 1_000_000], firstShare: 0.4, falls: 0.5)
    for _ in 0..<120 {
      link.pass(seconds: 1)
      #expect(link.downlink.limit == nil)
    }
  }

  @Test func aDeepQueueIsSeenBeforeAnythingIsLost() {
    var link = Link(capacity: 1_200_000, streams: [500_000, 500_000, 500_000], buffer: 10)
    link.pass(seconds: 12)
    #expect(link.sent <= link.capacity && link.flowing == 2)
  }

  @Test func nothingIsLimitedWhileItFits() {
    var link = Link(capacity: 5_000_000, streams: [1_000_000, 1_000_000])
    link.pass(seconds: 60)
    #expect(link.downlink.limit == nil)
  }

  @Test func aNarrowLinkIsRespectedAfterAMoment() {
    var link = Link(capacity: 1_200_000, streams: [500_000, 500_000, 500_000, 500_000])
    // libwebrtc's receivers say nothing in the first five seconds.
    link.pass(seconds: 9)
    #expect(link.sent <= link.capacity)
    #expect(link.flowing >= 1)
    // Over a long time, attempts to send more are rare, and most of the time two streams flow.
    var over = 0
    var good = 0
    for _ in 0..<300 {
      link.pass(seconds: 1)
      if link.sent > link.capacity { over += 1 }
      if link.flowing >= 2 { good += 1 }
    }
    #expect(over < 40 && good > 240, "\(over) s too much, \(good) s with two streams")
  }

  @Test func recoveryBringsEverythingBack() {
    var link = Link(capacity: 700_000, streams: [500_000, 500_000, 500_000])
    link.pass(seconds: 12)
    #expect(link.flowing == 1)
    link.pass(seconds: 60)
    link.capacity = 10_000_000
    link.pass(seconds: 90)
    #expect(link.downlink.limit == nil && link.flowing == 3)
  }

  @Test func whoSendsNoEstimateIsNeverPaused() {
    var link = Link(capacity: 900_000, streams: [500_000, 500_000, 500_000], sendsEstimates: false)
    for _ in 0..<60 {
      link.pass(seconds: 1)
      #expect(!link.downlink.allowsPauses)
    }
  }

  @Test func randomLossNeverPausesAndIsSoonLeftAlone() {
    var link = Link(capacity: 10_000_000, streams: [500_000, 500_000], randomLoss: 0.3, sendsEstimates: false)
    var limited = 0
    for _ in 0..<120 {
      link.pass(seconds: 1)
      #expect(link.flowing == 2)
      if link.downlink.limit != nil { limited += 1 }
    }
    #expect(limited <= 10, "\(limited) s limited")
  }
}

@Suite struct QualityTests {
  @Test func lossAndDelayLowerTheQuality() {
    func quality(_ loss: Double, _ delay: Duration = .zero, lost: Bool = false) -> String {
      "\(QualityScore.rate(.init(isLost: lost, loss: loss, roundTrip: delay)).quality)"
    }
    #expect(quality(0) == "excellent" && quality(0.02) == "excellent" && quality(0, .milliseconds(200)) == "excellent")
    #expect(quality(0.05) == "good" && quality(0, .milliseconds(400)) == "good")
    #expect(quality(0.2) == "poor" && quality(0.05, .milliseconds(600)) == "poor")
    #expect(quality(0, lost: true) == "lost")
    for percent in 0...100 {
      let score = QualityScore.rate(.init(loss: Double(percent) / 100)).score
      #expect((1...5).contains(score))
    }
  }
}
