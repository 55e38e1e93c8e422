/// What a LiveKit access token allows in a room: the `video` claim. Absent values mean what the protocol says they
/// mean, see the `allows…` properties.
public struct VideoGrant: Codable, Hashable, Sendable {
  /// The room that the token is for.
  public var room: String?
  /// May join that room.
  public var roomJoin: Bool?
  /// May create and delete rooms.
  public var roomCreate: Bool?
  /// May list rooms.
  public var roomList: Bool?
  /// May start recordings.
  public var roomRecord: Bool?
  /// May administrate the room.
  public var roomAdmin: Bool?
  /// May publish tracks; absent means yes.
  public var canPublish: Bool?
  /// May receive tracks; absent means yes.
  public var canSubscribe: Bool?
  /// May send data; absent means the same as `canPublish`.
  public var canPublishData: Bool?
  /// The only sources that may be published (`camera`, `microphone`, `screen_share`, `screen_share_audio`); absent or
  /// empty means all.
  public var canPublishSources: [String]?
  /// May change its own name, metadata and attributes; absent means no.
  public var canUpdateOwnMetadata: Bool?
  /// Not shown to the others.
  public var hidden: Bool?
  /// Records the room: the room says so to everybody, and such a participant doesn't keep it open.
  public var recorder: Bool?

  /// Makes a grant; everything that is not named stays absent.
  public init(
    room: String? = nil, roomJoin: Bool? = nil, canPublish: Bool? = nil, canSubscribe: Bool? = nil,
    canPublishData: Bool? = nil, hidden: Bool? = nil, recorder: Bool? = nil
  ) {
    self.room = room
    self.roomJoin = roomJoin
    self.canPublish = canPublish
    self.canSubscribe = canSubscribe
    self.canPublishData = canPublishData
    self.hidden = hidden
    self.recorder = recorder
  }

  /// `canPublish` with its default.
  public var allowsPublish: Bool { canPublish ?? true }
  /// `canSubscribe` with its default.
  public var allowsSubscribe: Bool { canSubscribe ?? true }
  /// `canPublishData` with its default.
  public var allowsData: Bool { canPublishData ?? allowsPublish }
  /// True when a track of this source may be published.
  public func allowsPublishing(_ source: Livekit_TrackSource) -> Bool {
    guard let sources = canPublishSources, !sources.isEmpty else { return allowsPublish }
    return sources.contains(source.claimName)
  }
}

extension Livekit_TrackSource {
  /// How tokens spell the source.
  public var claimName: String {
    switch self {
    case .camera: "camera"
    case .microphone: "microphone"
    case .screenShare: "screen_share"
    case .screenShareAudio: "screen_share_audio"
    case .unknown, .UNRECOGNIZED: "unknown"
    }
  }
}
