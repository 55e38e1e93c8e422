import MediaCore

/// The file's time line against the session's. They run alike, except that cuts are left out of the file: the picture
/// before a cut and the one after it are one slot apart.
struct OutputClock: Sendable {
  private let framesPerSecond: Int64
  /// The next output slot.
  private(set) var slot: Int64 = 0
  /// True during a cut, in which steps are made but no slots are filled.
  private(set) var isCut = false
  /// The beginning of the current stretch (or cut) in the session, and the slot that it begins with.
  private var anchor = SessionTime.zero
  private var anchorSlot: Int64 = 0
  /// Steps made in the current cut.
  private var steps: Int64 = 0

  init(framesPerSecond: Int) { self.framesPerSecond = Int64(framesPerSecond) }

  /// Time of a slot in the file; exact for every whole second.
  func time(of slot: Int64) -> SessionTime {
    let (seconds, rest) = slot.quotientAndRemainder(dividingBy: framesPerSecond)
    return SessionTime(nanoseconds: seconds &* 1_000_000_000 &+ rest * 1_000_000_000 / framesPerSecond)
  }

  /// The session's instant of the next step.
  var next: SessionTime { anchor + (isCut ? time(of: steps) : time(of: slot) - time(of: anchorSlot)) }

  /// Time in the file of an instant of the current stretch. All of a cut is one instant.
  func fileTime(of instant: SessionTime) -> SessionTime {
    isCut ? time(of: slot) : time(of: anchorSlot) + (instant - anchor)
  }

  /// Makes a step: fills the slot, unless this is a cut.
  mutating func step() {
    if isCut { steps += 1 } else { slot += 1 }
  }

  /// From this instant on time stands still in the file.
  mutating func cut(at instant: SessionTime) {
    isCut = true
    anchor = instant
    steps = 0
  }

  /// The cut ends: the next slot shows this instant.
  mutating func join(at instant: SessionTime) {
    isCut = false
    anchor = instant
    anchorSlot = slot
  }
}
