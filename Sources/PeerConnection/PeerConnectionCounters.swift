/// What a connection could not use.
public struct PeerConnectionCounters: Hashable, Sendable {
  /// Packets that are not valid RTP.
  public var malformedRTP = 0
  /// Packets whose section could not be told.
  public var unroutedRTP = 0
  /// RTCP packets that contradict themselves.
  public var malformedRTCP = 0
  /// Sources that were not taken because a section had too many.
  public var refusedSources = 0
  /// Nothing counted yet.
  public init() {}
}
