import Layouts
import MediaCore

// MARK: - From state to plan

extension SessionCore {
  /// What one of the pictures shows at an output instant.
  mutating func makePlan(of number: Int, at time: SessionTime) -> FramePlan {
    let layout = pictures[number].layout
    var plan = FramePlan(
      slot: clock.slot, time: clock.fileTime(of: time), sessionTime: time, participants: people.count,
      talker: talkers.talker.flatMap { people[$0]?.displayName }, layout: layout.name,
      isReconnecting: lostSince != nil)
    plan.theme = layout.theme
    plan.pause = pause
    guard pause == nil else { return plan }
    if lostSince == nil { plan.talking = talkers.talking }
    let arrangement = arrange(number, at: time)
    plan.scene = arrangement.scene
    plan.background = arrangement.background
    let pinned = talkers.pinned.isEmpty ? [] : held.tiles(among: people).keys
    var shown: Set<TrackID> = []
    for layer in pictures[number].motion.place(arrangement.layers, at: time) {
      guard var tile = tile(in: layer, at: time) else { continue }
      tile.isPinned = pinned.contains(layer.key)
      plan.tiles.append(tile)
      if layer.look.video, let id = track(for: layer.key) { shown.insert(id) }
    }
    pictures[number].shown = shown
    plan.overlays = arrangement.overlays.map { PlannedOverlay(overlay: $0, text: text(of: $0, at: plan)) }
    return plan
  }

  /// Tells which publications have a tile in some picture, if that has changed.
  mutating func noteView() {
    guard pause == nil else { return }
    let shown = pictures.dropFirst().reduce(pictures[0].shown) { $0.union($1.shown) }
    guard shown != inView else { return }
    // What comes into view may have something to be asked for.
    for id in shown.subtracting(inView) { tracks.wake(id) }
    inView = shown
    emit(.view(shown))
  }

  /// The places of the tiles of a picture.
  private mutating func arrange(_ number: Int, at time: SessionTime) -> Arrangement {
    updateLayoutInput(at: time)
    let before = pictures[number].scene
    let result = pictures[number].arrange(layoutInput.view, revision: layoutInput.revision, at: time)
    // The timeline tells of the recording's own picture.
    if number == 0, let before, before != result.scene { note(.scene(result.scene), at: time) }
    return result
  }

  /// Brings what the layouts are asked about up to date.
  private mutating func updateLayoutInput(at time: SessionTime) {
    var hasNews = false
    for identity in tracks.takeChanged().union(people.takeChanged()) where show(identity) { hasNews = true }
    let basis = LayoutInput.Basis(
      ranking: talkers.ranking, people: people.revision, pins: pins, spotlight: spotlight)
    guard hasNews || !layoutInput.isMade(of: basis) else { return }
    let listed = activeTalkers(at: time).map { Set($0) }
    let pinned = held.tiles(among: people)
    layoutInput.renew(
      RoomView(
        sources: people.sources(listed: listed), talkers: talkers.ranking.map { TileKey.camera($0) },
        pinned: pinned.keys, spotlight: pinned.spotlight), of: basis)
  }

  /// Works out what a layout may show of somebody; true when that is new.
  private mutating func show(_ identity: ParticipantIdentity) -> Bool {
    guard let participant = people[identity] else { return false }
    let cameras = pictures(of: identity, .camera)
    let screens = pictures(of: identity, .screenShare)
    var shown = [source(.camera(identity), of: participant, cameras.first?.track)]
    for camera in cameras.dropFirst() {
      shown.append(source(.camera(identity, name: camera.name), of: participant, camera.track))
    }
    return people.show(
      identity, cameras: shown,
      screens: screens.enumerated().map { number, screen in
        source(.screenShare(identity, name: number == 0 ? "" : screen.name), of: participant, screen.track)
      })
  }

  private func source(_ key: TileKey, of participant: Participant, _ id: TrackID?) -> LayoutSource {
    var source = LayoutSource(
      key: key, hasPicture: false, displayName: participant.displayName, isPublished: false)
    guard let id, let state = tracks[id] else { return source }
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
      let seconds = plan.time.milliseconds / 1000
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
    for id in tracks.owned(by: identity) where tracks[id]?.order != nil {
      guard let track = tracks[id]?.track, track.kind == .video,
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
  func track(for key: TileKey) -> TrackID? { people.track(for: key) }

  private func tile(in layer: VideoLayer, at time: SessionTime) -> PlannedTile? {
    guard let identity = layer.key.participant else {
      var reason = PlaceholderReason.overflow
      if case .empty = layer.key { reason = .empty }
      return PlannedTile(
        layer: layer, identity: ParticipantIdentity(""), name: "", content: .card(reason), isMuted: false,
        isTalking: false, isDimmed: false)
    }
    guard let participant = people[identity] else { return nil }
    let (content, isDimmed) = content(of: layer.key, at: time)
    let isScreen = layer.key.isScreenShare
    let isHeard = isScreen || isHeard(identity)
    var tile = PlannedTile(
      layer: layer, identity: identity, name: participant.displayName, content: content,
      // A card of an outage says nothing of the microphone: nobody knows.
      isMuted: !isHeard && content != .card(.reconnecting),
      // Nor does anybody know then who talks. And whoever cannot be heard does not, whatever the room says.
      isTalking: !isScreen && lostSince == nil && isHeard && talkers.isTalking(identity),
      isDimmed: isDimmed)
    tile.isLowBandwidth = track(for: layer.key).flatMap { tracks[$0]?.isHeldBack } ?? false
    if !isScreen { tile.avatar = participant.avatar }
    tile.level = isScreen ? 0 : talkers.meter(identity)
    tile.processor = processing.inForce[identity]?.video
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
    if state.track.obstacle == .encrypted { return (.card(.encrypted), false) }
    guard state.isSubscribed else {
      // A subscription takes a moment; the card says so before it says that something is wrong.
      return (.card(time - state.enabledSince < .seconds(2) ? .starting : .notReceived), false)
    }
    if state.reception == .lowBandwidth { return (.card(.lowBandwidth), false) }
    if state.reception == .hidden { return (standIn(for: state), false) }
    if let form = state.unsupported { return (.card(.unsupportedCodec(form)), false) }
    let isLate = time - (state.lastFrameAt ?? state.enabledSince) >= patience
    // What is held back by the service stops at once, and says so.
    let isStopped = state.isPaused && time - (state.lastFrameAt ?? state.enabledSince) >= .milliseconds(500)
    if isLate || isStopped { return (.card(state.isPaused ? .lowBandwidth : .noSignal), false) }
    guard let shown = state.shown else { return (standIn(for: state), false) }
    return (.picture(shown.id, state.track.id), false)
  }

  /// What stands in for the first picture of a track: what was last known of one that comes into view again, and until
  /// its first picture nothing but the name.
  private func standIn(for state: TrackState) -> PlannedContent {
    if let known = state.lastKnown { return .picture(known, state.track.id) }
    return .card(state.wasHidden ? .arriving : .starting)
  }

  /// True when some sound track of the person is subscribed and enabled; during an outage: was, before it.
  private func isHeard(_ identity: ParticipantIdentity) -> Bool {
    for id in tracks.owned(by: identity) {
      guard let state = tracks[id], state.order != nil, state.track.kind == .audio else { continue }
      if state.track.source != .screenShareAudio, state.isEnabled { return true }
    }
    return false
  }
}
