import MediaCore

/// Gives frames their places on the time line: each publisher has a clock, which their frames tell, and a frame waits until
/// what has arrived says where it belongs.
struct FramePlaces: Sendable {
  private var clocks: [ParticipantIdentity: PublisherClock] = [:]
  /// Tracks that have frames without places.
  private var unplaced: [TrackID] = []

  /// Takes a frame of a track that exists, and what it tells of its publisher's clock.
  mutating func observe(
    _ frame: EncodedFrame, _ id: FrameID, of owner: Track, arrived: SessionTime, in tracks: inout Publications
  ) {
    let media = MediaTime(ticks: frame.rtpTime, rate: frame.codec.clockRate).nanoseconds
    let arrival = (arrived - frame.held).nanoseconds
    // What stands for lost sound has not arrived.
    if frame.payload.count > 0 || owner.kind == .video {
      let farewell = clocks[owner.participant, default: PublisherClock()].observe(
        frame, media: media, of: owner, arrival: arrival)
      if let farewell, let last = tracks[owner.id]?.settle(farewell) {
        clocks[owner.participant]?.settled(owner.id, at: last)
      }
    }
    tracks[owner.id]?.enqueue(id, frame, media: media, arrival: arrival)
    guard tracks[owner.id]?.isAwaitingPlaces == false else { return }
    tracks[owner.id]?.isAwaitingPlaces = true
    unplaced.append(owner.id)
  }

  /// Gives the frames that are due their places, by all that has arrived until `seen`: of sound those that are due until
  /// `soundUntil`.
  mutating func place(
    at time: SessionTime, soundUntil: SessionTime, seen: SessionTime, in tracks: inout Publications
  ) {
    var kept = 0
    for index in unplaced.indices {
      let id = unplaced[index]
      guard let track = tracks[id]?.track else { continue }
      tracks[id]?.place(
        now: time, until: track.kind == .audio ? soundUntil : time, seen: seen,
        by: &clocks[track.participant, default: PublisherClock()])
      if tracks[id]?.hasUnplaced == true {
        unplaced[kept] = id
        kept += 1
      } else {
        tracks[id]?.isAwaitingPlaces = false
      }
    }
    unplaced.removeLast(unplaced.count - kept)
  }

  /// Somebody left, and their clock with them.
  mutating func forget(_ identity: ParticipantIdentity) { clocks[identity] = nil }

  /// A track of somebody is gone.
  mutating func forget(_ id: TrackID, of identity: ParticipantIdentity) { clocks[identity]?.forget(id) }
}
