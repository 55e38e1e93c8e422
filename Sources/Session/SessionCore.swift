import Layouts
import MediaCore

/// What the core wants done, in order.
public enum SessionOutput: Sendable {
  /// Decode this video frame now (decode order within a track). Its picture may be named by later plans.
  case decode(FrameID, EncodedFrame)
  /// Decode this sound and place it at this instant of the output.
  case sound(EncodedFrame, at: SessionTime)
  /// Show this. One for each output slot, in order, without gaps.
  case compose(FramePlan)
  /// Ask the publisher of this track for a keyframe.
  case requestKeyframe(TrackID)
  /// Ask the room again for this track.
  case subscribe(TrackID)
  /// This track is gone; its decoder can be let go.
  case release(TrackID)
  /// The recording is over: the last slot has been planned. Nothing follows.
  case ended(SessionEnd)
}

/// Decides which frame of which track is shown where at each output instant. Pure: the same events give the same
/// outputs, whatever the rhythm in which time is advanced.
///
/// The output instant T is planned from the room events that arrived until T and from the frames that arrived until
/// T + latency. Feed events with `handle`, move time with `advance(to:)`, then drain `pollOutput()`.
public struct SessionCore: Sendable {
  /// The numbers of a session.
  public struct Settings: Sendable {
    /// Output picture.
    public var canvas: CanvasSize
    /// The layout at the beginning.
    public var layout: LayoutName
    /// Output pictures a second.
    public var framesPerSecond: Int
    /// How long the core waits for late frames before it plans an instant.
    public var latency: SessionTime
    /// A camera that sends nothing for so long has no signal.
    public var noSignalAfter: SessionTime
    /// The same for shared screens, which may rightly be still.
    public var screenNoSignalAfter: SessionTime
    /// After the connection is lost, the last pictures stay (dimmed) for so long.
    public var dimFor: SessionTime
    /// End when nobody has been in the room for so long; nil: never.
    public var stopWhenEmpty: SessionTime?
    /// End at this length; nil: never.
    public var maximumDuration: SessionTime?
    /// Who is the active talker.
    public var talker: TalkerPolicy.Settings

    /// Makes settings; the defaults are those of the command line.
    public init(
      canvas: CanvasSize, layout: LayoutName, framesPerSecond: Int = 30, latency: SessionTime = .milliseconds(500),
      noSignalAfter: SessionTime = .seconds(3), screenNoSignalAfter: SessionTime = .seconds(15),
      dimFor: SessionTime = .seconds(3), stopWhenEmpty: SessionTime? = nil, maximumDuration: SessionTime? = nil,
      talker: TalkerPolicy.Settings = TalkerPolicy.Settings()
    ) {
      self.canvas = canvas
      self.layout = layout
      self.framesPerSecond = max(1, min(framesPerSecond, 120))
      self.latency = latency
      self.noSignalAfter = noSignalAfter
      self.screenNoSignalAfter = screenNoSignalAfter
      self.dimFor = dimFor
      self.stopWhenEmpty = stopWhenEmpty
      self.maximumDuration = maximumDuration
      self.talker = talker
    }

    /// Presentation time of an output slot; exact for every whole second.
    public func slotTime(_ slot: Int64) -> SessionTime {
      let (seconds, rest) = slot.quotientAndRemainder(dividingBy: Int64(framesPerSecond))
      return SessionTime(nanoseconds: seconds * 1_000_000_000 + rest * 1_000_000_000 / Int64(framesPerSecond))
    }
  }

  let settings: Settings
  var layout: LayoutName
  var talkers: TalkerPolicy
  /// People in the order in which they came.
  var participants: [Participant] = []
  var tracks: [TrackID: TrackState] = [:]
  /// Publications in the order in which they were announced: the newest of a source is the one that is shown.
  var trackOrder: [TrackID] = []
  /// Since when the connection is lost; nil while it stands.
  var lostSince: SessionTime?
  /// The tiles' places, as long as nothing that moves them has changed.
  var arrangement: Arrangement?
  private var publisherClocks: [ParticipantIdentity: PublisherClock] = [:]
  private var emptySince: SessionTime? = .zero
  private var end: (reason: SessionEnd, at: SessionTime)?
  private var isEnding = false
  private var isFinished = false
  private var nextSlot: Int64 = 0
  private var pendingRoomEvents: [(arrived: SessionTime, event: RoomEvent)] = []
  private var pendingFrames: [(id: FrameID, arrived: SessionTime, frame: EncodedFrame)] = []
  private var outputs: [SessionOutput] = []
  private var outputHead = 0

  /// Starts an empty session.
  public init(settings: Settings) {
    self.settings = settings
    layout = settings.layout
    talkers = TalkerPolicy(settings: settings.talker)
  }

  /// Takes the next event of the stream. Arrival times never go backwards. What follows an end is not looked at.
  public mutating func handle(_ event: SessionEvent) {
    guard !isEnding else { return }
    switch event.payload {
    case .room(let roomEvent):
      pendingRoomEvents.append((event.arrived, roomEvent))
      if case .ended = roomEvent { isEnding = true }
    case .frame(let frame): pendingFrames.append((FrameID(event.sequence), event.arrived, frame))
    }
  }

  /// Plans every output instant that lies at least `latency` before `now`. All events that arrived until `now` must
  /// have been handled.
  public mutating func advance(to now: SessionTime) {
    while !isFinished {
      let time = settings.slotTime(nextSlot)
      // Nothing can come any more once the end is in, so the last slots need not wait for the latency.
      guard time + settings.latency <= now || isEnding else { return }
      plan(slot: nextSlot, at: time)
      nextSlot += 1
    }
  }

  /// The next thing to do, or nil when all is done.
  public mutating func pollOutput() -> SessionOutput? {
    guard outputHead < outputs.count else {
      outputs.removeAll(keepingCapacity: true)
      outputHead = 0
      return nil
    }
    outputHead += 1
    return outputs[outputHead - 1]
  }

  mutating func emit(_ output: SessionOutput) { outputs.append(output) }

  private mutating func plan(slot: Int64, at time: SessionTime) {
    applyRoomEvents(until: time)
    checkLimits(at: time)
    if let end, end.at <= time {
      isFinished = true
      emit(.ended(end.reason))
      return
    }
    takeFrames(arrivedUntil: time + settings.latency)
    talkers.advance(to: time)
    for id in trackOrder { present(id, at: time) }
    emit(.compose(makePlan(slot: slot, at: time)))
  }

  private mutating func applyRoomEvents(until time: SessionTime) {
    var applied = 0
    while applied < pendingRoomEvents.count, pendingRoomEvents[applied].arrived <= time {
      let (arrived, event) = pendingRoomEvents[applied]
      apply(event, at: arrived)
      applied += 1
    }
    if applied > 0 { pendingRoomEvents.removeFirst(applied) }
  }

  private mutating func takeFrames(arrivedUntil limit: SessionTime) {
    var taken = 0
    while taken < pendingFrames.count, pendingFrames[taken].arrived <= limit {
      let (id, arrived, frame) = pendingFrames[taken]
      taken += 1
      // Frames are taken earlier than room events by the latency. The state of a track whose announcement is still
      // pending is made here to hold them; nothing is shown of it before the announcement counts.
      guard let owner = owner(of: frame.track) else { continue }
      if tracks[frame.track] == nil { tracks[frame.track] = TrackState(track: owner, now: arrived) }
      var clock = publisherClocks[owner.participant] ?? PublisherClock()
      if !clock.isShared, everyStream(of: owner.participant, at: arrived, \.hasReport) { clock.share() }
      if !clock.isTrusted, everyStream(of: owner.participant, at: arrived, \.hasTrustedReports) { clock.trust() }
      if let presentation = tracks[frame.track]?.presentation(of: frame, arrived: arrived, publisher: &clock) {
        tracks[frame.track]?.enqueue(.init(id: id, presentation: presentation, frame: frame))
      }
      publisherClocks[owner.participant] = clock
    }
    if taken > 0 { pendingFrames.removeFirst(taken) }
  }

  /// True when something holds for all streams of a publisher that flow.
  private func everyStream(
    of identity: ParticipantIdentity, at now: SessionTime, _ property: KeyPath<TrackState, Bool>
  ) -> Bool {
    var count = 0
    for state in tracks.values where state.track.participant == identity {
      guard let last = state.lastArrival, now - last < .seconds(5) else { continue }
      if !state[keyPath: property] { return false }
      count += 1
    }
    return count > 0
  }

  /// The publication that a frame belongs to, also when its announcement has not been applied yet.
  private func owner(of id: TrackID) -> Track? {
    if let state = tracks[id] { return state.track }
    for (_, event) in pendingRoomEvents {
      if case .track(let track) = event, track.id == id { return track }
    }
    return nil
  }

  private mutating func checkLimits(at time: SessionTime) {
    guard end == nil else { return }
    if let maximum = settings.maximumDuration, time >= maximum { end = (.maxDuration, time) }
    if let patience = settings.stopWhenEmpty, let since = emptySince, lostSince == nil, time - since >= patience {
      end = (.empty, time)
    }
  }
}

// MARK: - Room events

extension SessionCore {
  private mutating func apply(_ event: RoomEvent, at now: SessionTime) {
    guard end == nil else { return }
    arrangement = nil
    switch event {
    case .joined, .synchronized: break
    case .participant(let participant): meet(participant)
    case .participantLeft(let identity): forget(identity, at: now)
    case .track(let track): announce(track, at: now)
    case .trackUnpublished(let id): unpublish(id)
    case .trackSubscribed(let id, let isSubscribed):
      let wasEnabled = tracks[id]?.isEnabled ?? false
      tracks[id]?.isSubscribed = isSubscribed
      if tracks[id]?.isEnabled != wasEnabled { tracks[id]?.forgetPicture(now: now) }
    case .trackPaused(let id, let isPaused): tracks[id]?.isPaused = isPaused
    case .speakers(let speakers): talkers.update(speakers, at: now)
    case .trackReception, .network, .data, .chat, .caption: break
    case .connectionLost: if lostSince == nil { lostSince = now }
    case .connectionRestored:
      lostSince = nil
      // Old pictures are older than the outage: nothing is shown until something new has come.
      for id in trackOrder { tracks[id]?.forgetPicture(now: now) }
    case .setLayout(let name): if let known = LayoutName(rawValue: name) { layout = known }
    case .ended(let reason): end = (reason, now)
    }
  }

  private mutating func meet(_ participant: Participant) {
    emptySince = nil
    if let index = participants.firstIndex(where: { $0.identity == participant.identity }) {
      participants[index] = participant
    } else {
      participants.append(participant)
    }
  }

  private mutating func forget(_ identity: ParticipantIdentity, at now: SessionTime) {
    participants.removeAll { $0.identity == identity }
    for id in trackOrder where tracks[id]?.track.participant == identity { unpublish(id) }
    talkers.silence(identity, hasLeft: true)
    publisherClocks[identity] = nil
    if participants.isEmpty, emptySince == nil { emptySince = now }
  }

  private mutating func announce(_ track: Track, at now: SessionTime) {
    var state = tracks[track.id] ?? TrackState(track: track, now: now)
    if !trackOrder.contains(track.id) {
      trackOrder.append(track.id)
      state.forgetPicture(now: now)
    }
    let wasEnabled = state.isEnabled
    state.track = track
    if state.isEnabled != wasEnabled { state.forgetPicture(now: now) }
    tracks[track.id] = state
    if track.isMuted, track.source == .microphone { talkers.silence(track.participant, hasLeft: false) }
  }

  private mutating func unpublish(_ id: TrackID) {
    guard let state = tracks.removeValue(forKey: id) else { return }
    trackOrder.removeAll { $0 == id }
    if state.track.source == .microphone { talkers.silence(state.track.participant, hasLeft: false) }
    emit(.release(id))
  }
}

// MARK: - Frames

extension SessionCore {
  /// Sends on the frames of a track whose time has come.
  private mutating func present(_ id: TrackID, at time: SessionTime) {
    // Sound is handed on a little early, so that the block that is mixed next is whole.
    let isVideo = tracks[id]?.track.kind == .video
    let until = isVideo ? time : time + .milliseconds(60)
    while let waiting = tracks[id]?.dequeue(until: until) {
      guard let state = tracks[id] else { return }
      if isVideo {
        decode(waiting, of: id, at: time)
      } else if state.isEnabled {
        emit(.sound(waiting.frame, at: waiting.presentation))
      }
    }
    if isVideo { watch(id, at: time) }
  }

  private mutating func decode(_ waiting: TrackState.Waiting, of id: TrackID, at time: SessionTime) {
    guard let state = tracks[id] else { return }
    if waiting.frame.followsLoss, !waiting.frame.isKeyframe { tracks[id]?.needsKeyframe = true }
    if waiting.frame.isKeyframe { tracks[id]?.needsKeyframe = false }
    guard tracks[id]?.needsKeyframe == false else {
      request(keyframeOf: id, at: time)
      return
    }
    emit(.decode(waiting.id, waiting.frame))
    // Decoded in any case, since later frames build on it; shown only when the truth table says so.
    guard state.isEnabled, waiting.presentation >= state.enabledSince else { return }
    tracks[id]?.show(waiting, at: time)
  }

  /// Asks for what is missing: keyframes when nothing comes, the subscription when there is none.
  private mutating func watch(_ id: TrackID, at time: SessionTime) {
    guard let state = tracks[id], lostSince == nil else { return }
    if !state.isSubscribed {
      let since = state.lastSubscribeRequest ?? state.enabledSince
      if time - since >= .seconds(5) {
        tracks[id]?.lastSubscribeRequest = time
        emit(.subscribe(id))
      }
    } else if state.isEnabled, !state.isPaused {
      if time - (state.lastFrameAt ?? state.enabledSince) >= .seconds(1), state.track.source != .screenShare {
        request(keyframeOf: id, at: time)
      }
    }
  }

  private mutating func request(keyframeOf id: TrackID, at time: SessionTime) {
    if let last = tracks[id]?.lastKeyframeRequest, time - last < .milliseconds(1_000) { return }
    tracks[id]?.lastKeyframeRequest = time
    emit(.requestKeyframe(id))
  }
}
