/// The faults in force, and what they mean for a participant or a join. Pure; the owner ends each by its number.
struct Faults {
  /// What one fault does.
  enum Effect: Hashable, Sendable {
    case signalCut(SignalCut)
    case mediaCut
    case updatesDropped
    case descriptionsDelayed(Duration)
    /// Tokens from before this time (seconds since 1970) count as expired.
    case tokensExpired(Int64)
    /// In bits per second.
    case bandwidth(Int)
  }

  /// What all faults together do to one participant.
  struct Condition: Hashable, Sendable {
    /// The signal connection is open, but silent.
    var isSilent = false
    /// Media is cut.
    var isMediaCut = false
    /// No news are sent.
    var isDeaf = false
    /// Offers, answers and candidates are held back so long.
    var delay = Duration.zero
    /// What reaches the subscriber, in bits per second.
    var bandwidth: Int?
  }

  private struct Entry {
    var number: Int
    var target: TestTarget
    var effect: Effect
  }

  private struct Busy {
    var number: Int
    var room: String?
    var status: Int
  }

  private var entries: [Entry] = []
  private var busy: [Busy] = []
  private var limits: [String: Int] = [:]
  private var last = 0

  /// True when nothing is wrong.
  var isEmpty: Bool { entries.isEmpty && busy.isEmpty && limits.isEmpty }

  /// Begins a fault; gives its number.
  mutating func begin(_ effect: Effect, _ target: TestTarget) -> Int {
    last += 1
    entries.append(Entry(number: last, target: target, effect: effect))
    return last
  }

  /// Begins to refuse joins of a room, or of all.
  mutating func refuse(status: Int, room: String?) -> Int {
    last += 1
    busy.append(Busy(number: last, room: room, status: status))
    return last
  }

  /// Ends a fault; harmless when it has ended already.
  mutating func end(_ number: Int) {
    entries.removeAll { $0.number == number }
    busy.removeAll { $0.number == number }
  }

  /// Ends all effects of one kind on a target.
  mutating func end(_ target: TestTarget, where isMeant: (Effect) -> Bool) {
    entries.removeAll { $0.target == target && isMeant($0.effect) }
  }

  /// Limits a room; nil lifts the limit.
  mutating func setLimit(_ limit: Int?, room: String) { limits[room] = limit }

  /// The limit of a room, if a fault sets one.
  func limit(room: String) -> Int? { limits[room] }

  /// Ends everything.
  mutating func removeAll() {
    entries.removeAll()
    busy.removeAll()
    limits.removeAll()
  }

  /// What a participant suffers.
  func condition(room: String, identity: String) -> Condition {
    var condition = Condition()
    for entry in entries where entry.target.covers(room: room, identity: identity) {
      switch entry.effect {
      case .signalCut(let mode): condition.isSilent = condition.isSilent || mode == .silent
      case .mediaCut: condition.isMediaCut = true
      case .updatesDropped: condition.isDeaf = true
      case .descriptionsDelayed(let time): condition.delay = max(condition.delay, time)
      case .bandwidth(let bits): condition.bandwidth = min(condition.bandwidth ?? bits, bits)
      case .tokensExpired: break
      }
    }
    return condition
  }

  /// Why a join is refused; nil lets it in. `issued` is the token's `nbf`, in seconds since 1970.
  func refusal(room: String, identity: String, issued: Int64?) -> JoinGate.Refusal? {
    if let busy = busy.first(where: { ($0.room ?? room) == room }) {
      return JoinGate.Refusal(status: busy.status, text: "the server is busy, on command of the test API")
    }
    for entry in entries where entry.target.covers(room: room, identity: identity) {
      switch entry.effect {
      case .signalCut: return JoinGate.Refusal(status: 503, text: "signalling is cut, on command of the test API")
      case .tokensExpired(let time) where (issued ?? 0) <= time: return .expired
      default: break
      }
    }
    return nil
  }
}
