import MediaCore

/// Something that a viewer of the file may want to find again.
public enum TimelineEvent: Hashable, Sendable {
  /// The recording began.
  case started(room: String)
  /// Somebody came, or was there already when the recording began.
  case joined(ParticipantIdentity, name: String)
  /// Somebody left.
  case left(ParticipantIdentity, name: String)
  /// Somebody has another display name.
  case renamed(ParticipantIdentity, name: String)
  /// A camera, microphone, screen… is published.
  case published(TrackID, ParticipantIdentity, TrackSource)
  /// It is no longer published.
  case unpublished(TrackID, ParticipantIdentity, TrackSource)
  /// A track is disabled (true) or enabled again (false).
  case muted(TrackID, ParticipantIdentity, TrackSource, Bool)
  /// A track is received again (true) after it was taken away (false): the room's owner, the publisher or the service
  /// decided so.
  case subscribed(TrackID, ParticipantIdentity, TrackSource, Bool)
  /// Why a track cannot be shown or heard although it is published; nil: it can be, from now on.
  case obstacle(TrackID, ParticipantIdentity, TrackSource, TrackObstacle?)
  /// The service holds a track back because the connection is too narrow (true), or lets it flow again (false).
  case lowBandwidth(TrackID, ParticipantIdentity, Bool)
  /// Somebody has become the active talker.
  case talker(ParticipantIdentity, name: String)
  /// The list of active talkers, of whom the picture shows at most so many, has changed.
  case activeTalkers([ParticipantIdentity])
  /// The pictures of a track have another size now: columns and rows as they are displayed.
  case resolution(TrackID, ParticipantIdentity, TrackSource, Int, Int)
  /// A track comes in a codec, or a form of one, that can't be shown.
  case unsupportedCodec(TrackID, ParticipantIdentity, TrackSource, String)
  /// The number of videos that the connection carries has changed.
  case bandwidth(BandwidthAlert)
  /// Media take this way between the machine and the room from now on.
  case path(NetworkPath)
  /// An application sent something; with the sender's display name.
  case data(DataMessage, name: String)
  /// Somebody wrote to the others.
  case chat(ChatMessage, name: String)
  /// Somebody's speech was written down.
  case caption(Caption, name: String)
  /// Another layout is in force.
  case layout(String)
  /// The layout shows another of its scenes.
  case scene(String)
  /// Somebody is pinned.
  case pinned(String)
  /// Somebody is no longer pinned; nil: nobody is.
  case unpinned(String?)
  /// Somebody has the spotlight; nil: nobody has it any more.
  case spotlight(String?)
  /// From now on this is done to somebody's pictures and sound.
  case processors(ParticipantIdentity, name: String, TrackProcessors)
  /// The recording has another title.
  case title(String)
  /// Somebody put a mark here.
  case marker(String)
  /// The recording is paused.
  case paused(PausePolicy)
  /// The recording goes on.
  case resumed
  /// The connection to the room is lost; the text says what happened.
  case connectionLost(String)
  /// The connection is back.
  case connectionRestored
  /// From now on the recording does without this, for lack of processor time; `none`: without nothing any more.
  case degradation(DegradationStep)
  /// The recording ended.
  case ended(SessionEnd)
}

/// One line of a recording's timeline.
public struct TimelineEntry: Hashable, Sendable {
  /// When, in the file: the first picture that shows it is at this time or up to one picture later.
  public var time: SessionTime
  /// When, in the session: the same, with the cuts.
  public var sessionTime: SessionTime
  /// What.
  public var event: TimelineEvent

  /// Makes an entry; see the properties.
  public init(time: SessionTime, sessionTime: SessionTime, event: TimelineEvent) {
    self.time = time
    self.sessionTime = sessionTime
    self.event = event
  }
}
