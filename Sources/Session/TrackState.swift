import MediaCore

/// What is known of one publication, and its frames that are waiting for their instant.
///
/// Large: a property for each thing that the core knows of a track.
struct TrackState: Sendable {
  /// One frame with its place on the output's time line, which is decided when it is due.
  struct Waiting: Sendable {
    var id: FrameID
    var presentation: SessionTime
    var frame: EncodedFrame
    /// Its media time, nanoseconds.
    var media: Int64
    /// When it arrived, nanoseconds of the session.
    var arrival: Int64
  }

  var track: Track { didSet { if track != oldValue { revision &+= 1 } } }
  var isSubscribed = false { didSet { if isSubscribed != oldValue { revision &+= 1 } } }
  /// True while it isn't, though it was.
  var isTakenAway = false
  var isPaused = false { didSet { if isPaused != oldValue { revision &+= 1 } } }
  /// Whether the bot lets it be sent.
  var reception = TrackReception.wanted { didSet { if reception != oldValue { revision &+= 1 } } }
  /// Grows with everything that somebody who does not look at each frame has to know.
  private(set) var revision: UInt64 = 0
  /// Its place among the announcements; nil before its own counts.
  var order: Int?
  /// True while it is on the list of those to look at next, and when it is looked at whatever happens; see
  /// `Publications`.
  var isAwake = false
  /// When it is looked at whatever happens; nil: only when something comes.
  var alarm: SessionTime?
  /// The width that was noted last, pixels.
  var notedWidth = 0
  /// The height that was noted last, pixels.
  var notedHeight = 0
  /// When the current state of "subscribed and enabled" began: frames from before are never shown.
  var enabledSince: SessionTime { didSet { if enabledSince != oldValue { revision &+= 1 } } }
  /// The picture on show: the last frame that was given to the decoder, and when it was due.
  var shown: Waiting? { didSet { if (shown == nil) != (oldValue == nil) { revision &+= 1 } } }
  /// The last picture from before the bot had the track held back for want of a tile: it stands in until a new one
  /// comes, and nothing has been disabled since.
  private(set) var lastKnown: FrameID?
  /// True when it was held back for want of a tile, until it is shown or disabled.
  private(set) var wasHidden = false
  /// The form in which the pictures come, when it can't be shown.
  var unsupported: String? { didSet { if unsupported != oldValue { revision &+= 1 } } }
  /// When the last frame was due, whether or not it is still shown.
  var lastFrameAt: SessionTime?
  /// Size of the pictures as they are coded, from the last keyframe; 0 when unknown.
  private var (codedWidth, codedHeight) = (0, 0)
  /// Width of the pictures as they are displayed (after rotation), pixels; 0 when unknown.
  private(set) var displayWidth = 0 { didSet { if displayWidth != oldValue { revision &+= 1 } } }
  /// Height of the pictures as they are displayed, pixels; 0 when unknown.
  private(set) var displayHeight = 0 { didSet { if displayHeight != oldValue { revision &+= 1 } } }
  /// True while what its frames build on is missing: at the beginning, behind frames that were left out or lost, and when
  /// the decoder could make nothing of one. Only a keyframe is decoded then.
  var needsKeyframe = true
  /// The last keyframe that was given to the decoder.
  private(set) var newestKeyframe: FrameID?
  var lastKeyframeRequest: SessionTime?
  var lastSubscribeRequest: SessionTime?
  /// Levels of sound that are not due yet, dBov.
  private var levels: [(time: SessionTime, decibels: Int)] = []
  private(set) var queue: [Waiting] = []
  private var head = 0
  /// Behind the last frame of the queue that has its place.
  private var placed = 0
  private var lastPresentation = SessionTime.distantPast
  /// Whether it is among those whose frames wait for their places.
  var isAwaitingPlaces = false
  /// More frames than this are never kept: ten seconds at 60 a second.
  private static let limit = 600

  init(track: Track, now: SessionTime) {
    self.track = track
    enabledSince = now
  }

  /// True while the connection is too narrow for it, by the service's word or by ours.
  var isHeldBack: Bool { isPaused || reception == .lowBandwidth }
  /// True when the truth table lets media through.
  var isEnabled: Bool { isSubscribed && !track.isMuted && track.obstacle == nil }

  /// True while frames, or levels of sound, wait for their instant.
  var hasWaiting: Bool { head < queue.count || !levels.isEmpty }

  /// True for pictures that should flow.
  var isWatched: Bool { isEnabled && track.kind == .video }

  /// Queues a frame that arrived then. When far too many wait, the oldest go: the decoder then needs a keyframe.
  mutating func enqueue(_ id: FrameID, _ frame: EncodedFrame, media: Int64, arrival: Int64) {
    queue.append(Waiting(id: id, presentation: .zero, frame: frame, media: media, arrival: arrival))
    if queue.count - head > Self.limit {
      head += 1
      placed = max(placed, head)
      needsKeyframe = true
    }
    // Often: what was dequeued holds its frame's memory until it is let go here.
    if head >= 8, head * 2 > queue.count {
      queue.removeFirst(head)
      placed -= head
      head = 0
    }
  }

  /// Its frames build on this keyframe from now on, and have its size: also when it is not shown itself, for it came before the
  /// track was announced or subscribed.
  mutating func begin(with keyframe: Waiting) {
    newestKeyframe = keyframe.id
    needsKeyframe = false
    // Not every keyframe says its size: one of H.264 may rely on parameter sets that came before.
    if keyframe.frame.width > 0 { (codedWidth, codedHeight) = (keyframe.frame.width, keyframe.frame.height) }
  }

  /// True when frames wait for their places.
  var hasUnplaced: Bool { placed < queue.count }

  /// Gives frames that are due until `limit` their places. `now` is the instant that is planned, `seen` the one until
  /// which arrivals are known.
  mutating func place(now: SessionTime, until limit: SessionTime, seen: SessionTime, by clock: inout PublisherClock) {
    while placed < queue.count {
      let next = queue[placed]
      let place = clock.place(
        next.frame, of: track.id, media: next.media, arrival: next.arrival, now: now.nanoseconds,
        until: limit.nanoseconds,
        seen: seen.nanoseconds)
      switch place {
      case .later: return
      case .at(let time): settle(at: time)
      case .nowhere: queue.remove(at: placed)
      }
    }
  }

  /// The track's clock has changed: gives the frames of the old clock their places by that. Returns the last one's.
  mutating func settle(_ farewell: PublisherClock.Farewell) -> Int64? {
    var last: Int64?
    while placed < queue.count, queue[placed].arrival < farewell.before {
      let time = queue[placed].media &+ farewell.offset
      settle(at: time)
      last = time
    }
    return last
  }

  private mutating func settle(at time: Int64) {
    var presentation = SessionTime(nanoseconds: time)
    // Pictures are decoded in order, so a clock's correction must never turn the order around.
    if track.kind == .video {
      presentation = max(presentation, lastPresentation)
      lastPresentation = presentation
    }
    queue[placed].presentation = presentation
    if let level = queue[placed].frame.audioLevel { levels.append((presentation, -Int(level))) }
    if levels.count > Self.limit { levels.removeFirst() }
    placed += 1
  }

  /// Takes the next frame whose time has come.
  mutating func dequeue(until time: SessionTime) -> Waiting? {
    guard head < placed, queue[head].presentation <= time else { return nil }
    let first = queue[head]
    head += 1
    return first
  }

  /// Takes the levels of sound whose time has come.
  mutating func hear(until time: SessionTime, _ body: (_ decibels: Int, _ time: SessionTime) -> Void) {
    let due = levels.firstIndex { $0.time > time } ?? levels.count
    guard due > 0 else { return }
    for level in levels[..<due] { body(level.decibels, level.time) }
    levels.removeFirst(due)
  }

  /// Puts a frame on show.
  mutating func show(_ waiting: Waiting, at time: SessionTime) {
    shown = waiting
    lastKnown = nil
    lastFrameAt = time
    // A phone is turned between keyframes.
    let isTurned = waiting.frame.rotation == 90 || waiting.frame.rotation == 270
    displayWidth = isTurned ? codedHeight : codedWidth
    displayHeight = isTurned ? codedWidth : codedHeight
  }

  /// Forgets the picture on show: the track was disabled, or no longer comes.
  mutating func forgetPicture(now: SessionTime) {
    shown = nil
    lastKnown = nil
    wasHidden = false
    lastFrameAt = nil
    enabledSince = now
  }

  /// The bot wants the track otherwise than before. What was shown is not true any more, and a track that comes again
  /// begins anew; but the picture from before it was held back for want of a tile is kept to stand in.
  mutating func receive(_ new: TrackReception, now: SessionTime) {
    let isAboutTiles = new != .lowBandwidth && reception != .lowBandwidth
    let kept = isAboutTiles ? shown?.id ?? lastKnown : nil
    reception = new
    forgetPicture(now: now)
    lastKnown = kept
    wasHidden = isAboutTiles
  }
}
