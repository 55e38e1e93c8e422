import MediaCore
import Signaling
import Transport

/// One client in a room, from its join to its end. A pure value.
///
/// ```
///            opened               media connects              signal lost
///  joining ─────────► connecting ───────────────► connected ──────────────► resuming
///     │                   │ ▲ │                       │  ▲                     │ │
///     │ can't be opened   │ └─┘ resumes               │  └─────── resumes ─────┘ │ no media, too late,
///     ▼                   │ signal lost, left,        │ left, sent away,         │ sent away
///  refused                ▼ too late, sent away       ▼ media failed             ▼
///                       gone ◄──────────────────────────────────────────────────
/// ```
///
/// Who is refused or gone is no member any more; the room keeps for a while who has gone. Somebody who joins again under
/// the same identity takes the place of the older one, which is sent away.
struct Member: Sendable {
  /// Where in its life a member is.
  enum Presence: Hashable, Sendable {
    /// Its connections are being made; nobody has heard of it.
    case joining
    /// In the room, without the media connection on which it first depends.
    case connecting
    /// Media has been connected, and the signal connection is there.
    case connected
    /// The signal connection was lost.
    case resuming(since: Instant)
  }

  /// How the client wants to be served.
  struct Options: Hashable, Sendable {
    /// Whether tracks come without being asked for.
    var autoSubscribe: Bool
    /// Whether video begins with its smallest layer.
    var adaptiveStream: Bool
    /// Whether video may be paused when bandwidth is short.
    var allowsPause: Bool
    /// Whether it is the second, sending connection of a client.
    var isPublishOnly: Bool
  }

  /// What others read of a member.
  struct Profile: Hashable, Sendable {
    var name: String
    var metadata: String
    var attributes: [String: String]

    /// The longest name, metadata and attributes together, in bytes.
    static let limit = 64 << 10

    /// With these changes: empty texts change nothing, an empty attribute goes. Nil when it would be too long.
    func changed(name: String, metadata: String, attributes: [String: String]) -> Profile? {
      var size = name.utf8.count + metadata.utf8.count
      for (key, value) in self.attributes.merging(attributes, uniquingKeysWith: { $1 }) {
        size += key.utf8.count + value.utf8.count
      }
      guard size <= Self.limit else { return nil }
      var result = self
      if !name.isEmpty { result.name = name }
      if !metadata.isEmpty { result.metadata = metadata }
      for (key, value) in attributes { result.attributes[key] = value.isEmpty ? nil : value }
      return result
    }
  }

  /// Its media connections as far as they are there.
  struct Media: Hashable, Sendable {
    /// Nil without the right to receive.
    var subscriber: TransportState?
    /// Nil until the client publishes.
    var publisher: TransportState?
    /// Since when one of them has failed.
    var failedAt: Instant?
    /// Since when one is waited for.
    var connectingSince: Instant

    /// True while all of those that are there can carry media.
    var isConnected: Bool {
      (subscriber ?? .connected) == .connected && (publisher ?? .connected) == .connected
        && (subscriber != nil || publisher != nil)
    }
  }

  /// What a member's time has come for.
  enum Due: Hashable, Sendable {
    case leave(Livekit_DisconnectReason, Livekit_LeaveRequest.Action)
    case renewToken
  }

  /// How often the token is renewed.
  static let renewalInterval = Duration.seconds(300)
  /// How long a client whose media connection failed may go on without a word.
  static let mediaGrace = Duration.seconds(2)
  /// How long a client is waited for of which neither signalling nor media is heard.
  static let silenceGrace = Duration.seconds(5)
  /// Renewed tokens hold at least so many seconds.
  static let renewedLifetime: Int64 = 600

  /// `PA_…`; new for each join.
  let sid: String
  /// As in the token, with which it joined.
  let token: AccessToken
  /// How it wants to be served.
  let options: Options
  /// When it joined.
  let joinedAt: Moment
  /// Where in its life it is.
  private(set) var presence = Presence.joining
  /// Its signal connection; nil while that is lost.
  private(set) var link: SignalID?
  /// What it may do: what the token allows, until somebody changes that.
  private(set) var grant: VideoGrant
  /// What others read of it.
  private(set) var profile: Profile
  /// Counts the changes of what clients see of it.
  private(set) var version: UInt32 = 1
  /// Its media connections.
  private(set) var media: Media
  /// Since when it has not heard what happens in the room; nil while it hears.
  private(set) var unheardSince: Instant?
  private var renewedAt = Instant.distantPast
  /// How loud it speaks, 0...1.
  private(set) var speakerLevel: Float = 0
  /// The number of the last reliable data packet that came of it.
  private(set) var lastReliableSequence: UInt32 = 0
  /// What it announced and publishes.
  var tracks = MemberTracks()
  /// What it receives, and wants to.
  var subscriptions = MemberSubscriptions()
  /// Who may receive its tracks, when it has limited that.
  var permission: Livekit_SubscriptionPermission?

  /// A client that joins now.
  init(sid: String, _ request: JoinRequest, link: SignalID, pausesVideo: Bool, at now: Moment) {
    self.sid = sid
    self.link = link
    token = request.token
    grant = request.grant
    options = Options(
      autoSubscribe: request.query.autoSubscribe, adaptiveStream: request.query.adaptiveStream,
      allowsPause: request.query.subscriberAllowPause ?? pausesVideo,
      isPublishOnly: request.query.publish?.isEmpty == false)
    profile = Profile(
      name: request.token.name ?? "", metadata: request.token.metadata ?? "", attributes: request.attributes)
    joinedAt = now
    media = Media(connectingSince: now.steady)
    if mayReceive { media.subscriber = .new }
  }

  /// As in the token.
  var identity: String { token.identity }

  /// Shown to the others.
  var isVisible: Bool { grant.hidden != true }

  /// Doesn't keep the room.
  var isDependent: Bool {
    grant.hidden == true || grant.recorder == true || token.kind == "egress" || token.kind == "agent"
  }

  /// Whether a receiving connection is for it.
  var mayReceive: Bool { grant.allowsSubscribe && !options.isPublishOnly }

  /// Whether it has a receiving connection.
  var receives: Bool { media.subscriber != nil }

  // MARK: Life

  /// Its connections are there.
  mutating func opened() { if presence == .joining { presence = .connecting } }

  /// One of its media connections is in another state. True when others are to hear of it.
  mutating func note(_ state: TransportState, of leg: MediaLeg, at now: Moment) -> Bool {
    switch leg {
    case .publisher: media.publisher = state
    case .subscriber: media.subscriber = state
    }
    switch state {
    case .connected:
      guard leg == .subscriber || media.subscriber == nil, presence == .connecting else { return false }
      presence = .connected
      return true
    case .failed, .closed:
      // A client that leaves closes its media first; its word may be on the way.
      media.failedAt = media.failedAt ?? now.steady
      return false
    case .new, .connecting, .disconnected: return false
    }
  }

  /// A publishing connection was made.
  mutating func publisherOpened() { media.publisher = media.publisher ?? .new }

  /// A receiving connection is to be made, with another one to wait for.
  mutating func subscriberOpened(at now: Moment) {
    media.subscriber = .new
    media.connectingSince = now.steady
  }

  /// The receiving connection could not be made.
  mutating func subscriberFailed() {
    media.subscriber = nil
    _ = subscriptions.removeAll()
  }

  /// The signal connection is gone. False when the session ends with it: a client is waited for that had media.
  mutating func lostSignal(at now: Moment) -> Bool {
    link = nil
    guard presence == .connected, media.failedAt == nil else { return false }
    presence = .resuming(since: now.steady)
    // A connection may be dead long before that is noticed: what was sent on it may not have been heard.
    unheardSince = unheardSince ?? joinedAt.steady
    return true
  }

  /// It goes on, on another signal connection.
  mutating func resume(on link: SignalID) {
    // The client knew before us that it was lost.
    if self.link != nil { unheardSince = unheardSince ?? joinedAt.steady }
    if case .resuming = presence { presence = .connected }
    self.link = link
    media.failedAt = nil
  }

  /// It has heard nothing since then.
  mutating func missed(since: Instant) { unheardSince = min(unheardSince ?? since, since) }

  /// What it hasn't heard is told now: since when that is; nil when it has heard everything, or can't hear.
  mutating func takeUnheard() -> Instant? {
    guard link != nil else { return nil }
    defer { unheardSince = nil }
    return unheardSince
  }

  /// What is due; `limits` are the server's.
  func due(at now: Moment, _ limits: RoomMachine.Limits) -> Due? {
    if case .resuming(let lostAt) = presence {
      let waited = now.steady - lostAt
      // A client that closes both of its connections has gone; one that falls silent may be behind a broken network.
      let isGone = media.failedAt != nil || !media.isConnected && waited > Self.silenceGrace
      if isGone || waited > limits.resumeTime { return .leave(.signalClose, .disconnect) }
    }
    if let failedAt = media.failedAt, now.steady - failedAt > Self.mediaGrace {
      // The client is told to come anew; if it is dead, nobody hears that.
      return .leave(.connectionTimeout, .reconnect)
    }
    let mustConnect =
      presence == .connecting && (media.subscriber != nil || media.publisher != nil || grant.allowsPublish)
    if mustConnect, now.steady - media.connectingSince > limits.connectTime {
      return .leave(.joinFailure, .disconnect)
    }
    return now.steady - renewedAt > Self.renewalInterval ? .renewToken : nil
  }

  // MARK: What others see

  /// Something that others see has changed.
  mutating func touch() { version &+= 1 }

  /// Other rights.
  mutating func setGrant(_ new: VideoGrant) { grant = new }

  /// Other things for others to read.
  mutating func setProfile(_ new: Profile) { profile = new }

  /// How loud it speaks; true when that has changed.
  mutating func setSpeakerLevel(_ level: Float) -> Bool {
    defer { speakerLevel = level }
    return level != speakerLevel
  }

  /// A reliable packet with this number came; false when it had come already.
  mutating func takeSequence(_ sequence: UInt32) -> Bool {
    guard sequence > lastReliableSequence else { return false }
    lastReliableSequence = sequence
    return true
  }

  /// The claims with which it can come back later.
  mutating func renewedToken(at now: Moment) -> AccessToken {
    renewedAt = now.steady
    var fresh = token
    let seconds = now.wall / 1_000_000
    fresh.notBefore = seconds
    fresh.expires = max(token.expires, seconds &+ Self.renewedLifetime)
    fresh.name = profile.name
    fresh.metadata = profile.metadata
    fresh.attributes = profile.attributes
    fresh.video = grant
    return fresh
  }

  /// As clients see it; with a reason, after its end.
  func info(ended reason: Livekit_DisconnectReason? = nil) -> Livekit_ParticipantInfo {
    var info = Livekit_ParticipantInfo()
    info.sid = sid
    info.identity = identity
    info.name = profile.name
    info.metadata = profile.metadata
    info.attributes = profile.attributes
    switch presence {
    case .joining, .connecting: info.state = .joined
    case .connected, .resuming: info.state = .active
    }
    info.version = version
    info.joinedAt = joinedAt.wall / 1_000_000
    info.joinedAtMs = joinedAt.wall / 1000
    info.tracks = tracks.published.map(\.info)
    info.isPublisher = grant.allowsPublish
    info.kind = ServerIdentity.kind(token.kind)
    info.permission = ServerIdentity.permission(grant)
    if let reason {
      info.state = .disconnected
      info.disconnectReason = reason
    }
    return info
  }

  /// Its loudness as clients are told of it.
  var speakerInfo: Livekit_SpeakerInfo {
    var info = Livekit_SpeakerInfo()
    info.sid = sid
    info.level = speakerLevel
    info.active = speakerLevel > 0
    return info
  }

  /// Whether somebody may receive one of its tracks.
  func allows(_ other: Member, _ track: String) -> Bool {
    guard let permission, !permission.allParticipants else { return true }
    return permission.trackPermissions.contains { entry in
      (entry.participantIdentity == other.identity || entry.participantSid == other.sid)
        && (entry.allTracks || entry.trackSids.contains(track))
    }
  }
}
