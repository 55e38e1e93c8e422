import MediaCore
import Session
import Settings

extension Configuration {
  /// The numbers of the talker policy.
  func talker() throws -> TalkerPolicy.Settings {
    var talker = TalkerPolicy.Settings()
    func whole(_ setting: Setting, _ limits: ClosedRange<Int>, _ value: inout Int) throws {
      value = try self.value(flag: nil, "", setting, default: value) { text throws(ValueError) in
        try Values.whole(text, in: limits)
      }
    }
    func duration(_ setting: Setting, _ value: inout SessionTime) throws {
      value = try self.value(flag: nil, "", setting, default: value, parse: Values.duration)
    }
    talker.levels = try value(flag: nil, "", .talkerLevels, default: talker.levels) { text throws(ValueError) in
      try Values.word(text, "source of levels")
    }
    try duration(.talkerMinimumHold, &talker.minimumHold)
    try duration(.talkerTakeoverDelay, &talker.takeoverDelay)
    try whole(.talkerTakeoverMargin, 0...60, &talker.takeoverMargin)
    try duration(.talkerOverlapDelay, &talker.overlapDelay)
    try whole(.talkerThreshold, -127...0, &talker.threshold)
    try whole(.talkerNoiseMargin, 0...60, &talker.noiseMargin)
    try whole(.talkerActivityShare, 1...100, &talker.activityShare)
    try duration(.talkerPause, &talker.pause)
    try whole(.talkerPresenterBonus, 0...60, &talker.presenterBonus)
    talker.presenterReturn = try value(flag: nil, "", .talkerPresenterReturn, default: talker.presenterReturn) {
      text throws(ValueError) in text == "off" ? nil : try Values.duration(text)
    }
    try whole(.talkerAtMost, 1...100, &talker.atMost)
    return talker
  }
}
