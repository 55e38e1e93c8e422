import Layouts
import MediaCore

// MARK: - From state to plan

extension SessionCore {
  /// What is shown at one output instant.
  mutating func makePlan(at time: SessionTime) -> FramePlan {
    var plan = FramePlan(
      slot: clock.slot, time: clock.fileTime(of: time), sessionTime: time, participants: participants.count,
      talker: talkers.talker.flatMap { participant($0)?.displayName }, layout: layout.name,
      isReconnecting: lostSince != nil)
    plan.theme = layout.theme
    plan.pause = pause
    guard pause == nil else { return plan }
    let arrangement = arrange(at: time)
    plan.scene = arrangement.scene
    plan.background = arrangement.background
    let pinned = talkers.pinned.isEmpty ? [] : pins.compactMap(key)
    for layer in motion.place(arrangement.layers, at: time) {
      guard var tile = tile(in: layer, at: time) else { continue }
      tile.isPinned = pinned.contains(layer.key)
      plan.tiles.append(tile)
    }
    plan.overlays = arrangement.overlays.map { PlannedOverlay(overlay: $0, text: text(of: $0, at: plan)) }
    return plan
  }

  /// The places of the tiles, worked out anew when something that moves them has changed.
  private mutating func arrange(at time: SessionTime) -> Arrangement {
    let view = RoomView(
      sources: layoutSources(at: time), talkers: talkers.ranking.map { TileKey.camera($0) },
      pinned: pins.compactMap(key),
      spotlight: spotlight.flatMap(key))
    if let arrangement, arrangement.view == view, arrangement.result.validUntil.map({ time < $0 }) ?? true {
      return arrangement.result
    }
    var timed = view
    timed.time = time
    let result = arranger.arrange(timed)
    motion.follow(result.layers, transition: layout.transition, at: time)
    arrangement = (view, result)
    if let notedScene, notedScene != result.scene { note(.scene(result.scene), at: time) }
    notedScene = result.scene
    return result
  }

  /// The tile that a command means, if its owner is in the room.
  func key(_ selector: TileSelector) -> TileKey? {
    selector.match(participants).map { selector.isScreenShare ? .screenShare($0) : .camera($0) }
  }

  private func participant(_ identity: ParticipantIdentity) -> Participant? {
    participants.first { $0.identity == identity }
  }

  /// The cameras of all whom the picture may show, in the order in which they came, and the screens that are shared.
  private mutating func layoutSources(at time: SessionTime) -> [LayoutSource] {
    let listed = activeTalkers(at: time)
    var sources: [LayoutSource] = []
    tileTracks.removeAll(keepingCapacity: true)
    for participant in participants {
      let identity = participant.identity
      if listed?.contains(identity) ?? true {
        let cameras = pictures(of: identity, .camera)
        tileTracks[.camera(identity)] = cameras.first?.track
        sources.append(source(.camera(identity), of: participant))
        for camera in cameras.dropFirst() {
          let key = TileKey.camera(identity, name: camera.name)
          tileTracks[key] = camera.track
          sources.append(source(key, of: participant))
        }
      }
      for (number, screen) in pictures(of: identity, .screenShare).enumerated() {
        let key = TileKey.screenShare(identity, name: number == 0 ? "" : screen.name)
        tileTracks[key] = screen.track
        sources.append(source(key, of: participant))
      }
    }
    return sources
  }

  private func source(_ key: TileKey, of participant: Participant) -> LayoutSource {
    var source = LayoutSource(
      key: key, hasPicture: false, displayName: participant.displayName, isPublished: false,
      isMuted: !isHeard(participant.identity))
    guard let id = track(for: key), let state = tracks[id] else { return source }
    source.isPublished = true
    source.trackName = state.track.name
    source.trackID = id.rawValue
    guard state.shown != nil else { return source }
    source.hasPicture = true
    source.pictureWidth = state.displayWidth
    source.pictureHeight = state.displayHeight
    return source
  }

  /// The words of an overlay; empty for a picture.
  private func text(of overlay: Overlay, at plan: FramePlan) -> String {
    guard case .text(let what) = overlay.content else { return "" }
    switch what {
    case .title: return title
    case .literal(let words): return words
    case .clock(let format):
      let now = settings.startDate &+ plan.sessionTime.nanoseconds
      return format.text(seconds: now / 1_000_000_000, utcOffset: settings.utcOffset)
    case .elapsed:
      let seconds = plan.time.wholeMilliseconds / 1000
      func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
      let minutes = two(seconds / 60 % 60) + ":" + two(seconds % 60)
      return seconds < 3600 ? minutes : "\(seconds / 3600):" + minutes
    }
  }

  /// One of a person's cameras or screens.
  private struct NamedPicture {
    /// Tells it from the others: the publication's name, or its id when it has none.
    var name: String
    var track: TrackID
    var isMuted: Bool
    var isUnknown: Bool
  }

  /// A person's cameras or screens: the main one, then those of other names that are not muted. What is published
  /// again under the same name takes the old one's place; of two of one name that is the newer, or the one that is
  /// enabled. Pictures of an unknown source are as good as a camera's; the main one is, if possible, enabled and a camera.
  private func pictures(of identity: ParticipantIdentity, _ source: TrackSource) -> [NamedPicture] {
    var found: [NamedPicture] = []
    for id in trackOrder {
      guard let track = tracks[id]?.track, track.participant == identity, track.kind == .video,
        track.source == source || (source == .camera && track.source == .unknown)
      else { continue }
      let name = track.name.isEmpty ? id.rawValue : track.name
      let isSame = { (other: NamedPicture) in
        other.name == name || track.name.isEmpty && tracks[other.track]?.track.name.isEmpty == true
      }
      if let index = found.firstIndex(where: isSame) {
        guard !track.isMuted || found[index].isMuted else { continue }
        found[index].track = id
        found[index].isMuted = track.isMuted
        found[index].isUnknown = track.source == .unknown
      } else {
        found.append(
          NamedPicture(name: name, track: id, isMuted: track.isMuted, isUnknown: track.source == .unknown))
      }
    }
    guard found.count > 1 else { return found }
    let best =
      found.firstIndex { !$0.isMuted && !$0.isUnknown } ?? found.firstIndex { !$0.isMuted }
      ?? found.firstIndex { !$0.isUnknown }
    let main = found.remove(at: best ?? 0)
    return [main] + found.filter { !$0.isMuted }
  }

  /// The publication that a tile of the current plan shows.
  func track(for key: TileKey) -> TrackID? { tileTracks[key] }

  private func tile(in layer: VideoLayer, at time: SessionTime) -> PlannedTile? {
    guard let identity = layer.key.participant else {
      var reason = PlaceholderReason.overflow
      if case .empty = layer.key { reason = .empty }
      return PlannedTile(
        layer: layer, identity: ParticipantIdentity(""), name: "", content: .card(reason), isMuted: false,
        isTalking: false, isDimmed: false)
    }
    guard let participant = participant(identity) else { return nil }
    let (content, isDimmed) = content(of: layer.key, at: time)
    let isScreen = layer.key.isScreenShare
    var tile = PlannedTile(
      layer: layer, identity: identity, name: participant.displayName, content: content,
      isMuted: !isScreen && !isHeard(identity),
      // Nobody knows who talks while the connection is lost.
      isTalking: !isScreen && lostSince == nil && talkers.isTalking(identity),
      isDimmed: isDimmed)
    tile.isLowBandwidth = track(for: layer.key).flatMap { tracks[$0]?.isHeldBack } ?? false
    if !isScreen { tile.avatar = participant.avatar }
    tile.level = isScreen ? 0 : talkers.meter(identity)
    return tile
  }

  /// The truth table: video only when the track is subscribed and enabled and a picture has been decoded.
  private func content(of key: TileKey, at time: SessionTime) -> (content: PlannedContent, isDimmed: Bool) {
    let state = track(for: key).flatMap { tracks[$0] }
    let isScreen = state?.track.source == .screenShare
    let patience = isScreen ? settings.screenNoSignalAfter : settings.noSignalAfter
    if let lostSince {
      // A picture that was too old to be shown before the loss does not come back with it.
      if time - lostSince < settings.dimFor, let state, state.isEnabled, let shown = state.shown,
        lostSince - (state.lastFrameAt ?? lostSince) < patience
      {
        return (.picture(shown.id, state.track.id), true)
      }
      return (.card(.reconnecting), false)
    }
    guard let state else { return (.card(.cameraOff), false) }
    if state.track.isMuted { return (.card(.cameraOff), false) }
    guard state.isSubscribed else {
      // A subscription takes a moment; the card says so before it says that something is wrong.
      return (.card(time - state.enabledSince < .seconds(2) ? .starting : .notReceived), false)
    }
    if state.reception != .wanted { return (.card(state.reception == .hidden ? .starting : .lowBandwidth), false) }
    let isLate = time - (state.lastFrameAt ?? state.enabledSince) >= patience
    // What is held back by the service stops at once, and says so.
    let isStopped = state.isPaused && time - (state.lastFrameAt ?? state.enabledSince) >= .milliseconds(500)
    if isLate || isStopped { return (.card(state.isPaused ? .lowBandwidth : .noSignal), false) }
    guard let shown = state.shown else { return (.card(.starting), false) }
    return (.picture(shown.id, state.track.id), false)
  }

  /// True when some sound track of the person is subscribed and enabled.
  private func isHeard(_ identity: ParticipantIdentity) -> Bool {
    guard lostSince == nil else { return false }
    for id in trackOrder {
      guard let state = tracks[id], state.track.participant == identity, state.track.kind == .audio else { continue }
      if state.track.source != .screenShareAudio, state.isEnabled { return true }
    }
    return false
  }
}
