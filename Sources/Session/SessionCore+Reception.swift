import Layouts
import MediaCore

// MARK: - What is received, and what people send

extension SessionCore {
  /// Applies what the connection and the people say beside their media.
  mutating func applyMessage(_ event: RoomEvent, at now: SessionTime) {
    switch event {
    case .trackReception(let id, let new):
      guard let state = tracks[id], state.reception != new else { return }
      tracks[id]?.receive(new, now: now)
      let isLow = new == .lowBandwidth
      if isLow != (state.reception == .lowBandwidth), !state.isPaused {
        note(.lowBandwidth(id, state.track.participant, isLow), at: now)
      }
    case .network(let report):
      if let path = reception.take(report, at: now) { note(.path(path), at: now) }
    case .data(let message): noteMessage(.data(message, name: name(message.participant)), at: now)
    case .chat(let chat): noteMessage(.chat(chat, name: name(chat.participant)), at: now)
    case .caption(let caption): noteMessage(.caption(caption, name: name(caption.participant)), at: now)
    default: break
    }
  }

  /// What is said while the recording is paused is not recorded.
  private mutating func noteMessage(_ event: TimelineEvent, at now: SessionTime) {
    if pause == nil { note(event, at: now) }
  }

  private func name(_ identity: ParticipantIdentity?) -> String {
    guard let identity else { return "" }
    return people[identity]?.displayName ?? identity.rawValue
  }

  /// Says what is wanted of the video tracks, and how many of them the connection carries.
  mutating func updateReception(at time: SessionTime) {
    guard reception.isDue(at: time) else { return }
    // A slate or an outage says nothing about what is wanted.
    guard pause == nil, lostSince == nil, pictures[0].arrangement != nil else { return }
    let candidates = candidates(pictures.flatMap { $0.arrangement?.result.layers ?? [] })
    let tracks = tracks
    let (wishes, alert) = reception.update(
      candidates, usesPictures: usesPictures, at: time
    ) { tracks[$0]?.isPaused ?? false }
    if !wishes.isEmpty { emit(.receive(wishes)) }
    if let alert { note(.bandwidth(alert), at: time) }
  }

  /// The videos that flow, with the size in which they are shown and their importance: pinned, then screens, then
  /// those who talk or have talked, then the others who are seen.
  private mutating func candidates(_ layers: [VideoLayer]) -> [ReceptionPolicy.Candidate] {
    var shown: [TrackID: (width: Int, height: Int, rank: Int)] = [:]
    let meant = held.tiles(among: people)
    let pinned = Set(meant.keys + [meant.spotlight].compactMap { $0 })
    for layer in layers where layer.look.video {
      guard let id = track(for: layer.key), let state = tracks[id] else { continue }
      let (width, height) = Self.pictureSize(in: layer, state.displayWidth, state.displayHeight)
      let rank = rank(of: layer.key, isPinned: pinned.contains(layer.key))
      let old = shown[id] ?? (0, 0, rank)
      shown[id] = (max(old.width, width), max(old.height, height), min(old.rank, rank))
    }
    return tracks.flowingVideos.map { id in
      let (width, height, rank) = shown[id] ?? (0, 0, 200)
      return ReceptionPolicy.Candidate(track: id, width: width, height: height, rank: rank)
    }
  }

  private func rank(of key: TileKey, isPinned: Bool) -> Int {
    if isPinned { return 0 }
    if key.isScreenShare { return 1 }
    let place = talkers.ranking.prefix(90).firstIndex { $0 == key.participant }
    return place.map { 2 + $0 } ?? 100
  }

  /// The size at which a tile shows a picture whose shape is known, cut-off parts included; else the tile's.
  static func pictureSize(in layer: VideoLayer, _ width: Int, _ height: Int) -> (width: Int, height: Int) {
    let rect = layer.rect
    guard width > 0, height > 0 else { return (rect.width, rect.height) }
    let isWider = width * rect.height > rect.width * height
    if isWider == (layer.fit == .cover) { return (rect.height * width / height, rect.height) }
    return (rect.width, rect.width * height / width)
  }

  /// Notes the size of a track's pictures when it has changed.
  mutating func noteResolution(of id: TrackID, at time: SessionTime) {
    guard let state = tracks[id], state.displayWidth > 0,
      (state.displayWidth, state.displayHeight) != (state.notedWidth, state.notedHeight)
    else { return }
    tracks[id]?.notedWidth = state.displayWidth
    tracks[id]?.notedHeight = state.displayHeight
    note(
      .resolution(id, state.track.participant, state.track.source, state.displayWidth, state.displayHeight), at: time)
  }

  /// The people whom the picture may show; nil: all.
  mutating func activeTalkers(at time: SessionTime) -> [ParticipantIdentity]? {
    guard let limit = settings.maximumTalkers else { return nil }
    let pinned = (spotlight.map { [$0] } ?? []) + pins
    let list = ActiveTalkers.list(
      present: people.identities, talkers: talkers.ranking, pinned: pinned.compactMap(people.match), limit: limit)
    if notes.tell(active: list) { note(.activeTalkers(list), at: time) }
    return list
  }
}
