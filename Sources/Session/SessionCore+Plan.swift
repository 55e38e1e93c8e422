import Layouts
import MediaCore

/// The tiles' places, and what they were worked out from.
struct Arrangement: Sendable {
  var sources: [LayoutSource]
  var talker: TileKey?
  var layers: [VideoLayer]
}

// MARK: - From state to plan

extension SessionCore {
  /// What is shown at one output instant.
  mutating func makePlan(slot: Int64, at time: SessionTime) -> FramePlan {
    let sources = layoutSources(at: time)
    let talkerKey = talkers.talker.map { TileKey.camera($0) }
    if arrangement?.sources != sources || arrangement?.talker != talkerKey {
      let layers = arrange(layout: layout, canvas: settings.canvas, sources: sources, talker: talkerKey)
      arrangement = Arrangement(sources: sources, talker: talkerKey, layers: layers)
    }
    let tiles = (arrangement?.layers ?? []).compactMap { tile(in: $0, at: time) }
    return FramePlan(
      slot: slot, time: time, tiles: tiles, participants: participants.count,
      talker: talkers.talker.flatMap { identity in
        participants.first { $0.identity == identity }?.displayName
      }, layout: layout, isReconnecting: lostSince != nil)
  }

  /// Everybody's camera in the order in which they came, and the screens that are shared.
  private func layoutSources(at time: SessionTime) -> [LayoutSource] {
    var sources: [LayoutSource] = []
    for participant in participants {
      sources.append(source(.camera(participant.identity)))
      if newestTrack(of: participant.identity, source: .screenShare) != nil {
        sources.append(source(.screenShare(participant.identity)))
      }
    }
    return sources
  }

  private func source(_ key: TileKey) -> LayoutSource {
    guard let state = track(for: key).flatMap({ tracks[$0] }), state.shown != nil else {
      return LayoutSource(key: key, hasPicture: false)
    }
    return LayoutSource(key: key, pictureWidth: state.displayWidth, pictureHeight: state.displayHeight)
  }

  /// The publication that a tile shows: the newest of that person and source, so that a track published again keeps
  /// its tile; an enabled one goes before a disabled one.
  private func newestTrack(of identity: ParticipantIdentity, source: TrackSource) -> TrackID? {
    var newest: TrackID?
    var newestEnabled: TrackID?
    for id in trackOrder {
      guard let track = tracks[id]?.track, track.participant == identity, track.kind == .video else { continue }
      // Pictures of an unknown source are as good as a camera's.
      let matches = track.source == source || (source == .camera && track.source == .unknown)
      guard matches else { continue }
      newest = id
      if !track.isMuted { newestEnabled = id }
    }
    return newestEnabled ?? newest
  }

  private func track(for key: TileKey) -> TrackID? {
    guard let identity = key.participant else { return nil }
    return newestTrack(of: identity, source: key.isScreenShare ? .screenShare : .camera)
  }

  private func tile(in layer: VideoLayer, at time: SessionTime) -> PlannedTile? {
    guard let identity = layer.key.participant else {
      return PlannedTile(
        layer: layer, identity: ParticipantIdentity(""), name: "", content: .card(.overflow), isMuted: false,
        isTalking: false, isDimmed: false)
    }
    guard let participant = participants.first(where: { $0.identity == identity }) else { return nil }
    let (content, isDimmed) = content(of: layer.key, at: time)
    let isScreen = layer.key.isScreenShare
    return PlannedTile(
      layer: layer, identity: identity, name: participant.displayName, content: content,
      isMuted: !isScreen && !isHeard(identity), isTalking: !isScreen && talkers.isTalking(identity),
      isDimmed: isDimmed)
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
    let isLate = time - (state.lastFrameAt ?? state.enabledSince) >= patience
    if isLate { return (.card(state.isPaused ? .lowBandwidth : .noSignal), false) }
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
