import SDP

/// The candidates that were gathered since ICE began or was restarted, and which of them the peer has still to be told.
///
/// A description's text must reach the peer before the candidates that are not in it, so they are held back while one is
/// in the making:
/// ```
///            hold                        release
///   telling ──────▶ holding ── describe ────────▶ telling
/// ```
struct LocalCandidates {
  /// All of them, in the order of gathering.
  private(set) var all: [CandidateAttribute] = []
  /// No more will come.
  private(set) var isComplete = false
  private var isHolding = false
  private var held: [String] = []
  private var holdsEnd = false

  /// ICE begins again, or for the first time: those of before count no more.
  mutating func restart() { self = LocalCandidates(isHolding: isHolding) }

  /// Begins to hold candidates back: a description is in the making.
  mutating func hold() { isHolding = true }

  /// Takes one that was gathered. True when the peer is to be told now.
  mutating func gathered(_ candidate: CandidateAttribute) -> Bool {
    all.append(candidate)
    if isHolding { held.append(candidate.description) }
    return !isHolding
  }

  /// No more will come. True when the peer is to be told now.
  mutating func finished() -> Bool {
    isComplete = true
    holdsEnd = isHolding
    return !isHolding
  }

  /// The description takes along what was gathered so far, but for the last one when that is to follow it and is not the
  /// only one. Gives how many follow.
  mutating func describe(keepsOneBack: Bool) -> Int {
    let kept = keepsOneBack && held.count > 1 ? 1 : 0
    held = Array(held.suffix(kept))
    return kept
  }

  /// The description is on its way: gives what was held back since, and whether the end is to be told too.
  mutating func release() -> (candidates: [String], isEnd: Bool) {
    defer { (isHolding, held, holdsEnd) = (false, [], false) }
    return (held, holdsEnd)
  }

  init() {}

  private init(isHolding: Bool) { self.isHolding = isHolding }
}
