import MediaCore

/// Says where the frames of one publisher lie on the session's clock: the one place where times of sending become times
/// of the recording. A pure value: frames with their arrivals and reports go in, places come out. Nanoseconds.
///
/// 1. **Arrivals rule.** A frame lies where it would have arrived over its stream's shortest way (`StreamWay`). When a
///    stream's clock falls behind (capture stopped without a mute) or leaps, the place of its frames moves by that, at
///    once; the other streams stay where they are.
/// 2. **Reports refine.** The publisher's sound and pictures share its wall clock by their sender reports
///    (`CaptureReports`; RFC 3550 section 6.4.1). They tell by how much one stream's way is longer than the shortest; so
///    much earlier it is placed: lip sync. Until all streams that flow have reports, nothing is taken off. Ways that
///    differ by more than any do are not believed; of streams that have had few reports, only what is usual is.
/// 3. **Sound is never torn.** Once sound has been placed it is moved by at most 5 ms a second, by more only where there
///    is silence, and where its clock has changed. Pictures may be moved at any time, and go wherever their sound is.
/// 4. **What arrives is heard.** Sound that is late together with what comes behind it waits for the verdict on its
///    clock, at most 200 ms. Sound whose instant has passed is placed at the next one that is free, and what follows
///    behind it; the delay is worked off in the next silence. There is an end to that: before a stream has been heard at
///    all, and behind a delay of more than four seconds, what has passed is left out until sound comes in time.
struct PublisherClock: Sendable {
  /// Where a frame belongs.
  enum Place: Sendable, Equatable {
    /// Its instant has not come, or is not known yet.
    case later
    /// At this instant of the session.
    case at(Int64)
    /// Nowhere: silence that is left out, so that sound that was delayed catches up.
    case nowhere
  }

  /// Frames that arrived before an instant belong to a clock that has changed since: media time plus `offset`.
  struct Farewell: Sendable, Equatable {
    var before: Int64
    var offset: Int64
  }

  private struct Stream: Sendable {
    let track: TrackID
    let isAudio: Bool
    let isScreen: Bool
    var way: StreamWay
    var reports = CaptureReports()
    var lastArrival: Int64
    /// Of sound: what is added to media time; of pictures it is worked out.
    var offset: Int64 = 0
    /// Where the last frame was placed, and whether it was silence. Nil before the first.
    var last: (time: Int64, isSilent: Bool)?
    /// Of sound: what has passed is left out, until some comes in time.
    var leavesOut = true
    /// True once it had enough reports to be believed in full.
    var isTrusted = false
    /// The least time from capture to arrival, with unknown clocks: comparable between streams of a publisher.
    var journey: Int64? { reports.mapping.map { way.least &- $0 } }
  }

  private static let slewPerSecond: Int64 = 5_000_000
  /// A stream that sends nothing for so long is not waited for.
  private static let patience: Int64 = 5_000_000_000
  /// The longest that late sound waits for the verdict on its clock.
  private static let suspense: Int64 = 200_000_000
  /// A network that held sound up for longer than this had better not delay all that follows: 4 s.
  static let longestDelay: Int64 = 4_000_000_000
  /// By how much pictures are usually longer on their way than sound: encoding, pacing. Early reports can be wrong by
  /// what a busy sender was late, so before there are some, they count up to here: pictures that come so much before
  /// their sound, and pictures that come so much later than usual, are both still taken as in step (ITU-R BT.1359-1).
  private static let usualDifference: Int64 = 40_000_000
  /// Sound's way is hardly ever longer than the pictures', so early reports that say so do not count.
  private static let audioDifference: Int64 = 200_000_000
  /// Ways that differ by more than this are errors of reports.
  private static let credibleDifference: Int64 = 400_000_000
  /// Silence, dBov.
  private static let silence = -50

  private var streams: [Stream] = []
  /// True once all streams that flowed had reports.
  private var isShared = false
  /// The shortest journey of the streams that flow; nil when reports do not count.
  private var shortest: Int64?
  /// The same of those that are trusted, when there are several.
  private var shortestTrusted: Int64?

  /// Takes a frame of `track` that arrived, in sequence, at `arrival`. When it shows that the track's clock has changed,
  /// tells what that means for the frames that came before.
  mutating func observe(_ frame: EncodedFrame, media: Int64, of track: Track, arrival: Int64) -> Farewell? {
    let index = index(of: track, at: arrival)
    let isFirst = streams[index].last == nil
    let before = offset(index)
    let least = streams[index].way.least
    let wasDoubtful = streams[index].way.doubtfulSince != nil
    let change = streams[index].way.observe(media: media, arrival: arrival, followsLoss: frame.followsLoss)
    let elapsed = max(0, min(arrival &- streams[index].lastArrival, 1_000_000_000))
    streams[index].lastArrival = max(arrival, streams[index].lastArrival)
    if let change {
      apply(change, to: index)
    } else {
      streams[index].reports.quicken(by: max(0, least &- streams[index].way.least))
    }
    // A report that was there before the first doubtful frame is most likely about the clock as it was.
    let isDoubtful = streams[index].way.doubtfulSince != nil
    if let capture = frame.captureTime, !(wasDoubtful && isDoubtful) {
      streams[index].reports.take(capture.nanoseconds &- media, at: arrival, isDoubtful: isDoubtful)
    }
    share(at: arrival)
    follow(index, most: isFirst ? .max : elapsed * Self.slewPerSecond / 1_000_000_000)
    return change.map { Farewell(before: $0.since, offset: before) }
  }

  /// Where the track's next frame, of this media time and arrival, belongs, if that is until `limit`. `now` is the
  /// instant that is planned, `seen` the one until which arrivals are known.
  mutating func place(
    _ frame: EncodedFrame, of track: TrackID, media: Int64, arrival: Int64, now: Int64, until limit: Int64, seen: Int64
  ) -> Place {
    guard let index = streams.firstIndex(where: { $0.track == track }) else { return .later }
    if streams[index].isAudio { catchUp(index) }
    var time = media &+ offset(index)
    guard time <= limit else { return .later }
    guard streams[index].isAudio else { return .at(time) }
    if let since = streams[index].way.doubtfulSince, arrival >= since {
      if seen &- since < Self.suspense { return .later }
      if let change = streams[index].way.decide() {
        apply(change, to: index)
        time = media &+ streams[index].offset
        guard time <= limit else { return .later }
      }
    }
    let isSilent = frame.audioLevel.map { -Int($0) <= Self.silence } ?? false
    if let last = streams[index].last {
      let gap = time &- last.time
      let delay = streams[index].offset &- target(index)
      let pause = gap &- StreamWay.longestPacket
      if pause > 0 {
        // Where nothing was sent, sound may begin anew anywhere.
        streams[index].offset = streams[index].offset &- min(delay, pause)
      } else if gap > 0, delay >= gap, isSilent, last.isSilent {
        streams[index].offset = streams[index].offset &- gap
        return .nowhere
      }
      time = media &+ streams[index].offset
    }
    if time < now {
      // What stands for lost sound holds nothing up.
      if frame.payload.count == 0 { return .nowhere }
      let shortest = streams[index].way.least
      let late = now &- media &- shortest
      if late > (streams[index].leavesOut ? 0 : Self.longestDelay) {
        streams[index].leavesOut = true
        streams[index].offset = shortest
        return .nowhere
      }
      streams[index].offset = streams[index].offset &+ (now &- time)
      time = now
    }
    streams[index].leavesOut = false
    streams[index].last = (time, isSilent)
    return .at(time)
  }

  /// The frames of the old clock of a track that has a new one were placed; the last of them at this instant.
  mutating func settled(_ track: TrackID, at time: Int64) {
    guard let index = streams.firstIndex(where: { $0.track == track }) else { return }
    streams[index].last = (time, false)
  }

  /// Forgets a track that is gone.
  mutating func forget(_ track: TrackID) { streams.removeAll { $0.track == track } }

  // MARK: Offsets

  /// What is added to media time at present.
  private func offset(_ index: Int) -> Int64 {
    guard !streams[index].isAudio else { return streams[index].offset }
    // Pictures go where their sound is.
    let now = streams[index].lastArrival
    for other in streams.indices
    where streams[other].isAudio && streams[other].isScreen == streams[index].isScreen && flows(other, at: now) {
      return target(index) &+ (streams[other].offset &- target(other))
    }
    return target(index)
  }

  /// Where the stream should be: at its shortest way, less by what that is longer than the publisher's shortest.
  private func target(_ index: Int) -> Int64 {
    let stream = streams[index]
    guard let journey = stream.journey else { return stream.way.least }
    if stream.isTrusted, let shortestTrusted {
      let most = stream.isAudio ? Self.audioDifference : Self.credibleDifference
      return stream.way.least &- max(0, min(most, journey &- shortestTrusted))
    }
    guard !stream.isAudio, let shortest else { return stream.way.least }
    return stream.way.least &- max(0, min(Self.usualDifference, journey &- shortest))
  }

  private mutating func apply(_ change: StreamWay.Change, to index: Int) {
    streams[index].reports.move(by: change.shift)
    streams[index].offset = streams[index].offset &+ change.shift
  }

  /// Takes sound that has not been heard yet, or that is far too late, to where it should be at once.
  private mutating func catchUp(_ index: Int) {
    let target = target(index)
    guard streams[index].last == nil || streams[index].offset &- target > Self.longestDelay else { return }
    streams[index].offset = target
    streams[index].leavesOut = true
  }

  /// Moves sound towards where it should be, by at most so much.
  private mutating func follow(_ index: Int, most: Int64) {
    guard streams[index].isAudio else { return }
    let difference = target(index) &- streams[index].offset
    streams[index].offset = streams[index].offset &+ max(-most, min(most, difference))
  }

  // MARK: Reports

  /// Looks at how the ways of the streams compare.
  private mutating func share(at now: Int64) {
    var all = Journeys()
    var trusted = Journeys()
    var haveReports = true
    for index in streams.indices where flows(index, at: now) {
      guard let journey = streams[index].journey else {
        haveReports = false
        continue
      }
      if !streams[index].isTrusted { streams[index].isTrusted = streams[index].reports.areEnough(at: now) }
      all.add(journey)
      if streams[index].isTrusted { trusted.add(journey) }
    }
    if haveReports { isShared = true }
    shortest = isShared ? all.shortest : nil
    shortestTrusted = isShared && trusted.count > 1 ? trusted.shortest : nil
  }

  /// The journeys of some streams.
  private struct Journeys {
    var count = 0
    var least = Int64.max
    var most = Int64.min

    mutating func add(_ journey: Int64) {
      count += 1
      (least, most) = (min(least, journey), max(most, journey))
    }

    /// Nil when there is none, or they can't all be right.
    var shortest: Int64? { count > 0 && most &- least <= PublisherClock.credibleDifference ? least : nil }
  }

  private func flows(_ index: Int, at now: Int64) -> Bool { now &- streams[index].lastArrival < Self.patience }

  private mutating func index(of track: Track, at arrival: Int64) -> Int {
    if let index = streams.firstIndex(where: { $0.track == track.id }) { return index }
    let isAudio = track.kind == .audio
    streams.append(
      Stream(
        track: track.id, isAudio: isAudio,
        isScreen: track.source == .screenShare || track.source == .screenShareAudio,
        way: StreamWay(isAudio: isAudio), lastArrival: arrival))
    return streams.count - 1
  }
}
