import MediaCore

/// How a service rates a connection (LiveKit's `ConnectionQuality`).
public enum ConnectionQuality: String, Sendable, Hashable {
  /// Nothing was said.
  case unknown
  /// As good as can be.
  case excellent
  /// Some loss or delay.
  case good
  /// Bad enough to be noticed.
  case poor
  /// Nothing comes any more.
  case lost
}

/// What the bot's connection brought in during the last second or so.
public struct NetworkReport: Hashable, Sendable {
  /// Packets of media in all, bits a second, with their headers and with what was sent again.
  public var incoming: Int64
  /// Payload of sound, bits a second.
  public var incomingAudio: Int64
  /// Payload of pictures, bits a second.
  public var incomingVideo: Int64
  /// Video streams that brought anything.
  public var flowingVideos: Int
  /// Packets that did not come at first, in 1/1000 of all: the share of the stream in the middle, so that one
  /// publisher's own trouble does not count for all.
  public var lossPerMille: Int
  /// The standing queue on the way: by how much even the quickest packet was later than the quickest of the last half
  /// minute, in the stream that suffered least. Bursts, jitter and one publisher's own trouble do not show here.
  public var queueDelay: Duration
  /// What the path can carry, bits a second, by the feedback that was negotiated (REMB); nil without.
  public var estimate: Int64?
  /// The service's own word.
  public var quality: ConnectionQuality
  /// The way that media take; nil while that is not known.
  public var path: NetworkPath?

  /// Makes a report; see the properties.
  public init(
    incoming: Int64 = 0, incomingAudio: Int64 = 0, incomingVideo: Int64 = 0, flowingVideos: Int = 0,
    lossPerMille: Int = 0, queueDelay: Duration = .zero, estimate: Int64? = nil,
    quality: ConnectionQuality = .unknown, path: NetworkPath? = nil
  ) {
    self.incoming = incoming
    self.incomingAudio = incomingAudio
    self.incomingVideo = incomingVideo
    self.flowingVideos = flowingVideos
    self.lossPerMille = lossPerMille
    self.queueDelay = queueDelay
    self.estimate = estimate
    self.quality = quality
    self.path = path
  }
}

/// Tells that the number of videos that can be received has changed (EnableX's `didRoomBandwidthAlert`).
public struct BandwidthAlert: Hashable, Sendable {
  /// What the connection carries, kbit/s.
  public var bandwidth: Int
  /// What one video takes on average, kbit/s.
  public var streamBandwidth: Int
  /// How many videos can be received; 0 means sound only.
  public var numberOfVideos: Int
  /// False when this is all that there are: the end of the shortage.
  public var isLimited: Bool

  /// Makes an alert; see the properties.
  public init(bandwidth: Int, streamBandwidth: Int, numberOfVideos: Int, isLimited: Bool) {
    self.bandwidth = bandwidth
    self.streamBandwidth = streamBandwidth
    self.numberOfVideos = numberOfVideos
    self.isLimited = isLimited
  }
}
