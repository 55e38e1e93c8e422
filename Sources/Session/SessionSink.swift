import MediaCore

/// Where a room connection puts what it hears. Implementations are quick and may be called on any thread; they stamp
/// order and time of arrival.
public protocol SessionSink: AnyObject, Sendable {
  /// Takes one payload.
  func put(_ payload: SessionEvent.Payload)
  /// True while more waits than is good: whoever can should let the sender wait, by reading no further.
  var isCrowded: Bool { get }
  /// Takes what came of a track since the last call: no event of the session, for it decides nothing. About each second.
  func count(_ counts: ReceptionCounts, of track: TrackID)
}

extension SessionSink {
  /// There is room for all.
  public var isCrowded: Bool { false }

  /// Nobody wants to know.
  public func count(_ counts: ReceptionCounts, of track: TrackID) {}
}

/// What the recording asks of the room connection. May be called on any thread; the work is done on the connection's.
public protocol RoomControl: AnyObject, Sendable {
  /// Asks the publisher of a video track for a keyframe (RFC 4585 section 6.3.1); throttled by the connection.
  func requestKeyframe(_ track: TrackID)
  /// Asks again for a track that should have been subscribed.
  func subscribe(_ track: TrackID)
  /// Says what is wanted of some video tracks from now on, in place of what was said of them before. The connection
  /// remembers it across reconnects and tells what it does as `.trackReception`.
  func receive(_ wishes: [ReceptionWish])
  /// Says which video tracks are in view from now on, in place of what was said before: where there are more than can be
  /// received, they go before all others.
  func view(_ tracks: Set<TrackID>)
  /// Leaves the room and closes; `.ended(.stopped)` follows.
  func leave()
}

extension RoomControl {
  /// Does nothing: a room of two sends what there is.
  public func receive(_ wishes: [ReceptionWish]) {}

  /// Does nothing: a room of two sends what there is.
  public func view(_ tracks: Set<TrackID>) {}
}
