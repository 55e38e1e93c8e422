import MediaCore
import Session
import Settings

/// The section `talker`: who is the active talker.
extension Setting {
  static var talkerLevels: Setting<TalkerPolicy.Levels> {
    .init(
      "talker.levels",
      "Whose word counts on how loud somebody is: auto (the sound; the room's word where there is none), "
        + "room, sound", default: "auto", parse: Values.word("source of levels"))
  }
  static var talkerMinimumHold: Setting<Duration> {
    .init(
      "talker.minimum-hold", "A talker keeps the place for at least so long", default: "2s", parse: Values.duration)
  }
  static var talkerTakeoverDelay: Setting<Duration> {
    .init(
      "talker.takeover-delay", "So long one must talk to take over: a cough does not", default: "400ms",
      parse: Values.duration)
  }
  static var talkerTakeoverMargin: Setting<Int> {
    .init(
      "talker.takeover-margin", "Into another's words one must be so many dB louder…", default: "6",
      parse: Values.whole(in: 0...60))
  }
  static var talkerOverlapDelay: Setting<Duration> {
    .init("talker.overlap-delay", "…and for so long", default: "1500ms", parse: Values.duration)
  }
  static var talkerThreshold: Setting<Int> {
    .init(
      "talker.threshold", "Sound below this level is no talking", default: "-40", parse: Values.whole(in: -127...0))
  }
  static var talkerNoiseMargin: Setting<Int> {
    .init(
      "talker.noise-margin", "Talking is so many dB above the steady noise", default: "9",
      parse: Values.whole(in: 0...60))
  }
  static var talkerActivityShare: Setting<Int> {
    .init(
      "talker.activity-share", "Percent of 400 ms that must be loud", default: "40", parse: Values.whole(in: 1...100))
  }
  static var talkerPause: Setting<Duration> {
    .init("talker.pause", "One talks on through pauses of this length", default: "600ms", parse: Values.duration)
  }
  static var talkerPresenterBonus: Setting<Int> {
    .init(
      "talker.presenter-bonus", "Who shares a screen counts as louder by so many dB", default: "3",
      parse: Values.whole(in: 0...60))
  }
  static var talkerPresenterReturn: Setting<Duration?> {
    .init(
      "talker.presenter-return", "…and is the talker again after so long a silence, or never: off", default: "5s"
    ) { text throws(ValueError) in text == "off" ? nil : try Values.duration(text) }
  }
  static var talkerAtMost: Setting<Int> {
    .init(
      "talker.at-most", "Talkers that are remembered, the newest first", default: "12",
      parse: Values.whole(in: 1...100))
  }
}

extension SettingSection {
  static var talker: SettingSection {
    SettingSection(
      "talker",
      comment:
        "Who is the active talker. Durations such as 400ms or 2s, levels in dBov (0 is the loudest, -127 is silence).",
      [
        .of(.talkerLevels), .of(.talkerMinimumHold), .of(.talkerTakeoverDelay), .of(.talkerTakeoverMargin),
        .of(.talkerOverlapDelay), .of(.talkerThreshold), .of(.talkerNoiseMargin), .of(.talkerActivityShare),
        .of(.talkerPause), .of(.talkerPresenterBonus), .of(.talkerPresenterReturn), .of(.talkerAtMost),
      ])
  }
}
