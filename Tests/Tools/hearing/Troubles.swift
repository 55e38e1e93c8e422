import MediaCore

/// What goes wrong with a publisher, and for how long.
extension Trial {
  /// Milliseconds.
  private static let stalls: [Int64] = [100, 200, 400, 500, 1_000, 2_000, 5_000, 10_000, 60_000]

  /// All of it. Of each kind so many seeds are played, `times` as often, and those that found something once.
  static func troubles(times: UInt64) -> [Trial] {
    let kinds = [
      calm, fewAndManyPictures, busyReports, wrongReports, silences, microphones, devices, cameras, rows, leaps,
      sources, clocks, losses, lossesAndStalls, congestion,
    ]
    return kinds.flatMap { $0(times) }
  }

  /// A kind of trouble. `runs` makes the runs of a seed.
  private static func trial(
    _ name: String, from first: UInt64, _ count: UInt64, and found: [UInt64] = [], times: UInt64,
    runs: @escaping @Sendable (UInt64) -> [Run]
  ) -> Trial {
    Trial(name: name) {
      let all = (found + (first..<first + count * times)).flatMap(runs)
      return (all.flatMap { $0.judge() }, "\(all.count) runs")
    }
  }

  /// Reports from the beginning, from the middle of the first trouble, or from after it; with pictures or without.
  private static func vary(_ stage: inout HearingStage, _ random: inout SeededRandom) {
    let seed = stage.seed
    let at = stage.troubles.first?.at ?? 1_000
    stage.reports = [.none, .own, .forwarded, .wrong][Int(seed % 4)]
    stage.reportsFrom = [700, at + 50, at + 1_300][Int(seed / 4 % 3)]
    stage.hasVideo = seed % 5 != 0
    stage.jitter = Int64.random(in: 0...40, using: &random)
  }

  /// The spans of a stage's troubles and a second after each, in which lip sync may be off.
  private static func spans(_ stage: HearingStage) -> [Range<Int64>] {
    stage.troubles.map { trouble in
      switch trouble.what {
      case .microphone(let length), .device(let length), .camera(let length), .silence(let length),
        .congestion(let length):
        return trouble.at - 100..<trouble.at + length + 1_000
      case .leap, .cameraLeap, .newSource: return trouble.at - 100..<trouble.at + 1_000
      }
    }
  }

  // MARK: Without trouble at the source

  private static func calm(_ times: UInt64) -> [Trial] {
    [
      trial("a calm run", from: 0, 20, times: times) { seed in
        var stage = HearingStage(seed: seed)
        stage.reports = [.none, .own, .forwarded, .wrong][Int(seed % 4)]
        return [Run(stage: stage)]
      }
    ]
  }

  /// Sound does not wait for pictures, however few a recording has.
  private static func fewAndManyPictures(_ times: UInt64) -> [Trial] {
    [1, 3, 5, 10, 15, 19, 24, 60].map { rate in
      trial("\(rate) pictures a second", from: 95_000, 8, times: times) { seed in
        var stage = HearingStage(seed: seed)
        stage.framesPerSecond = rate
        stage.jitter = 30
        return [Run(stage: stage, skew: rate < 24 ? 1_000_000 : 100)]
      }
    }
  }

  /// Its reports say that its sound is on its way for less time than it is; from the second one on, pictures come hardly
  /// earlier for that.
  private static func busyReports(_ times: UInt64) -> [Trial] {
    [HearingStage.Reports.own, .busy].map { reports in
      trial("reports (\(reports)) every 5 s", from: 90_000, 80, times: times) { seed in
        var stage = HearingStage(seed: seed)
        stage.reports = reports
        stage.reportsEvery = (5_000, 1_000)
        stage.way.pictures = 40
        stage.length = 40_000
        return [Run(stage: stage, skew: 40, unsettled: [0..<6_000])]
      }
    }
  }

  /// While a publisher has sent few reports, wrong ones take its pictures to no place that a viewer would notice.
  private static func wrongReports(_ times: UInt64) -> [Trial] {
    [
      trial("few reports that are all wrong", from: 91_000, 20, times: times) { seed in
        var stage = HearingStage(seed: seed)
        stage.reports = .slow
        stage.reportsEvery = (5_000, 1_000)
        // Sound is on its way when its packet is full.
        stage.way.pictures = stage.way.sound + 20
        return [Run(stage: stage, skew: 65)]
      }
    ]
  }

  private static func silences(_ times: UInt64) -> [Trial] {
    ([300, 1_000, 5_000, 20_000] as [Int64]).map { silence in
      trial("two silences of \(silence) ms that are not sent", from: 40_000, 12, times: times) { seed in
        var random = SeededRandom(seed: seed &* 7919)
        var stage = HearingStage(seed: seed)
        stage.troubles = [(4_000, .silence(silence)), (6_000 + silence, .silence(silence))]
        stage.length = 10_000 + 2 * silence
        vary(&stage, &random)
        return [Run(stage: stage, skew: 60)]
      }
    }
  }

  // MARK: Devices that stall

  private static func microphones(_ times: UInt64) -> [Trial] {
    stalls.map { stall in
      trial("a microphone that stalls for \(stall) ms", from: 0, stall > 5_000 ? 12 : 24, times: times) { seed in
        [stalled(seed, .microphone(stall), for: stall)]
      }
    }
  }

  private static func devices(_ times: UInt64) -> [Trial] {
    stalls.map { stall in
      trial(
        "a device that sleeps for \(stall) ms", from: 1_000, stall > 5_000 ? 12 : 24,
        and: stall == 2_000 ? [1_031] : [], times: times
      ) { seed in [stalled(seed, .device(stall), for: stall)] }
    }
  }

  private static func cameras(_ times: UInt64) -> [Trial] {
    stalls.dropLast(2).map { stall in
      trial("a camera that stalls for \(stall) ms", from: 2_000, 12, times: times) { seed in
        [stalled(seed, .camera(stall), for: stall)]
      }
    }
  }

  private static func stalled(_ seed: UInt64, _ trouble: HearingStage.Trouble, for stall: Int64) -> Run {
    var random = SeededRandom(seed: seed &* 7919)
    var stage = HearingStage(seed: seed, troubles: [(5_000, trouble)])
    stage.length = 5_000 + stall + 6_000
    vary(&stage, &random)
    return Run(stage: stage, unsettled: spans(stage))
  }

  private static func rows(_ times: UInt64) -> [Trial] {
    [
      trial("stalls in rows", from: 10_000, 96, and: [10_289], times: times) { seed in
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
        vary(&stage, &random)
        return [Run(stage: stage, unsettled: spans(stage))]
      }
    ]
  }

  // MARK: Clocks

  private static func leaps(_ times: UInt64) -> [Trial] {
    ([150, 400, 1_000, 7_000, 3_600_000, -40, -400, -3_600_000] as [Int64]).map { leap in
      trial("a clock that leaps by \(leap) ms", from: 20_000, 12, times: times) { seed in
        var random = SeededRandom(seed: seed &* 7919)
        var stage = HearingStage(seed: seed, troubles: [(5_000, .leap(leap))])
        vary(&stage, &random)
        var camera = stage
        camera.troubles = [(5_000, .cameraLeap(leap))]
        let stages = abs(leap) > 100 ? [stage, camera] : [stage]
        return stages.map { Run(stage: $0, unsettled: spans($0)) }
      }
    }
  }

  private static func sources(_ times: UInt64) -> [Trial] {
    [
      trial("a source that begins anew", from: 30_000, 24, and: [30_039], times: times) { seed in
        var random = SeededRandom(seed: seed &* 7919)
        var stage = HearingStage(seed: seed, troubles: [(4_000, .newSource), (8_000, .newSource)])
        vary(&stage, &random)
        return [Run(stage: stage, unsettled: spans(stage))]
      }
    ]
  }

  private static func clocks(_ times: UInt64) -> [Trial] {
    ([-500, -200, 200, 500] as [Int64]).map { drift in
      trial("a clock that is \(drift) ppm wrong", from: 70_000, 4, times: times) { seed in
        var random = SeededRandom(seed: seed &* 7919)
        var stage = HearingStage(seed: seed)
        stage.length = 60_000
        stage.drift = drift
        vary(&stage, &random)
        return [Run(stage: stage, skew: 60)]
      }
    }
  }

  // MARK: Networks

  private static func losses(_ times: UInt64) -> [Trial] {
    [
      trial("loss and repair", from: 50_000, 24, and: [50_112, 50_116], times: times) { seed in
        var random = SeededRandom(seed: seed &* 7919)
        var stage = HearingStage(seed: seed)
        vary(&stage, &random)
        stage.loss = Int.random(in: 10...300, using: &random)
        stage.repair = seed % 2 == 0 ? 0 : Int64.random(in: 60...250, using: &random)
        return [Run(stage: stage, skew: 60)]
      }
    ]
  }

  private static func lossesAndStalls(_ times: UInt64) -> [Trial] {
    [
      trial("stalls among losses", from: 60_000, 48, and: [60_107], times: times) { seed in
        var random = SeededRandom(seed: seed &* 7919)
        let stall = stalls.prefix(6).randomElement(using: &random) ?? 100
        var stage = HearingStage(seed: seed, troubles: [(5_000, .microphone(stall))])
        stage.length = 10_000 + stall
        vary(&stage, &random)
        stage.loss = Int.random(in: 10...100, using: &random)
        stage.repair = seed % 2 == 0 ? 0 : Int64.random(in: 60...150, using: &random)
        return [Run(stage: stage, unsettled: spans(stage))]
      }
    ]
  }

  /// A network that holds everything back: what it held is heard, and nothing is out of place for longer than that takes.
  private static func congestion(_ times: UInt64) -> [Trial] {
    ([100, 300, 1_000, 3_000] as [Int64]).map { hold in
      trial("a network that holds everything back for \(hold) ms", from: 80_000, 12, times: times) { seed in
        var random = SeededRandom(seed: seed &* 7919)
        var stage = HearingStage(seed: seed, troubles: [(5_000, .congestion(hold))])
        stage.length = 9_000 + hold
        vary(&stage, &random)
        // What came later than can be waited for is heard late, in one piece.
        let isShort = hold <= 300
        return [
          Run(stage: stage, late: isShort ? 50 : hold, skew: 90, unsettled: spans(stage), tears: isShort ? 0 : 1)
        ]
      }
    }
  }
}
