import MediaCore

/// What is wanted of the room's videos, and how many of them the connection carries: the two policies, and when they are asked.
struct ReceptionControl: Sendable {
  /// How often it is looked at what is wanted.
  private static let interval = Duration.milliseconds(200)

  private var policy: ReceptionPolicy
  private var bandwidth = BandwidthPolicy()
  private let takesAll: Bool
  /// Whether videos that no layout uses are of use all the same.
  private let keepsPictures: Bool
  /// True while a layout that uses pictures has arrived and does not count yet.
  private var isExpecting = false
  /// True while smaller sizes have to do, and what nobody sees is not received.
  var isThrifty = false
  /// When to look next.
  private var next = SessionTime.zero
  /// Videos that should come at present.
  private var videos = 0
  /// The way that media took when it was told last.
  private var path: NetworkPath?

  /// Wants as much as the settings say.
  init(_ settings: SessionCore.Settings) {
    policy = ReceptionPolicy(settings: .init(mode: settings.receive))
    takesAll = settings.receive == .best
    keepsPictures = settings.keepsPictures
  }

  /// Takes what the connection says of itself; gives the way of media when that is another one than before.
  mutating func take(_ report: NetworkReport, at now: SessionTime) -> NetworkPath? {
    bandwidth.update(report, videos: videos, at: now)
    guard let new = report.path, new != path else { return nil }
    path = new
    return new
  }

  /// The connection was lost, and is there again.
  mutating func interrupted(at now: SessionTime) { bandwidth.interrupted(at: now) }

  /// A track is gone.
  mutating func forget(_ id: TrackID) { policy.forget(id) }

  /// Whether a layout that uses pictures is on its way, where none does. If so, it is looked with the next instant that is planned.
  mutating func expectPictures(_ isExpecting: Bool) {
    self.isExpecting = isExpecting
    if isExpecting { next = .zero }
  }

  /// True when it is time to look; the next time is later.
  mutating func isDue(at time: SessionTime) -> Bool {
    guard time >= next else { return false }
    next = time + Self.interval
    return true
  }

  /// What is new of what is wanted of these videos, and whether the connection carries them. `usesPictures`: some layout does.
  mutating func update(
    _ candidates: [ReceptionPolicy.Candidate], usesPictures: Bool, at time: SessionTime, isPaused: (TrackID) -> Bool
  ) -> (wishes: [ReceptionWish], alert: BandwidthAlert?) {
    // Then nobody has a use for those without a tile, whatever the mode.
    let isUnused = !keepsPictures && !usesPictures && !isExpecting
    let seen = candidates.filter { $0.isFlowing && ($0.width > 0 || takesAll && !isUnused) }
    videos = seen.count
    let wishes = policy.update(candidates, limit: bandwidth.limit, isThrifty: isThrifty || isUnused, at: time)
    return (wishes, bandwidth.alert(videos: videos, paused: seen.count { isPaused($0.track) }))
  }
}
