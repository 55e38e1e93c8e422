import MediaCore
import Session

/// The part of a room that is received and shown: everybody and everything unless said. What is left out is not there for
/// the recording: it isn't received, and people of whom nothing is selected are not shown or counted.
public struct RoomSelection: Sendable, Hashable {
  /// Only this person; nil: everybody.
  public var participant: ParticipantIdentity?
  /// Only these tracks, and the people who publish them; nil: all.
  public var tracks: Set<TrackID>?
  /// Only tracks from these sources; nil: all.
  public var sources: Set<TrackSource>?
  /// Only sound or only pictures; nil: both.
  public var kind: MediaKind?

  /// Everything.
  public init() {}

  /// True when nothing is left out.
  public var isEverything: Bool { self == RoomSelection() }

  /// True for a track that is received.
  public func includes(_ track: Track) -> Bool {
    includes(track.participant) && tracks?.contains(track.id) ?? true && sources?.contains(track.source) ?? true
      && (kind ?? track.kind) == track.kind
  }

  /// True for a person who may be shown.
  public func includes(_ participant: ParticipantIdentity) -> Bool {
    self.participant.map { $0 == participant } ?? true
  }
}
