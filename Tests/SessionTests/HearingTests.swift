import Foundation
import HearingKit
import MediaCore
import Testing

/// What arrives is heard: whatever clocks do, each packet that came is in the mix once, whole, in order, at its time, and
/// its picture with it.
@Suite struct HearingTests {
  private static let millisecond: Int64 = 1_000_000
  /// How many times as many sequences to play as usual: for `make endurance`.
  private static let endurance = min(
    max(1, ProcessInfo.processInfo.environment["RECBOT_HEARING_SEEDS"].flatMap(UInt64.init) ?? 1), 1_000)
  /// The stalls of the issue, milliseconds.
  static let stalls: [Int64] = [100, 200, 400, 500, 1_000, 2_000, 5_000, 10_000, 60_000]

  /// Judges a run. `late`: by how much sound may be later than its way, milliseconds; `settled`: when lip sync must hold.
  private func judge(
    _ stage: HearingStage, early: Int64 = 70, late: Int64 = 50, skew: Int64 = 80, unsettled: [Range<Int64>] = [],
    tears: Int = 0
  ) {
    let result = stage.play()
    let name = "seed \(stage.seed), \(stage.troubles), jitter \(stage.jitter), \(stage.reports)"
    // What is sent at the very end is not heard any more.
    let last = stage.length * Self.millisecond - 100 * Self.millisecond
    let wanted = result.arrived.filter { result.captured[$0] < last }.sorted()
    let heard = result.heard.filter { wanted.contains($0.number) || $0.number > (wanted.last ?? 0) }
    #expect(heard.count == result.heard.count, "\(name): something is heard that was not sent")
    let numbers = result.heard.map(\.number)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "\(name): out of order, or twice")
    let found = Dictionary(result.heard.map { ($0.number, $0) }) { first, _ in first }
    let missing = wanted.filter { (found[$0]?.count ?? 0) < 600 }
    #expect(missing.isEmpty, "\(name): \(missing.count) packets were not heard: \(missing.prefix(5))")

    var torn: [Int] = []
    for number in wanted where number > 0 && !result.begins.contains(number) {
      guard let one = found[number - 1], let other = found[number] else { continue }
      if abs(other.end - one.end - 960) > 40 { torn.append(number) }
    }
    #expect(torn.count <= tears, "\(name): torn at \(torn.prefix(5).map { result.captured[$0] / Self.millisecond })")

    func delay(_ number: Int) -> Int64? {
      found[number].map { $0.end * 1_000_000 / 48 - result.captured[number] - 20 * Self.millisecond }
    }
    let wrong = wanted.filter { number in
      guard let delay = delay(number) else { return false }
      let error = delay / Self.millisecond - 20 - stage.way.sound
      return error < -early || error > late + stage.jitter
    }
    let examples = wrong.prefix(3).map { number in
      (result.captured[number] / Self.millisecond, (delay(number) ?? 0) / Self.millisecond)
    }
    #expect(wrong.isEmpty, "\(name): \(wrong.count) packets at a wrong time (captured, way): \(examples)")

    guard stage.hasVideo else { return }
    var worst: (Int64, Int64) = (0, 0)
    var index = 0
    for picture in result.shown {
      let captured = picture.captured / Self.millisecond
      guard captured > 4_000, !unsettled.contains(where: { $0.contains(captured) }) else { continue }
      // The sound that was captured at the same time.
      while index + 1 < result.captured.count, result.captured[index + 1] <= picture.captured { index += 1 }
      let isWithin = picture.captured - result.captured[index] < 20 * Self.millisecond
      guard isWithin, let delay = delay(index) else { continue }
      // A picture waits for its slot: half of one on average.
      let error = (picture.at - picture.captured - delay) / Self.millisecond - 16
      if abs(error) > abs(worst.1) { worst = (captured, error) }
    }
    #expect(abs(worst.1) <= skew, "\(name): pictures \(worst.1) ms off at \(worst.0)")
  }

  /// A second after each trouble, in which lip sync may be off.
  private func spans(_ stage: HearingStage) -> [Range<Int64>] {
    stage.troubles.map { trouble in
      switch trouble.what {
      case .microphone(let length), .device(let length), .camera(let length), .silence(let length),
        .congestion(let length):
        return trouble.at - 100..<trouble.at + length + 1_000
      case .leap, .cameraLeap, .newSource: return trouble.at - 100..<trouble.at + 1_000
      }
    }
  }

  /// A quarter of so many seeds from the first one on (`endurance` times as many), at least four, and those that found
  /// something once.
  private func seeds(_ first: UInt64, _ count: UInt64, and found: [UInt64] = []) -> [UInt64] {
    found + (first..<first + max(4, count * Self.endurance / 4))
  }

  @Test func aCalmRunIsHeardWholly() {
    for seed in seeds(0, 20) {
      var stage = HearingStage(seed: seed)
      stage.reports = [.none, .own, .forwarded, .wrong][Int(seed % 4)]
      judge(stage)
    }
  }

  /// Sound does not wait for pictures, however few a recording has.
  @Test(arguments: [1, 3, 5, 10, 15, 19, 24, 60]) func recordingsOfFewAndOfManyPictures(_ rate: Int) {
    for seed in seeds(95_000, 8) {
      var stage = HearingStage(seed: seed)
      stage.framesPerSecond = rate
      stage.jitter = 30
      judge(stage, skew: rate < 24 ? 1_000_000 : 100)
    }
  }

  /// Its reports say that its sound is on its way for less time than it is; from the second one on, pictures come hardly
  /// earlier for that.
  @Test(arguments: [HearingStage.Reports.own, .busy]) func reportsOfABusySender(_ reports: HearingStage.Reports) {
    for seed in seeds(90_000, 80) {
      var stage = HearingStage(seed: seed)
      stage.reports = reports
      stage.reportsEvery = (5_000, 1_000)
      stage.way.pictures = 40
      stage.length = 40_000
      judge(stage, skew: 40, unsettled: [0..<6_000])
    }
  }

  /// While a publisher has sent few reports, wrong ones take its pictures to no place that a viewer would notice.
  @Test func fewReportsThatAreAllWrong() {
    for seed in seeds(91_000, 20) {
      var stage = HearingStage(seed: seed)
      stage.reports = .slow
      stage.reportsEvery = (5_000, 1_000)
      // Sound is on its way when its packet is full.
      stage.way.pictures = stage.way.sound + 20
      judge(stage, skew: 65)
    }
  }

  /// Reports from the beginning, from the middle of the first trouble, or from after it.
  private func vary(_ stage: inout HearingStage, _ seed: UInt64, _ random: inout SeededRandom) {
    let at = stage.troubles.first?.at ?? 1_000
    stage.reports = [.none, .own, .forwarded, .wrong][Int(seed % 4)]
    stage.reportsFrom = [700, at + 50, at + 1_300][Int(seed / 4 % 3)]
    stage.hasVideo = seed % 5 != 0
    stage.jitter = Int64.random(in: 0...40, using: &random)
  }

  @Test(arguments: stalls) func aMicrophoneThatStalls(_ stall: Int64) {
    for seed in seeds(0, stall > 5_000 ? 12 : 24) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed, troubles: [(5_000, .microphone(stall))])
      stage.length = 5_000 + stall + 6_000
      vary(&stage, seed, &random)
      judge(stage, unsettled: spans(stage))
    }
  }

  @Test(arguments: stalls) func aDeviceThatSleeps(_ stall: Int64) {
    for seed in seeds(1_000, stall > 5_000 ? 12 : 24, and: stall == 2_000 ? [1_031] : []) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed, troubles: [(5_000, .device(stall))])
      stage.length = 5_000 + stall + 6_000
      vary(&stage, seed, &random)
      judge(stage, unsettled: spans(stage))
    }
  }

  @Test(arguments: stalls.dropLast(2)) func aCameraThatStalls(_ stall: Int64) {
    for seed in seeds(2_000, 12) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed, troubles: [(5_000, .camera(stall))])
      stage.length = 5_000 + stall + 6_000
      vary(&stage, seed, &random)
      judge(stage, unsettled: spans(stage))
    }
  }

  @Test(arguments: 0..<8) func stallsInRows(_ part: UInt64) {
    for seed in seeds(10_000 + part * 12 * Self.endurance, 12, and: part == 0 ? [10_289] : []) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed)
      var at: Int64 = 4_500
      for _ in 0..<Int.random(in: 2...6, using: &random) {
        let stall: Int64 = [100, 200, 400, 500, 1_000, 2_000].randomElement(using: &random) ?? 100
        let isDevice = Int.random(in: 0..<4, using: &random) == 0
        stage.troubles.append((at, isDevice ? .device(stall) : .microphone(stall)))
        // A new one begins at the earliest when the verdict on the last one has fallen.
        at += stall + Int64.random(in: 300...2_500, using: &random)
      }
      stage.length = at + 3_000
      vary(&stage, seed, &random)
      judge(stage, unsettled: spans(stage))
    }
  }

  @Test(arguments: [150, 400, 1_000, 7_000, 3_600_000, -40, -400, -3_600_000] as [Int64])
  func aClockThatLeaps(_ leap: Int64) {
    for seed in seeds(20_000, 12) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed, troubles: [(5_000, .leap(leap))])
      vary(&stage, seed, &random)
      judge(stage, unsettled: spans(stage))
      stage.troubles = [(5_000, .cameraLeap(leap))]
      if leap > 100 || leap < -100 { judge(stage, unsettled: spans(stage)) }
    }
  }

  @Test func aSourceThatBeginsAnew() {
    for seed in seeds(30_000, 24, and: [30_039]) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed, troubles: [(4_000, .newSource), (8_000, .newSource)])
      vary(&stage, seed, &random)
      judge(stage, unsettled: spans(stage))
    }
  }

  @Test(arguments: [300, 1_000, 5_000, 20_000] as [Int64]) func silenceThatIsNotSentIsNoStall(_ silence: Int64) {
    for seed in seeds(40_000, 12) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed)
      stage.troubles = [(4_000, .silence(silence)), (6_000 + silence, .silence(silence))]
      stage.length = 10_000 + 2 * silence
      vary(&stage, seed, &random)
      judge(stage, skew: 60)
    }
  }

  @Test func lossAndRepairMoveNothing() {
    for seed in seeds(50_000, 24, and: [50_112, 50_116]) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed)
      vary(&stage, seed, &random)
      stage.loss = Int.random(in: 10...300, using: &random)
      stage.repair = seed % 2 == 0 ? 0 : Int64.random(in: 60...250, using: &random)
      judge(stage, skew: 60)
    }
  }

  @Test func stallsAmongLosses() {
    for seed in seeds(60_000, 48, and: [60_107]) {
      var random = SeededRandom(seed: seed &* 7919)
      let stall = Self.stalls.prefix(6).randomElement(using: &random) ?? 100
      var stage = HearingStage(seed: seed, troubles: [(5_000, .microphone(stall))])
      stage.length = 10_000 + stall
      vary(&stage, seed, &random)
      stage.loss = Int.random(in: 10...100, using: &random)
      stage.repair = seed % 2 == 0 ? 0 : Int64.random(in: 60...150, using: &random)
      judge(stage, unsettled: spans(stage))
    }
  }

  @Test(arguments: [-500, -200, 200, 500] as [Int64]) func driftIsWorkedOffWithoutAStep(_ drift: Int64) {
    for seed in seeds(70_000, 4) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed)
      stage.length = 60_000
      stage.drift = drift
      vary(&stage, seed, &random)
      judge(stage, skew: 60)
    }
  }

  /// A network that holds everything back: what it held is heard, and nothing is out of place for longer than that takes.
  @Test(arguments: [100, 300, 1_000, 3_000] as [Int64]) func aNetworkThatHoldsThingsBack(_ hold: Int64) {
    for seed in seeds(80_000, 12) {
      var random = SeededRandom(seed: seed &* 7919)
      var stage = HearingStage(seed: seed, troubles: [(5_000, .congestion(hold))])
      stage.length = 9_000 + hold
      vary(&stage, seed, &random)
      // What came later than can be waited for is heard late, in one piece.
      judge(stage, late: hold <= 300 ? 50 : hold, skew: 90, unsettled: spans(stage), tears: hold <= 300 ? 0 : 1)
    }
  }
}
