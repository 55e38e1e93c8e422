import MediaCore

/// What is known of one publication, and its frames that are waiting for their instant.
struct TrackState: Sendable {
  /// One frame with its place on the output's time line.
  struct Waiting: Sendable {
    var id: FrameID
    var presentation: SessionTime
    var frame: EncodedFrame
  }

  var track: Track
  var isSubscribed = false
  var isPaused = false
  /// Whether the bot lets it be sent.
  var reception = TrackReception.wanted
  /// The size that was noted last.
  var notedWidth = 0
  /// See `notedWidth`.
  var notedHeight = 0
  /// When the current state of "subscribed and enabled" began: frames from before are never shown.
  var enabledSince: SessionTime
  /// The picture on show: the last frame that was given to the decoder, and when it was due.
  var shown: Waiting?
  /// When the last frame was due, whether or not it is still shown.
  var lastFrameAt: SessionTime?
  /// Size of the pictures as they are displayed (after rotation), from the last keyframe; 0 when unknown.
  private(set) var displayWidth = 0
  /// See `displayWidth`.
  private(set) var displayHeight = 0
  /// When the last frame came; nil before the first.
  private(set) var lastArrival: SessionTime?
  /// True when the last frame had a capture time: the stream has a sender report.
  private(set) var hasReport = false
  /// The capture clock against the media clock, ns, by the last report, and how many different ones there were.
  private var mapping: Int64?
  private var mappings = 0
  private var firstReportAt: SessionTime?
  /// The shortest way of this stream by its own reports.
  private var ownWay = OffsetEstimator()
  /// Pictures that reference missing ones are not decoded.
  var needsKeyframe = true
  var lastKeyframeRequest: SessionTime?
  var lastSubscribeRequest: SessionTime?
  /// Levels of sound that are not due yet, dBov.
  private var levels: [(time: SessionTime, decibels: Int)] = []
  private(set) var queue: [Waiting] = []
  private var head = 0
  private var offset = OffsetEstimator()
  private var lastPresentation: SessionTime?

  /// By how much pictures are usually longer on their way than sound: encoding, pacing.
  private static let wayDifference: Int64 = 60_000_000
  /// More frames than this are never kept: ten seconds at 60 a second.
  private static let limit = 600

  init(track: Track, now: SessionTime) {
    self.track = track
    enabledSince = now
  }

  /// True while the connection is too narrow for it, by the service's word or by ours.
  var isHeldBack: Bool { isPaused || reception == .lowBandwidth }
  /// True when the truth table lets media through.
  var isEnabled: Bool { isSubscribed && !track.isMuted }

  /// True for pictures that should flow.
  var isWatched: Bool { isEnabled && track.kind == .video }

  /// The time of the frame on the session's clock, by its publisher's clock when that is in use, and by its own
  /// arrival otherwise.
  mutating func presentation(
    of frame: EncodedFrame, arrived: SessionTime, publisher: inout PublisherClock
  ) -> SessionTime {
    let media = MediaTime(ticks: frame.rtpTime, rate: frame.codec.clockRate).nanoseconds
    let now = arrived.nanoseconds
    // Pictures may be moved at any time; sound only while nobody can have got used to it.
    offset.observe(sent: media, arrival: now, steps: track.kind == .video || offset.isSettling(at: now))
    var time = media &+ (offset.offset ?? 0)
    lastArrival = arrived
    hasReport = frame.captureTime != nil
    if let capture = frame.captureTime {
      note(mapping: capture.nanoseconds &- media, at: arrived)
      ownWay.observe(sent: capture.nanoseconds, arrival: now, steps: true)
      publisher.observe(capture: capture.nanoseconds, arrival: now)
      if publisher.isShared, let shared = publisher.estimator.offset, let own = ownWay.offset {
        // Early reports can be wrong by what a busy sender was late; until there are some, they move pictures only
        // by what the ways of sound and pictures usually differ.
        let isTrusted = publisher.isTrusted || track.kind == .audio
        time = capture.nanoseconds &+ (isTrusted ? shared : max(shared, own &- Self.wayDifference))
      }
    }
    // Pictures are decoded in order, so a clock correction must never turn the order around.
    if let last = lastPresentation, track.kind == .video { time = max(time, last.nanoseconds) }
    let result = SessionTime(nanoseconds: time)
    lastPresentation = result
    return result
  }

  /// True when there have been enough reports to believe them against the times of arrival.
  var hasTrustedReports: Bool {
    guard let firstReportAt, let lastArrival else { return false }
    // A steady clock gives the same mapping each time, so time counts as well.
    return mappings >= 4 || lastArrival - firstReportAt > .seconds(20)
  }

  private mutating func note(mapping new: Int64, at now: SessionTime) {
    if let mapping, (mapping &- new).magnitude < 100_000 { return }
    mapping = new
    mappings += 1
    firstReportAt = firstReportAt ?? now
  }

  /// Queues a frame. When far too many wait, the oldest go: the decoder then needs a keyframe.
  mutating func enqueue(_ waiting: Waiting) {
    queue.append(waiting)
    if let level = waiting.frame.audioLevel { levels.append((waiting.presentation, -Int(level))) }
    if levels.count > Self.limit { levels.removeFirst() }
    if queue.count - head > Self.limit {
      head += 1
      needsKeyframe = true
    }
    if head > 64, head * 2 > queue.count {
      queue.removeFirst(head)
      head = 0
    }
  }

  /// Takes the next frame whose time has come.
  mutating func dequeue(until time: SessionTime) -> Waiting? {
    guard head < queue.count, queue[head].presentation <= time else { return nil }
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
    lastFrameAt = time
    guard waiting.frame.isKeyframe else { return }
    let isTurned = waiting.frame.rotation == 90 || waiting.frame.rotation == 270
    displayWidth = isTurned ? waiting.frame.height : waiting.frame.width
    displayHeight = isTurned ? waiting.frame.width : waiting.frame.height
  }

  /// Forgets the picture on show: the track was disabled, or no longer comes.
  mutating func forgetPicture(now: SessionTime) {
    shown = nil
    lastFrameAt = nil
    enabledSince = now
  }
}
