import MediaCore

/// One play of a stage, and what is asked of it: whatever clocks do, each packet that came is in the mix once, whole, in order,
/// at its time, and its picture with it.
struct Run {
  private static let millisecond: Int64 = 1_000_000

  var stage: HearingStage
  /// By how much sound may be earlier and later than its way, milliseconds.
  var early: Int64 = 70
  var late: Int64 = 50
  /// By how much pictures may be off their sound, milliseconds, and when they may be off by more.
  var skew: Int64 = 80
  var unsettled: [Range<Int64>] = []
  /// How many packets may not lie directly behind the ones before them.
  var tears = 0

  /// Plays it; gives what is wrong.
  func judge() -> [String] {
    let result = stage.play()
    var faults: [String] = []
    func check(_ isRight: Bool, _ fault: @autoclosure () -> String) {
      guard !isRight else { return }
      faults.append("seed \(stage.seed), \(stage.troubles), jitter \(stage.jitter), \(stage.reports): \(fault())")
    }

    // What is sent at the very end is not heard any more.
    let last = stage.length * Self.millisecond - 100 * Self.millisecond
    let wanted = result.arrived.filter { result.captured[$0] < last }.sorted()
    let isSent = { (number: Int) in result.arrived.contains(number) || number > (wanted.last ?? 0) }
    check(result.heard.allSatisfy { isSent($0.number) }, "something is heard that was not sent")
    let numbers = result.heard.map(\.number)
    check(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "out of order, or twice")
    let found = Dictionary(result.heard.map { ($0.number, $0) }) { first, _ in first }
    let missing = wanted.filter { (found[$0]?.count ?? 0) < 600 }
    check(missing.isEmpty, "\(missing.count) packets were not heard: \(missing.prefix(5))")

    var torn: [Int] = []
    for number in wanted where number > 0 && !result.begins.contains(number) {
      guard let one = found[number - 1], let other = found[number] else { continue }
      if abs(other.end - one.end - 960) > 40 { torn.append(number) }
    }
    check(torn.count <= tears, "torn at \(torn.prefix(5).map { result.captured[$0] / Self.millisecond })")

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
    check(wrong.isEmpty, "\(wrong.count) packets at a wrong time (captured, way): \(examples)")

    guard stage.hasVideo else { return faults }
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
    check(abs(worst.1) <= skew, "pictures \(worst.1) ms off at \(worst.0)")
    return faults
  }
}
