import MediaCore
import Session

/// Decides what a recording does without: a step more as long as it takes more of the processor than it may or falls behind, and
/// a step less when there has been room for a while. A pure value.
struct LoadControl: Sendable {
  /// How a recording stands.
  struct Load: Sendable {
    /// What it took of a core since the look before.
    var share: Double
    /// How far its work is behind, beyond what it waits for on purpose.
    var behind: Duration
    /// True when pictures were lost since the look before, because it was too far behind.
    var losesPictures = false
  }

  /// How often it is looked: so long a share is measured over.
  static let interval = Duration.seconds(1)
  /// A recording that is further behind does not keep up, if it does not catch up either.
  static let mostBehind = Duration.milliseconds(500)
  /// A share below so much of the budget leaves room for a step less.
  static let roomAt = 0.8
  /// So many looks in a row have to say the same before there is a step more: what a step saves is seen by then, too.
  static let patience = 3
  /// So many have to say that there is room before there is a step less, at first.
  static let calm = 10
  /// A step less that did not last is tried again after twice as many looks; after so many at most.
  static let longestCalm = 160

  /// What the recording does without.
  private(set) var step = DegradationStep.none
  /// True once even the last step has not been enough.
  private(set) var isExhausted = false
  /// What of a core it may take; nil: whatever there is.
  private let budget: Double?
  private var strained = 0
  private var easy = 0
  private var calm = LoadControl.calm
  private var behind = Duration.zero
  /// Looks since the last step less; nil when a step more came after it.
  private var sinceRelief: Int?

  /// Begins with nothing left out. `budget`: cores, more than 0; nil: only what is behind counts.
  init(budget: Double?) { self.budget = budget }

  /// Takes a look at the load, one each `interval`; gives the new step when that is another one.
  mutating func look(at load: Load) -> DegradationStep? {
    sinceRelief = sinceRelief.map { $0 + 1 }
    let isCatchingUp = load.behind < behind
    behind = load.behind
    let isLate = load.behind > Self.mostBehind && !isCatchingUp
    let isOver = budget.map { load.share > $0 } ?? false
    let hasRoom =
      !load.losesPictures && load.behind <= Self.mostBehind && (budget.map { load.share < $0 * Self.roomAt } ?? true)
    // Pictures that are lost let it catch up, and hide how little it can do.
    strained = load.losesPictures ? Self.patience : isLate || isOver ? strained + 1 : 0
    easy = hasRoom ? easy + 1 : 0
    if strained >= Self.patience {
      guard let next = step.next else {
        isExhausted = true
        return nil
      }
      // A step less that did not last is not tried again so soon.
      if let since = sinceRelief { calm = since < calm ? min(calm * 2, Self.longestCalm) : Self.calm }
      sinceRelief = nil
      return change(to: next)
    }
    guard easy >= calm, let previous = step.previous else { return nil }
    // The step less before this one lasts.
    if let since = sinceRelief, since >= calm { calm = max(Self.calm, calm / 2) }
    sinceRelief = 0
    return change(to: previous)
  }

  private mutating func change(to new: DegradationStep) -> DegradationStep {
    (step, strained, easy) = (new, 0, 0)
    return new
  }
}
