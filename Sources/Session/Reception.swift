import MediaCore

/// Whether the bot lets the room send it a video track.
public enum TrackReception: String, Sendable, Hashable {
  /// It is wanted. So is every track of which nothing else was said.
  case wanted
  /// No tile shows it, so it is not sent for now.
  case hidden
  /// The connection is too narrow for it.
  case lowBandwidth
}

/// What the bot wants to receive of a video track.
public struct ReceptionWish: Hashable, Sendable {
  /// Which.
  public var track: TrackID
  /// Whether it is to be sent.
  public var reception: TrackReception
  /// Columns that suffice: the service sends the smallest layer that has as many. 0: the best there is.
  public var width: Int
  /// Rows that suffice; 0 together with `width`.
  public var height: Int
  /// Who goes first when the service has to choose: 1 before 2 and so on; 0: not said.
  public var priority: Int

  /// Makes a wish; see the properties.
  public init(track: TrackID, reception: TrackReception, width: Int = 0, height: Int = 0, priority: Int = 0) {
    self.track = track
    self.reception = reception
    self.width = width
    self.height = height
    self.priority = priority
  }
}
