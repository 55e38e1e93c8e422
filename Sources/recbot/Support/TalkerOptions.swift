import Session
import Settings

extension Configuration {
  /// The numbers of the talker policy.
  func talker() throws -> TalkerPolicy.Settings {
    var talker = TalkerPolicy.Settings()
    talker.levels = try value(.talkerLevels)
    talker.minimumHold = try value(.talkerMinimumHold)
    talker.takeoverDelay = try value(.talkerTakeoverDelay)
    talker.takeoverMargin = try value(.talkerTakeoverMargin)
    talker.overlapDelay = try value(.talkerOverlapDelay)
    talker.threshold = try value(.talkerThreshold)
    talker.noiseMargin = try value(.talkerNoiseMargin)
    talker.activityShare = try value(.talkerActivityShare)
    talker.pause = try value(.talkerPause)
    talker.presenterBonus = try value(.talkerPresenterBonus)
    talker.presenterReturn = try value(.talkerPresenterReturn)
    talker.atMost = try value(.talkerAtMost)
    return talker
  }
}
