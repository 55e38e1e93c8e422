/// A sound's clock that runs wrong for hours.
extension Trial {
  private static let millisecond: Int64 = 1_000_000
  /// What a packet has; what it may have while the clock's error is worked off (5 ms a second), and a sample for the seams.
  private static let samples: Int64 = 960
  private static let slack: Int64 = 6

  /// Publishers whose sound's clock runs 200 and 500 millionths wrong, either way.
  static func drifts(minutes: Int64) -> [Trial] {
    // By how much pictures may be off at the end, milliseconds.
    let limits: KeyValuePairs<Int64, Int64> = [-500: 40, -200: 20, 200: 20, 500: 40]
    return limits.map { drift, limit in
      Trial(name: "a clock that is \(drift) ppm wrong for \(minutes) minutes") {
        judge(drift, limit: limit, minutes: minutes)
      }
    }
  }

  /// Plays one case; gives what is wrong, and a line of figures.
  private static func judge(_ drift: Int64, limit: Int64, minutes: Int64) -> (faults: [String], figures: String) {
    var stage = HearingStage(seed: 20_261_124 &+ UInt64(bitPattern: drift))
    stage.length = minutes * 60_000
    stage.drift = drift
    // Each picture lies elsewhere between two slots, so that the median says where they are.
    stage.pictureInterval = 37_000_000
    // As libwebrtc reports.
    stage.reportsEvery = (5_000, 1_000)
    let result = stage.play()
    var faults: [String] = []

    // Sent at the very end is what is not heard any more.
    let wanted = result.captured.count - 10
    let heard = result.heard
    let astray = heard.indices.first { heard[$0].number != $0 }
    if heard.count < wanted || (astray ?? .max) < wanted {
      faults.append(
        "\(heard.count) packets of \(result.captured.count) are heard, in order up to \(astray ?? heard.count)")
    }
    let count = min(heard.count, wanted)
    var widest: Int64 = 0
    for index in heard.indices.dropFirst().prefix(max(0, count - 1)) {
      let length = heard[index].end - heard[index - 1].end
      widest = max(widest, abs(length - samples))
      if abs(length - samples) > slack || Int64(heard[index].count) < samples - 2 * slack {
        faults.append("packet \(index) has \(length) samples, \(heard[index].count) of them its own")
      }
    }

    /// How long the sound that was captured at an instant was on its way; nil: there is none.
    func delay(at instant: Int64, from index: inout Int) -> Int64? {
      while index + 1 < count, result.captured[index + 1] <= instant { index += 1 }
      guard index < count, instant - result.captured[index] < 20 * millisecond else { return nil }
      return heard[index].end * 1_000_000 / 48 - result.captured[index] - 20 * millisecond
    }
    var index = 0
    var skews: [(captured: Int64, skew: Int64)] = []
    for picture in result.shown {
      guard let delay = delay(at: picture.captured, from: &index) else { continue }
      // A picture waits for its slot: half of one on average.
      skews.append((picture.captured, (picture.at - picture.captured - delay) / millisecond - 16))
    }
    let end = minutes * 60_000 * millisecond
    /// The median of a minute.
    func median(of minute: [(captured: Int64, skew: Int64)]) -> Int64 {
      let sorted = minute.map(\.skew).sorted()
      return sorted.isEmpty ? .max : sorted[sorted.count / 2]
    }
    let skew = median(of: skews.filter { $0.captured > end - 60_000 * millisecond })
    let minutely = (0..<minutes).map { minute in
      median(of: skews.filter { $0.captured / (60_000 * millisecond) == minute })
    }
    let worst = minutely.dropFirst().map(abs).max() ?? .max
    if abs(skew) > limit { faults.append("in the last minute pictures are \(skew) ms off (limit \(limit) ms)") }
    let figures =
      "\(count) packets, at most \(widest) samples more or fewer each; pictures \(skew) ms off at the end "
      + "(limit \(limit) ms), \(worst) ms at most in a minute"
    return (faults, figures)
  }
}
