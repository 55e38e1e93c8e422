import MediaCore
import Session

/// Gathers a manifest while a recording is made, live or from a log, of what goes through its pipeline. Confined to the
/// recording's thread.
final class ManifestCollector {
  private(set) var manifest = Manifest()
  private var isPaused = false
  private var isAway = false
  /// How long after its capture somebody's newest sound is heard.
  private var soundDelays: [SoundSource: SoundDelay] = [:]

  /// One of the two sounds that somebody may send: their voice, or that of their screen.
  private struct SoundSource: Hashable {
    var participant: ParticipantIdentity
    var isScreen: Bool

    init(_ track: Manifest.TrackEntry) {
      (participant, isScreen) = (track.participant, track.source == .screenShare || track.source == .screenShareAudio)
    }
  }

  private struct SoundDelay {
    var delay: Duration
    var heard: SessionTime
  }

  /// Sound that was heard longer ago is not what a picture belongs to.
  private static let soundMemory = Duration.seconds(1)

  // MARK: What the room says

  /// Looks at an event as it arrives, for what notes do not tell.
  func prepare(_ event: RoomEvent) {
    switch event {
    case .participant(let person) where person.isBot:
      if manifest.bots.count < Manifest.mostPeople { manifest.bots.insert(person.identity) }
    default: break
    }
  }

  /// Something happened.
  func take(_ entry: TimelineEntry) {
    let now = entry.time
    switch entry.event {
    case .started(let room): manifest.room = room
    case .joined(let identity, let name): join(identity, name, entry)
    case .renamed(let identity, let name): manifest.people[identity]?.name = name
    case .left(let identity, _):
      guard let index = manifest.people.index(forKey: identity) else { return }
      Self.end(&manifest.people.values[index].stays, entry)
    case .published(let id, let identity, let source): publish(id, identity, source, entry)
    case .unpublished(let id, _, _):
      manifest.tracks[id]?.freezes.interrupt(at: now)
      manifest.tracks[id]?.published.end = now
      manifest.tracks[id]?.published.sessionEnd = entry.sessionTime
    case .muted(let id, _, _, let isMuted): hold(id, .muted, isMuted, at: now)
    case .subscribed(let id, _, _, let isSubscribed): hold(id, .taken, !isSubscribed, at: now)
    case .lowBandwidth(let id, _, let isLow): hold(id, .narrow, isLow, at: now)
    case .obstacle(let id, _, _, let obstacle): hold(id, .obstacle, obstacle != nil, at: now)
    case .resolution(let id, _, _, let width, let height):
      guard let count = manifest.tracks[id]?.sizes.count else { return }
      if count < Manifest.mostOfOne {
        manifest.tracks[id]?.sizes.append((now, width, height))
      } else {
        leaveOut("sizes")
      }
    case .layout(let name):
      if manifest.layouts.last?.at == now { manifest.layouts.removeLast() }
      if manifest.layouts.count < Manifest.mostEntries {
        manifest.layouts.append((now, name))
      } else {
        leaveOut("layouts")
      }
    case .marker(let title):
      if manifest.markers.count < Manifest.mostEntries {
        manifest.markers.append((now, title))
      } else {
        leaveOut("markers")
      }
    case .paused(let policy):
      interruptAll(at: now)
      isPaused = true
      Self.end(&manifest.pauses, entry)
      if !Self.begin(&manifest.pauses, entry, policy.rawValue) { leaveOut("pauses") }
    case .resumed:
      isPaused = false
      Self.end(&manifest.pauses, entry)
    case .connectionLost(let reason):
      interruptAll(at: now)
      isAway = true
      if !Self.begin(&manifest.gaps, entry, reason) { leaveOut("gaps") }
    case .connectionRestored:
      isAway = false
      Self.end(&manifest.gaps, entry)
    default: break
    }
  }

  /// Something happened before the part of the session that is recorded: what it left is there from the beginning on.
  func remember(_ entry: TimelineEntry) {
    if case .marker = entry.event { return }
    var entry = entry
    entry.time = .zero
    take(entry)
  }

  private func join(_ identity: ParticipantIdentity, _ name: String, _ entry: TimelineEntry) {
    if manifest.people[identity] == nil {
      guard manifest.people.count < Manifest.mostPeople else { return leaveOut("people") }
      manifest.people[identity] = Manifest.Person(name: name)
      manifest.peopleOrder.append(identity)
    }
    manifest.people[identity]?.name = name
    guard let stays = manifest.people[identity]?.stays, stays.count < Manifest.mostOfOne else {
      return leaveOut("stays")
    }
    manifest.people[identity]?.stays.append(Manifest.Span(start: entry.time, sessionStart: entry.sessionTime))
  }

  private func publish(_ id: TrackID, _ owner: ParticipantIdentity, _ source: TrackSource, _ entry: TimelineEntry) {
    guard manifest.tracks[id] == nil else { return }
    guard manifest.tracks.count < Manifest.mostTracks else { return leaveOut("tracks") }
    manifest.tracks[id] = Manifest.TrackEntry(
      participant: owner, source: source,
      published: Manifest.Span(start: entry.time, sessionStart: entry.sessionTime))
    manifest.trackOrder.append(id)
  }

  private static func begin(_ list: inout [Manifest.Span], _ entry: TimelineEntry, _ text: String) -> Bool {
    guard list.count < Manifest.mostEntries else { return false }
    list.append(Manifest.Span(start: entry.time, sessionStart: entry.sessionTime, text: text))
    return true
  }

  private static func end(_ list: inout [Manifest.Span], _ entry: TimelineEntry) {
    guard let last = list.indices.last, list[last].end == nil else { return }
    list[last].end = entry.time
    list[last].sessionEnd = entry.sessionTime
  }

  private func leaveOut(_ list: String) { manifest.leftOut[list, default: 0] += 1 }

  // MARK: Media

  /// A frame of pictures belongs at this time; `isShown`: a picture can be made of it.
  func picture(_ track: TrackID, _ frame: EncodedFrame, isShown: Bool, at time: SessionTime) {
    guard let index = manifest.tracks.index(forKey: track) else { return }
    manifest.tracks.values[index].take(frame.codec, at: time)
    if let delay = manifest.tracks.values[index].delay(frame, at: time), isShown,
      let sound = soundDelays[SoundSource(manifest.tracks.values[index])], time - sound.heard < Self.soundMemory
    {
      manifest.tracks.values[index].skew.add(delay - sound.delay)
    }
    // A still page is no freeze.
    if isShown, !isPaused, !isAway, manifest.tracks.values[index].holds.isEmpty,
      manifest.tracks.values[index].source != .screenShare
    {
      manifest.tracks.values[index].freezes.shown(at: time)
    }
  }

  /// A packet of sound belongs at this time; an empty one never came, and `isCopy`: the one behind it brought it again. What
  /// was lost is known when the next packet is there.
  func audio(_ track: TrackID, _ frame: EncodedFrame, isCopy: Bool = false, at time: SessionTime) {
    guard let index = manifest.tracks.index(forKey: track) else { return }
    guard frame.payload.count > 0 else {
      guard isCopy, let end = manifest.tracks.values[index].audioEnd else { return }
      manifest.tracks.values[index].restored += Self.packet
      manifest.tracks.values[index].audioEnd = end + Self.packet
      return
    }
    if frame.followsLoss, let end = manifest.tracks.values[index].audioEnd, time - end >= Self.shortestLoss {
      manifest.tracks.values[index].concealed.add(time - end, at: end)
    }
    manifest.tracks.values[index].audioEnd = time + Self.packet
    manifest.tracks.values[index].take(frame.codec, at: time)
    if let delay = manifest.tracks.values[index].delay(frame, at: time) {
      soundDelays[SoundSource(manifest.tracks.values[index])] = SoundDelay(delay: delay, heard: time)
    }
  }

  /// The usual length of a packet; what is missing for less than half of it is no packet.
  private static let packet = Duration.milliseconds(20), shortestLoss = Duration.milliseconds(10)

  /// Something of a track could not be decoded.
  func decodeError(_ track: TrackID) { manifest.tracks[track]?.decodeErrors += 1 }

  /// So much of a track's sound came too late for its place, since it was last released.
  func lateAudio(_ track: TrackID, _ length: Duration) {
    guard let late = manifest.tracks[track]?.lateAudio else { return }
    manifest.tracks[track]?.lateAudio = late + length
  }

  /// Somebody talked.
  func talked(_ turn: TalkTurn) {
    guard let talked = manifest.people[turn.identity]?.talked else { return }
    manifest.people[turn.identity]?.talked = talked + (turn.end - turn.start)
  }

  /// The display name of somebody; nil for who is not known.
  func name(of identity: ParticipantIdentity) -> String? { manifest.people[identity]?.name }

  /// The room is told what is wanted of tracks: of the others no picture is expected.
  func receive(_ wishes: [ReceptionWish], at time: SessionTime) {
    for wish in wishes { hold(wish.track, .unwanted, wish.reception != .wanted, at: time) }
  }

  private func hold(_ id: TrackID, _ reason: Manifest.Holds, _ isHeld: Bool, at time: SessionTime) {
    guard isHeld else { return _ = manifest.tracks[id]?.holds.remove(reason) }
    manifest.tracks[id]?.holds.insert(reason)
    manifest.tracks[id]?.audioEnd = nil
    manifest.tracks[id]?.freezes.interrupt(at: time)
  }

  /// Pictures are shown from now on, or none are: those before are not followed by those after.
  func interruptFreezes(at time: SessionTime) {
    for index in manifest.tracks.values.indices { manifest.tracks.values[index].freezes.interrupt(at: time) }
  }

  private func interruptAll(at time: SessionTime) {
    interruptFreezes(at: time)
    for index in manifest.tracks.values.indices { manifest.tracks.values[index].audioEnd = nil }
  }

  /// The recording ends.
  func finish(at time: SessionTime) { interruptAll(at: time) }
}

extension Manifest.TrackEntry {
  /// How long after its capture a frame is shown or heard, with an unknown difference that is the same for all tracks of a
  /// sender; nil until it has sent reports enough.
  fileprivate mutating func delay(_ frame: EncodedFrame, at time: SessionTime) -> Duration? {
    let media = MediaTime(ticks: frame.rtpTime, rate: frame.codec.clockRate).nanoseconds
    let now = time.nanoseconds
    if let capture = frame.captureTime { reports.take(capture.nanoseconds &- media, at: now) }
    guard reports.areEnough(at: now), let mapping = reports.mapping else { return nil }
    return .nanoseconds(now &- media &- mapping)
  }

  fileprivate mutating func take(_ codec: Codec, at time: SessionTime) {
    self.codec = codec
    first = first ?? time
    last = max(last, time)
    frames += 1
  }
}
