import Layouts
import MediaCore

/// What the core wants done, in order.
public enum SessionOutput: Sendable {
  /// Decode this video frame now (decode order within a track). Its picture may be named by later plans. `at`: the instant of
  /// the file at which it belongs, which is that of the next plan or a little earlier.
  case decode(FrameID, EncodedFrame, of: TrackID, at: SessionTime)
  /// Whether some layout uses pictures from here on; before the first, one does. While none does, nothing need be decoded; afterwards
  /// each track begins with a keyframe.
  case usePictures(Bool)
  /// Place this sound at this instant of the file. What of it lies at or after `until` is left out.
  case audio(FrameID, EncodedFrame, of: TrackID, at: SessionTime, until: SessionTime?)
  /// Treat the sound of this track in this way, whatever of it has not been mixed yet; nil: leave it as it comes.
  case process(TrackID, AudioProcessor?)
  /// Show this. One for each output slot, in order, without gaps.
  case compose(FramePlan)
  /// Show this in the further picture of this number: for each, one directly after the slot's own.
  case composeFurther(Int, FramePlan)
  /// Tell the room what is wanted of these video tracks.
  case receive([ReceptionWish])
  /// Tell the room that these video tracks are in view from now on, and no others.
  case view(Set<TrackID>)
  /// This happened; it is seen from the next plan on.
  case note(TimelineEntry)
  /// Ask the publisher of this track for a keyframe.
  case requestKeyframe(TrackID)
  /// Ask the room again for this track.
  case subscribe(TrackID)
  /// Nothing that was decoded of this track is needed any more: its decoder can be let go.
  case release(TrackID)
  /// The recording is over: the last slot has been planned. Nothing follows.
  case ended(SessionEnd)
}

/// Decides which frame of which track is shown where at each output instant. Pure: the same events give the same
/// outputs, whatever the rhythm in which time is advanced.
///
/// The output instant T is planned from the room events that arrived until T and from the frames that arrived until
/// T + latency. Feed events with `handle`, move time with `advance(to:)`, then drain `pollOutput()`.
///
/// Large: all rules of what is shown when meet in it, a file for each; what has a life of its own is a value of its own
/// (`SessionBacklog`, `Publications`, `TrackState`, `FramePlaces`, `PublisherClock`, `People`, `TalkerPolicy`, `Pins`,
/// `Processing`, `ReceptionControl`, `EndWatch`).
public struct SessionCore: Sendable {
  let settings: Settings
  var talkers: TalkerPolicy
  /// The file's time line.
  var clock: OutputClock
  /// Who is there.
  var people = People()
  /// What is published. The newest of a source is the one that is shown.
  var tracks = Publications()
  /// Since when the connection is lost; nil while it stands.
  var lostSince: SessionTime?
  /// What the operator gave a place of its own.
  var held = Pins()
  /// What is done to whose pictures and sound.
  var processing: Processing
  /// The recording's title.
  public internal(set) var title: String
  /// Whether sound and pictures count.
  var gate = PauseGate()
  /// The picture, and the further ones.
  var pictures: [PlannedPicture]
  /// What the layouts are asked about.
  var layoutInput = LayoutInput()
  /// The publications that have a tile in some picture at present.
  var inView: Set<TrackID> = []
  /// What was noted of those who talk.
  var notes = TalkerNotes()
  /// What is wanted of the videos.
  var reception: ReceptionControl
  /// Where frames lie on the time line.
  var places = FramePlaces()
  /// When the recording ends.
  var endWatch: EndWatch
  /// What has arrived and does not count yet.
  private(set) var backlog = SessionBacklog()
  private var isFinished = false
  private var outputs = FIFO<SessionOutput>()

  /// Starts an empty session.
  public init(settings: Settings) {
    self.settings = settings
    title = settings.title
    talkers = TalkerPolicy(settings: settings.talker)
    processing = Processing(settings.processors)
    reception = ReceptionControl(settings)
    endWatch = EndWatch(settings)
    clock = OutputClock(framesPerSecond: settings.framesPerSecond)
    pictures = [PlannedPicture(settings)] + settings.further.map { PlannedPicture($0, of: settings) }
    if !usesPictures { emit(.usePictures(false)) }
  }

  /// Whether some layout uses pictures of people.
  var usesPictures: Bool { pictures.contains(where: \.usesPictures) }

  /// People in the order in which they came. Made anew at each call.
  public var participants: [Participant] { people.all }

  /// Grows when `participants` changes.
  public var peopleRevision: UInt64 { people.revision }

  /// What the operator pinned, in that order.
  public var pins: [TileSelector] { held.selectors }

  /// What the operator wants in the large place.
  public var spotlight: TileSelector? { held.spotlight }

  /// How many rules say what is done to whose pictures and sound.
  public var processorRules: Int { processing.count }

  /// How the recording is paused; nil: it isn't.
  public var pause: PausePolicy? { gate.policy }

  /// True once the end has come: what is left can be planned at once.
  public var isEnding: Bool { backlog.ending != nil }

  /// Room events that have been taken and whose instant has not come.
  public var waitingEvents: Int { backlog.roomEventCount }

  /// The time in the file of an instant that lies ahead, as far as pauses are known; nil in a cut.
  public func fileTime(ahead instant: SessionTime) -> SessionTime? {
    clock.isCut || backlog.endsInCut ? nil : clock.fileTime(of: instant)
  }

  /// People and publications that were looked at until now: what frames cost, for tests and benchmarks.
  package var effort: UInt64 { tracks.looks &+ people.looks }

  /// The next instant to be planned.
  public var nextInstant: SessionTime { clock.next }

  /// Takes the next event of the stream. Arrival times never go backwards. What follows an end is not looked at.
  public mutating func handle(_ event: SessionEvent) {
    let endsRedaction = backlog.take(event)
    // Pictures begin with keyframes after a redaction, and where none were used: asked for at once, they are there when they are wanted.
    if endsRedaction {
      for id in tracks.flowingVideos { emit(.requestKeyframe(id)) }
    }
    guard case .room(.setLayout(let layout)) = event.payload else { return }
    let isExpecting = !usesPictures && pictures.contains { $0.usesPictures(following: layout) }
    reception.expectPictures(isExpecting)
    guard isExpecting else { return }
    for id in tracks.flowingVideos { request(keyframeOf: id, at: event.arrived) }
  }

  /// Plans every output instant that lies at least `latency` before `now`. All events that arrived until `now` must
  /// have been handled. Once the end is in, nothing can come any more, so the last slots need not wait for the latency. No
  /// instant behind `limit` is planned.
  public mutating func advance(to now: SessionTime, until limit: SessionTime? = nil) {
    while !isFinished {
      let time = clock.next
      if let limit, time > limit { return }
      guard time + settings.latency <= now || isEnding else { return }
      // Where a cut begins or ends, the next instant is another one.
      if applyRoomEvents(until: time) { plan(at: time) }
    }
  }

  /// The next thing to do, or nil when all is done.
  public mutating func pollOutput() -> SessionOutput? { outputs.popFirst() }

  mutating func emit(_ output: SessionOutput) { outputs.append(output) }

  /// Notes for the timeline that something happened at `instant`.
  mutating func note(_ event: TimelineEvent, at instant: SessionTime) {
    // What people did in a redacted time is nobody's business.
    if pause == .redact, !event.isKeptInRedactions { return }
    emit(.note(TimelineEntry(time: clock.fileTime(of: instant), sessionTime: instant, event: event)))
  }

  private mutating func plan(at time: SessionTime) {
    if clock.isAtSlot { checkEnd(at: time) }
    if let end = endWatch.end, end.at <= time {
      isFinished = true
      note(.ended(end.reason), at: end.at)
      emit(.ended(end.reason))
      return
    }
    takeFrames(arrivedUntil: time + settings.latency)
    places.place(at: time, soundUntil: time + Self.audioAhead, seen: time + settings.latency, in: &tracks)
    let awake = tracks.takeAwake(until: time)
    listen(to: awake, until: time)
    for id in awake {
      present(id, at: time)
      tracks.rest(id, until: nextLook(at: id))
    }
    if !clock.isCut, clock.isAtSlot {
      let plan = makePlan(of: 0, at: time)
      let further = pictures.indices.dropFirst().map { makePlan(of: $0, at: time) }
      noteView()
      updateReception(at: time)
      emit(.compose(plan))
      for (number, plan) in further.enumerated() { emit(.composeFurther(number, plan)) }
    }
    clock.step()
  }

  private mutating func checkEnd(at time: SessionTime) {
    endWatch.check(at: time, fileTime: clock.fileTime(of: time), isLost: lostSince != nil)
    // The recording ends with the slot whose end is nearest: so its length is the time that has passed, to half a slot.
    if let (arrived, reason) = backlog.ending, clock.slot > 0,
      (arrived - time).nanoseconds * 2 <= 1_000_000_000 / Int64(settings.framesPerSecond)
    {
      endWatch.finish(reason, at: time)
    }
  }

  /// Applies what arrived until `time`. False when that has begun or ended a cut; then not all has been applied.
  private mutating func applyRoomEvents(until time: SessionTime) -> Bool {
    while let (arrived, event) = backlog.nextRoomEvent(until: time) {
      let wasCut = clock.isCut
      apply(event, at: arrived)
      if clock.isCut != wasCut { return false }
    }
    return true
  }

  private mutating func takeFrames(arrivedUntil limit: SessionTime) {
    while let (id, arrived, frame, track) = backlog.nextFrame(until: limit) {
      // Frames are taken earlier than room events by the latency. The state of a track whose announcement still waits
      // is made here to hold them; nothing is shown of it before the announcement counts.
      guard let owner = tracks[track]?.track ?? backlog.announced(track, until: arrived) else { continue }
      if tracks[track] == nil { tracks[track] = TrackState(track: owner, now: arrived) }
      places.observe(frame, id, of: owner, arrived: arrived, in: &tracks)
    }
  }
}

extension TimelineEvent {
  /// True for what is told of a redacted time: what the operator did, what the connection did, who came and left.
  fileprivate var isKeptInRedactions: Bool {
    switch self {
    case .talker, .published, .unpublished, .muted, .subscribed, .lowBandwidth, .scene, .renamed, .resolution,
      .unsupportedCodec, .activeTalkers, .data, .chat, .caption:
      false
    default: true
    }
  }
}
