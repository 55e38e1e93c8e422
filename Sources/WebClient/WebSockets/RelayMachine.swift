import MediaCore

/// When a relay dials, and what it says of it. Pure.
///
///     dialling --opened--> carrying --closed--> waiting --> dialling; all --ended--> over
struct RelayMachine: Sendable {
  /// What happens.
  enum Event: Sendable {
    /// The WebSocket takes messages.
    case opened
    /// It is over, or did not come about.
    case closed(String)
    /// Nothing more comes of what is given on, or nobody wants it.
    case ended
  }

  /// What is to be done.
  enum Action: Hashable, Sendable {
    /// Open a WebSocket, after this time.
    case dial(after: Duration)
    /// Become a reader, and give on.
    case carry
    /// Say this.
    case tell(SinkRelay.News)
    /// Close.
    case end
  }

  /// Between two attempts, doubled each time.
  static let first = Duration.seconds(1), longest = Duration.seconds(30)
  /// What was open for so long has worked.
  static let worked = Duration.seconds(10)

  private var delay = first
  private var openedAt: Instant?
  private var hasFailed = false
  /// Why nothing is given on now; nil while it is, and before the first attempt has failed.
  private(set) var trouble: String?
  /// True when nothing is to be done any more.
  private(set) var isOver = false

  /// What is to be done at the beginning.
  static let beginning = Action.dial(after: .zero)

  /// Takes what happened at `now`; gives what is to be done.
  mutating func handle(_ event: Event, at now: Instant) -> [Action] {
    guard !isOver else { return [] }
    switch event {
    case .opened:
      (openedAt, trouble) = (now, nil)
      return [.carry] + (hasFailed ? [.tell(.connected)] : [])
    case .closed(let reason):
      if let openedAt, now - openedAt >= Self.worked { delay = Self.first }
      // Once for each time at which it was open: who is never there is not told of again and again.
      let isNews = openedAt != nil || !hasFailed
      (openedAt, hasFailed, trouble) = (nil, true, reason)
      defer { delay = min(delay * 2, Self.longest) }
      return (isNews ? [.tell(.lost(reason))] : []) + [.dial(after: delay)]
    case .ended:
      isOver = true
      return [.end]
    }
  }
}
