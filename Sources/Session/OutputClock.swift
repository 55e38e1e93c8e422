import MediaCore

/// The file's time line against the session's. They run alike, except that cuts are left out of the file: the picture
/// before a cut and the one after it are one slot apart.
///
/// With few pictures a second it makes several steps from slot to slot: sound, and what happens, do not wait for pictures.
struct OutputClock: Sendable {
  /// Steps of a second are at least so many: in the time of one no more sound is due than is handed on early.
  private static let leastRate: Int64 = 20
  private let stepsPerSlot: Int64
  private let stepsPerSecond: Int64
  /// The next step of the file.
  private var fileStep: Int64 = 0
  /// True during a cut, in which steps are made but no slots are filled.
  private(set) var isCut = false
  /// The beginning of the current stretch (or cut) in the session, and the step that it begins with.
  private var anchor = SessionTime.zero
  private var anchorStep: Int64 = 0
  /// Steps made in the current cut.
  private var steps: Int64 = 0

  init(framesPerSecond: Int) {
    let rate = Int64(framesPerSecond)
    stepsPerSlot = (Self.leastRate + rate - 1) / rate
    stepsPerSecond = rate * stepsPerSlot
  }

  /// Time of a slot in the file; exact for every whole second.
  func time(of slot: Int64) -> SessionTime { time(ofStep: slot * stepsPerSlot) }

  private func time(ofStep step: Int64) -> SessionTime {
    let (seconds, rest) = step.quotientAndRemainder(dividingBy: stepsPerSecond)
    return SessionTime(nanoseconds: seconds &* 1_000_000_000 &+ rest * 1_000_000_000 / stepsPerSecond)
  }

  /// The next output slot, or the one that has begun.
  var slot: Int64 { fileStep / stepsPerSlot }
  /// True when the next step begins a slot, and during a cut.
  var isAtSlot: Bool { isCut || fileStep % stepsPerSlot == 0 }

  /// The session's instant of the next step.
  var next: SessionTime {
    anchor + (isCut ? time(ofStep: steps).sinceBeginning : time(ofStep: fileStep) - time(ofStep: anchorStep))
  }

  /// Time in the file of an instant of the current stretch. All of a cut is one instant.
  func fileTime(of instant: SessionTime) -> SessionTime {
    isCut ? time(ofStep: fileStep) : time(ofStep: anchorStep) + (instant - anchor)
  }

  /// Makes a step, in the file unless this is a cut.
  mutating func step() {
    if isCut { steps += 1 } else { fileStep += 1 }
  }

  /// From this instant on time stands still in the file, where the next slot begins.
  mutating func cut(at instant: SessionTime) {
    isCut = true
    fileStep = (fileStep + stepsPerSlot - 1) / stepsPerSlot * stepsPerSlot
    anchor = instant
    steps = 0
  }

  /// The cut ends: the next slot shows this instant.
  mutating func join(at instant: SessionTime) {
    isCut = false
    anchor = instant
    anchorStep = fileStep
  }
}
