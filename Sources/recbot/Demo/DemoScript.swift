import MediaCore

/// Who does what when in the demo's conversation. Pure: everything follows from the number of people and the length.
struct DemoScript {
  /// Names of the people, in the order in which they join.
  static let names = ["Ann", "Ben", "Cleo", "Dev", "Ella", "Finn", "Gita", "Hugo", "Ines", "Jun", "Kofi", "Lena"]
  /// How long one person talks, milliseconds.
  static let turn: Int64 = 3_000

  var participants: Int
  var duration: Duration
  /// Columns and rows of the cameras' pictures.
  var size = (width: 640, height: 360)

  private func part(_ percent: Int64) -> SessionTime {
    .zero + duration / 100 * percent
  }

  /// Display name of a person; names come round again with a number.
  func name(_ person: Int) -> String {
    let round = person / Self.names.count
    return Self.names[person % Self.names.count] + (round > 0 ? " \(round + 1)" : "")
  }

  /// True while the person talks: in turns, with a short pause between them.
  func isTalking(_ person: Int, at time: SessionTime) -> Bool {
    let ms = time.milliseconds
    guard ms >= 0, ms % Self.turn < Self.turn - 300 else { return false }
    return Int(ms / Self.turn) % max(1, participants) == person
  }

  /// True while the second person's camera is off.
  func isCameraMuted(_ person: Int, at time: SessionTime) -> Bool {
    person == 1 && time >= part(20) && time < part(48)
  }

  /// True while the last person's microphone is off: whenever somebody else is talking for long.
  func isMicrophoneMuted(_ person: Int, at time: SessionTime) -> Bool {
    participants > 2 && person == participants - 1 && time < part(45)
  }

  /// True while the first person shares a screen.
  func isSharing(_ person: Int, at time: SessionTime) -> Bool {
    person == 0 && time >= part(55) && time < part(85)
  }
}
