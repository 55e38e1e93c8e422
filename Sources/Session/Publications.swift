import MediaCore

/// What is published in the room, found by publication, by publisher, and by what there is to do. Only what has frames
/// waiting, has changed, or is due to be asked for costs anything when time moves on; all the rest sleeps.
struct Publications: Sendable {
  private var indices: [TrackID: Int] = [:]
  /// At `nowhere` there is nothing.
  private var states: [TrackState?] = [nil]
  /// The place of what is not published.
  private static let nowhere = 0
  private var free: [Int] = []
  private var owned: [ParticipantIdentity: [TrackID]] = [:]
  private var nextOrder = 0
  /// Places in `states` of those to look at in the next round.
  private var awake: [Int] = []
  private var alarms = Alarms()
  /// Places of the videos that should flow.
  private var watched: Set<Int> = []
  /// Places of the screens that are shared and not muted.
  private var screens: Set<Int> = []
  /// Publishers of whom something has changed that a layout may show, since `takeChanged`.
  private var changed: Set<ParticipantIdentity> = []
  /// Places of the videos that are announced.
  private var videos: Set<Int> = []
  /// Who shares the screen that was announced last; nil: nobody shares one.
  private(set) var presenter: ParticipantIdentity?
  /// Publications that were looked at, for tests of what a frame costs.
  private(set) var looks: UInt64 = 0

  /// The state of a publication; also of one whose frames came before its announcement counts. It is taken away by
  /// `remove`, never by setting it to nil.
  subscript(id: TrackID) -> TrackState? {
    // One `yield` each: with two the compiler cannot inline them, and each access allocates memory.
    @inline(__always) _read { yield states[indices[id] ?? Self.nowhere] }
    @inline(__always) _modify {
      let index = indices[id] ?? Self.nowhere
      let (owner, revision) = (states[index]?.track.participant, states[index]?.revision)
      yield &states[index]
      if index != Self.nowhere {
        update(index, id, owner: owner, revision: revision)
      } else if let state = states[index] {
        states[index] = nil
        insert(id, state)
      }
    }
  }

  /// All that is announced, in the order of the announcements. Costs as much as there is.
  var announced: [TrackID] {
    states.compactMap { $0 }.filter { $0.order != nil }.sorted { ($0.order ?? 0) < ($1.order ?? 0) }.map(\.track.id)
  }

  /// The videos that should flow, in the order of their announcements.
  var flowingVideos: [TrackID] {
    let found = watched.compactMap { index in states[index].map { ($0.order ?? 0, $0.track.id) } }
    return found.sorted { $0.0 < $1.0 }.map(\.1)
  }

  /// How many videos are announced.
  var videoCount: Int { videos.count }

  /// What somebody publishes, in the order of the announcements; with it what is not announced yet.
  func owned(by identity: ParticipantIdentity) -> [TrackID] { owned[identity] ?? [] }

  /// Gives a publication the next place in the order of announcements; false when it has one.
  mutating func announce(_ id: TrackID) -> Bool {
    guard let index = indices[id], let state = states[index], state.order == nil else { return false }
    states[index]?.order = nextOrder
    nextOrder += 1
    let owner = state.track.participant
    owned[owner]?.removeAll { $0 == id }
    owned[owner, default: []].append(id)
    sort(index, state.track.participant)
    return true
  }

  /// A publication is gone; gives what was known.
  mutating func remove(_ id: TrackID) -> TrackState? {
    guard let index = indices.removeValue(forKey: id), let state = states[index] else { return nil }
    let wasPresenting = screens.remove(index) != nil
    watched.remove(index)
    disown(id, state.track.participant)
    videos.remove(index)
    states[index] = nil
    // The place is used again only when nobody has it on a list any more.
    if !state.isAwake { free.append(index) }
    changed.insert(state.track.participant)
    if wasPresenting { findPresenter() }
    return state
  }

  /// Publishers of whom something has changed since the last call.
  mutating func takeChanged() -> Set<ParticipantIdentity> {
    defer { if !changed.isEmpty { changed = [] } }
    return changed
  }

  /// Has a publication looked at in the next round.
  mutating func wake(_ id: TrackID) {
    if let index = indices[id] { wake(index) }
  }

  /// What there is to look at, in the order of the announcements: what has frames waiting, what has changed, and what
  /// set itself an alarm until `time`. Each must be given back to `rest`.
  mutating func takeAwake(until time: SessionTime) -> [TrackID] {
    while let index = alarms.next(until: time) {
      states[index]?.alarm = nil
      wake(index)
    }
    var found: [(order: Int, id: TrackID)] = []
    found.reserveCapacity(awake.count)
    for index in awake {
      guard let id = states[index]?.track.id else {
        free.append(index)
        continue
      }
      states[index]?.isAwake = false
      if let order = states[index]?.order { found.append((order, id)) }
    }
    awake.removeAll(keepingCapacity: true)
    found.sort { $0.order < $1.order }
    looks &+= UInt64(found.count)
    return found.map(\.id)
  }

  /// A publication has been looked at: while it has something waiting it is looked at in each round, else at `alarm`
  /// (nil: not before something changes).
  mutating func rest(_ id: TrackID, until alarm: SessionTime?) {
    guard let index = indices[id] else { return }
    if states[index]?.hasWaiting == true { return wake(index) }
    guard let alarm, states[index]?.alarm.map({ alarm < $0 }) ?? true else { return }
    states[index]?.alarm = alarm
    alarms.add(alarm, index)
  }

  // MARK: Bookkeeping

  private mutating func insert(_ id: TrackID, _ state: TrackState) {
    let index: Int
    if let place = free.popLast() {
      index = place
      states[index] = state
    } else {
      index = states.count
      states.append(state)
    }
    indices[id] = index
    owned[state.track.participant, default: []].append(id)
    sort(index, state.track.participant)
  }

  private mutating func update(_ index: Int, _ id: TrackID, owner: ParticipantIdentity?, revision: UInt64?) {
    if states[index]?.hasWaiting == true { wake(index) }
    guard states[index]?.revision != revision, let new = states[index]?.track.participant else { return }
    if let owner, owner != new {
      // A server that gives a publication to somebody else.
      disown(id, owner)
      changed.insert(owner)
      owned[new, default: []].append(id)
    }
    sort(index, new)
  }

  /// Puts a publication on the lists that it belongs to.
  private mutating func sort(_ index: Int, _ owner: ParticipantIdentity) {
    guard let state = states[index] else { return }
    wake(index)
    guard state.order != nil else { return }
    changed.insert(owner)
    if state.track.kind == .video { videos.insert(index) } else { videos.remove(index) }
    if state.isWatched { watched.insert(index) } else { watched.remove(index) }
    let isShared = state.track.source == .screenShare && !state.track.isMuted
    if isShared != screens.contains(index) {
      if isShared { screens.insert(index) } else { screens.remove(index) }
      findPresenter()
    } else if isShared {
      findPresenter()
    }
  }

  private mutating func disown(_ id: TrackID, _ owner: ParticipantIdentity) {
    owned[owner]?.removeAll { $0 == id }
    if owned[owner]?.isEmpty == true { owned[owner] = nil }
  }

  private mutating func findPresenter() {
    let newest = screens.max { (states[$0]?.order ?? -1) < (states[$1]?.order ?? -1) }
    presenter = newest.flatMap { states[$0]?.track.participant }
  }

  private mutating func wake(_ index: Int) {
    guard states[index]?.isAwake == false else { return }
    states[index]?.isAwake = true
    awake.append(index)
  }
}

/// Instants at which something is to be looked at: a binary heap, the earliest first.
private struct Alarms: Sendable {
  private var heap: [(time: SessionTime, index: Int)] = []

  mutating func add(_ time: SessionTime, _ index: Int) {
    heap.append((time, index))
    var child = heap.count - 1
    while child > 0, heap[child].time < heap[(child - 1) / 2].time {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Takes the earliest out, if it is not later than `time`.
  mutating func next(until time: SessionTime) -> Int? {
    guard let first = heap.first, first.time <= time else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in (2 * parent + 1)...(2 * parent + 2) where child < heap.count && heap[child].time < heap[least].time {
        least = child
      }
      guard least != parent else { return first.index }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
