import MediaCore
import Session
import Signaling

/// Who is in a LiveKit room and what they publish, from the server's `ParticipantInfo`s: versions only grow, a person
/// who comes back has a new session id, and the bot itself is left out.
struct LiveKitRoster: Sendable {
  /// One person's current session.
  private struct Entry {
    var sid: String
    var joinedAt: Int64
    var participant: Participant
    var tracks: Set<TrackID> = []
  }

  private var entries: [ParticipantIdentity: Entry] = [:]
  private var tracks: [TrackID: Track] = [:]
  private var identities: [String: ParticipantIdentity] = [:]
  /// The newest version of each session, of ended ones too: late updates about them must not bring them back.
  private var versions: [String: UInt32] = [:]
  /// How many versions may be remembered before those of ended sessions are forgotten.
  private var versionLimit = 8192
  private var ownIdentity = ""
  private var ownSID = ""
  /// What is left out of it is not there.
  private let selection: RoomSelection
  /// Tracks that are encrypted end to end: their frames mean nothing to us.
  private(set) var encrypted: Set<TrackID> = []
  /// In which codec they are, as far as that is announced.
  private(set) var encryptedCodecs: [TrackID: Codec] = [:]
  /// What may be otherwise than the recording was told.
  var changes = RoomChanges()

  /// An empty room.
  init(selection: RoomSelection = RoomSelection()) { self.selection = selection }

  /// Starts anew: the room as it is in a join response.
  mutating func reset(own: Livekit_ParticipantInfo, others: [Livekit_ParticipantInfo]) {
    self = LiveKitRoster(selection: selection)
    ownIdentity = own.identity
    ownSID = own.sid
    for info in others { apply(info) }
  }

  /// Takes an update. Updates that are older than what is known, or about a session that is over, change nothing.
  mutating func apply(_ info: Livekit_ParticipantInfo) {
    guard !info.sid.isEmpty, !info.identity.isEmpty, info.sid != ownSID,
      info.identity != ownIdentity,
      !info.permission.hidden, info.kind != .egress
    else { return }
    if let version = versions[info.sid], info.version < version { return }
    // A participant that is over and not newer than its end stays over.
    if info.version == versions[info.sid], identities[info.sid] == nil { return }
    if versions.count >= versionLimit {
      versions = versions.filter { identities[$0.key] != nil }
      versionLimit = max(8192, 2 * versions.count)
    }
    versions[info.sid] = info.version

    let identity = ParticipantIdentity(info.identity)
    let joinedAt = info.joinedAtMs != 0 ? info.joinedAtMs : info.joinedAt &* 1000
    if let entry = entries[identity], entry.sid != info.sid {
      // Another session of the same person: the younger one counts.
      if info.state == .disconnected || (joinedAt != 0 && joinedAt < entry.joinedAt) { return }
      remove(identity)
    }
    if info.state == .disconnected {
      if entries[identity]?.sid == info.sid { remove(identity) }
      return
    }
    var entry = Entry(
      sid: info.sid, joinedAt: joinedAt,
      participant: Participant(
        identity: identity, name: info.name, metadata: info.metadata, attributes: info.attributes, isBot: info.isBot))
    let old = entries[identity]?.tracks ?? []
    var known: [TrackID: Track] = [:]
    for id in old { forgetEncryption(of: id) }
    for track in info.tracks {
      guard let kind = track.mediaKind, !track.sid.isEmpty else { continue }
      let id = TrackID(track.sid)
      let announced = Track(
        id: id, participant: identity, kind: kind, source: track.trackSource, name: track.name,
        isMuted: track.muted)
      // What belongs to somebody else stays theirs.
      guard selection.includes(announced), tracks[id].map({ $0.participant == identity }) ?? true else { continue }
      known[id] = announced
      guard track.encryption != .none else { continue }
      encrypted.insert(id)
      encryptedCodecs[id] = Codec.allCases.first { $0.mimeType.lowercased() == track.mimeType.lowercased() }
    }
    guard selection.includes(identity), selection.tracks == nil || !known.isEmpty else {
      remove(identity)
      return
    }
    for id in old where known[id] == nil { tracks[id] = nil }
    tracks.merge(known) { $1 }
    entry.tracks = Set(known.keys)
    entries[identity] = entry
    identities[info.sid] = identity
    changes.add(identity)
    for id in old.union(entry.tracks) { changes.add(id) }
  }

  private mutating func forgetEncryption(of id: TrackID) {
    encrypted.remove(id)
    encryptedCodecs[id] = nil
  }

  /// True when nobody is there.
  var isEmpty: Bool { entries.isEmpty }

  /// Somebody who is there.
  func participant(_ identity: ParticipantIdentity) -> Participant? { entries[identity]?.participant }

  /// What somebody publishes now, in the order of the ids.
  func tracks(of identity: ParticipantIdentity) -> [Track] {
    (entries[identity]?.tracks ?? []).sorted().compactMap { tracks[$0] }
  }

  /// All that is published.
  var allTracks: Dictionary<TrackID, Track>.Values { tracks.values }

  /// Whose session this is; nil for unknown ones and the bot's own.
  func identity(ofSession sid: String) -> ParticipantIdentity? { identities[sid] }

  /// The session id of a person.
  func session(of identity: ParticipantIdentity) -> String? { entries[identity]?.sid }

  /// A track that is published now.
  func track(_ id: TrackID) -> Track? { tracks[id] }

  /// A track in words, for the log: `the camera of Ann (TR_x)`.
  func name(of id: TrackID) -> String {
    let short = PeerText.line(id.rawValue, limit: 64)
    guard let track = track(id) else { return "the track \(short)" }
    let what =
      switch track.source {
      case .camera: "camera"
      case .microphone: "microphone"
      case .screenShare: "screen"
      case .screenShareAudio: "screen's sound"
      case .unknown: track.kind == .video ? "video" : "sound"
      }
    let person = entries[track.participant]?.participant.displayName ?? track.participant.rawValue
    return "the \(what) of \(PeerText.line(person, limit: 80)) (\(short))"
  }

  /// People and tracks, as the recording sees them. Costs as much as there is.
  var state: RoomState {
    var state = RoomState()
    state.participants = entries.mapValues(\.participant)
    state.tracks = tracks
    return state
  }

  private mutating func remove(_ identity: ParticipantIdentity) {
    guard let entry = entries.removeValue(forKey: identity) else { return }
    identities[entry.sid] = nil
    changes.add(identity)
    for id in entry.tracks {
      forgetEncryption(of: id)
      tracks[id] = nil
      changes.add(id)
    }
  }
}

extension Livekit_ParticipantInfo {
  /// Agents and recorders: what the server itself does not keep a room open for. Callers and ingress are people.
  fileprivate var isBot: Bool { kind == .agent || kind == .egress || permission.recorder || permission.agent }
}

extension Livekit_TrackInfo {
  /// Sound or pictures; nil for data tracks and unknown types.
  var mediaKind: MediaKind? {
    switch type {
    case .audio: .audio
    case .video: .video
    case .data, .UNRECOGNIZED: nil
    }
  }

  /// The source in the project's terms.
  var trackSource: TrackSource {
    switch source {
    case .camera: .camera
    case .microphone: .microphone
    case .screenShare: .screenShare
    case .screenShareAudio: .screenShareAudio
    case .unknown, .UNRECOGNIZED: .unknown
    }
  }
}
