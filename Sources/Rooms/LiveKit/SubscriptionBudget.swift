import MediaCore

/// Which tracks of one kind are received. In an ordinary room that is all of them. In one that has more than a recorder
/// can use it is a limited number, and whoever is wanted takes the place of the one that has not been wanted for the
/// longest time; what is in view is given up for nobody. Pure; its cost for one track does not depend on how many there
/// are.
struct SubscriptionBudget: Sendable {
  /// What the server is to be told.
  struct Change: Equatable, Sendable {
    /// Send these from now on.
    var wanted: [TrackID] = []
    /// Send these no more.
    var unwanted: [TrackID] = []
  }

  /// So many of one kind are received: a hundred people with two each.
  static let limit = 200
  /// A track that was wanted so lately is not given up for another.
  static let hold = Duration.seconds(10)

  /// True where the server sends every track unless it is told not to, false where it sends none without being asked.
  let isAutomatic: Bool
  /// Those that are received, and when each was last wanted; `distantPast`: never.
  private(set) var received: [TrackID: Instant] = [:]
  /// Those that are not.
  private(set) var omitted: Set<TrackID> = []
  /// Those that the recording shows, published or not.
  private(set) var inView: Set<TrackID> = []
  /// Those of `omitted` in the order in which they came, with some that are not among them any more.
  private var queue: [TrackID] = []
  private var head = 0

  /// Nothing is published. `inView`: what the recording shows.
  init(isAutomatic: Bool, inView: Set<TrackID> = []) {
    self.isAutomatic = isAutomatic
    self.inView = inView
  }

  /// All that are published.
  var all: [TrackID] { Array(received.keys) + omitted }

  /// Takes a track that is published. Of several that are new those should come first that matter most.
  mutating func add(_ track: TrackID, _ change: inout Change) {
    guard received[track] == nil, !omitted.contains(track) else { return }
    if received.count < Self.limit {
      received[track] = .distantPast
      if !isAutomatic { change.wanted.append(track) }
    } else {
      omit(track)
      if isAutomatic { change.unwanted.append(track) }
    }
  }

  /// Forgets a track that is not published any more; another may take its place.
  mutating func remove(_ track: TrackID, _ change: inout Change) {
    omitted.remove(track)
    guard received.removeValue(forKey: track) != nil else { return }
    while head < queue.count {
      let next = queue[head]
      head += 1
      guard omitted.remove(next) != nil else { continue }
      received[next] = .distantPast
      change.wanted.append(next)
      break
    }
    if head > 1024, head * 2 > queue.count {
      queue.removeFirst(head)
      head = 0
    }
  }

  /// The recording shows these from now on, and no others. Those of them that are not received take others' places.
  mutating func view(_ tracks: Set<TrackID>, at now: Instant, _ change: inout Change) {
    for track in inView.subtracting(tracks) where received[track] != nil { received[track] = now }
    inView = tracks
    for track in tracks.intersection(omitted).sorted() { use(track, at: now, &change) }
  }

  /// A track is wanted now: somebody talks, or the recording asks for it.
  mutating func use(_ track: TrackID, at now: Instant, _ change: inout Change) {
    if received[track] != nil {
      received[track] = now
      return
    }
    guard omitted.contains(track), let oldest = leastWanted, now - oldest.value >= Self.hold else { return }
    received[oldest.key] = nil
    omit(oldest.key)
    change.unwanted.append(oldest.key)
    omitted.remove(track)
    received[track] = now
    change.wanted.append(track)
  }

  /// What has not been wanted for the longest time, and is not in view.
  private var leastWanted: (key: TrackID, value: Instant)? {
    received.lazy.filter { !inView.contains($0.key) }.min { ($0.value, $0.key) < ($1.value, $1.key) }
  }

  private mutating func omit(_ track: TrackID) {
    omitted.insert(track)
    queue.append(track)
  }
}
