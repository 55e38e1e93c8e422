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
    var tracks: [TrackID: Track] = [:]
  }

  private var entries: [ParticipantIdentity: Entry] = [:]
  private var identities: [String: ParticipantIdentity] = [:]
  /// The newest version of each session, of ended ones too: late updates about them must not bring them back.
  private var versions: [String: UInt32] = [:]
  private var ownIdentity = ""
  private var ownSID = ""
  /// What is left out of it is not there.
  private let selection: RoomSelection
  /// Tracks that are encrypted end to end: their frames mean nothing to us.
  private(set) var encrypted: Set<TrackID> = []

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
    if versions.count >= 8192 { versions = versions.filter { identities[$0.key] != nil } }
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
        identity: identity, name: info.name, metadata: info.metadata, attributes: info.attributes))
    for id in entries[identity]?.tracks.keys ?? [:].keys { encrypted.remove(id) }
    for track in info.tracks {
      guard let kind = track.mediaKind, !track.sid.isEmpty else { continue }
      let id = TrackID(track.sid)
      let known = Track(
        id: id, participant: identity, kind: kind, source: track.trackSource, name: track.name,
        isMuted: track.muted)
      guard selection.includes(known) else { continue }
      entry.tracks[id] = known
      if track.encryption != .none { encrypted.insert(id) }
    }
    guard selection.includes(identity), selection.tracks == nil || !entry.tracks.isEmpty else {
      remove(identity)
      return
    }
    entries[identity] = entry
    identities[info.sid] = identity
  }

  /// Whose session this is; nil for unknown ones and the bot's own.
  func identity(ofSession sid: String) -> ParticipantIdentity? { identities[sid] }

  /// The session id of a person.
  func session(of identity: ParticipantIdentity) -> String? { entries[identity]?.sid }

  /// A track that is published now.
  func track(_ id: TrackID) -> Track? {
    for entry in entries.values {
      if let track = entry.tracks[id] { return track }
    }
    return nil
  }

  /// People and tracks, as the recording sees them.
  var state: RoomState {
    var state = RoomState()
    for (identity, entry) in entries {
      state.participants[identity] = entry.participant
      state.tracks.merge(entry.tracks) { $1 }
    }
    return state
  }

  private mutating func remove(_ identity: ParticipantIdentity) {
    guard let entry = entries.removeValue(forKey: identity) else { return }
    identities[entry.sid] = nil
    for id in entry.tracks.keys { encrypted.remove(id) }
  }
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
