/// Which local candidates the peer is told of, and when: loopback only when there turns out to be no other one. A value,
/// for one generation of credentials at a time.
struct LoopbackFilter {
  private var holdsLoopback = false
  private var held: [ICECandidate] = []
  private var hasTold = false

  /// Gathering begins. `holdsLoopback`: there are other addresses, of which candidates may come.
  mutating func begin(holdsLoopback: Bool) {
    self.holdsLoopback = holdsLoopback
    (held, hasTold) = ([], false)
  }

  /// Whether the peer is told of a candidate at once; else it is kept until the end of gathering.
  mutating func tellsAtOnce(_ candidate: ICECandidate) -> Bool {
    if holdsLoopback, candidate.isLoopback, candidate.kind == .host {
      held.append(candidate)
      return false
    }
    hasTold = true
    return true
  }

  /// Gathering is done: what the peer is told of now.
  mutating func finish() -> [ICECandidate] {
    defer { held = [] }
    return hasTold ? [] : held
  }
}
