import FrameEncryption
import MediaCore
import Session
import Signaling

/// What is so in a LiveKit room (`current`), apart from what the recording was told of it (`announced`): while a loss
/// lasts nothing is told, and afterwards the difference is. With it, which frames belong to which track (`bound`): those
/// of announced, subscribed tracks only, so that a track is known before its first frame. A pure value.
///
/// | of a track | from | until |
/// | --- | --- | --- |
/// | published | an update of its participant | an update without it |
/// | subscribed | an offer with a section for it is answered | an offer without |
/// | refused | a subscription error | the next offer that has it |
/// | paused | a stream state `paused` | `active`, or the next join |
/// | locked: cannot be decrypted | no key, no form for its codec, or frames that do not open | frames open again |
///
/// `join` begins anew. What changed is remembered in `roster.changes` until `announce` takes it.
struct RoomReport: Sendable {
  /// Tracks of which it is remembered what was told, those included of which nothing else is known.
  private static let lackLimit = 4096
  /// The most tracks about which wishes are kept.
  private static let wishLimit = 2000

  /// Who is there, and what they publish.
  private(set) var roster: LiveKitRoster { didSet { expectation = nil } }
  /// Tracks that the server holds back.
  private(set) var paused: Set<TrackID> = [] { didSet { expectation = nil } }
  /// What the recording was told.
  private(set) var announced = RoomState()
  /// To which tracks the frames of m-lines belong.
  private(set) var bound: [MID: TrackID] = [:] { didSet { expectation = nil } }
  /// Why tracks for which there is a key cannot be decrypted.
  private(set) var unreadable: [TrackID: String] = [:]
  /// The newest wish about each track that the recording has one about.
  private(set) var wishes: [TrackID: ReceptionWish] = [:] { didSet { expectation = nil } }
  private var bindings = TrackBindings()
  private var refused: Set<TrackID> = []
  /// Why tracks are not received, as it was told in the log.
  private var toldLacks: [TrackID: String] = [:]
  /// Whether tracks should flow, as long as nothing has changed that it depends on.
  private var expectation: Bool?
  private let keys: FrameKeys?

  /// An empty room. `keys`: of a room that is encrypted end to end.
  init(selection: RoomSelection, keys: FrameKeys?) {
    roster = LiveKitRoster(selection: selection)
    self.keys = keys
  }

  // MARK: What the server says

  /// The room as it is in a join response.
  mutating func reset(own: Livekit_ParticipantInfo, others: [Livekit_ParticipantInfo]) {
    roster.reset(own: own, others: others)
  }

  /// The bot joined anew: nothing is negotiated yet, and no frames belong to anybody.
  mutating func unbind() {
    (bindings, paused, refused) = (TrackBindings(), [], [])
    bound = [:]
  }

  /// Somebody came, left, or is otherwise than before.
  mutating func apply(_ info: Livekit_ParticipantInfo) { roster.apply(info) }

  /// An offer was answered: its sections carry these tracks.
  mutating func bind(_ sections: [MediaSection], trackOfMID: [String: String]) {
    let old = bindings
    bindings = TrackBindings(sections, trackOfMID: trackOfMID)
    for id in old.kindsOfTracks.keys where bindings.kindsOfTracks[id] == nil { roster.changes.add(id) }
    for id in bindings.kindsOfTracks.keys { roster.changes.add(id) }
    refused.subtract(bindings.tracks.values)
  }

  /// The server holds tracks back, or sends them again.
  mutating func apply(_ states: [Livekit_StreamStateInfo]) {
    for info in states {
      let track = TrackID(info.trackSid)
      roster.changes.add(track)
      if info.state == .paused, roster.track(track) != nil {
        paused.insert(track)
      } else {
        paused.remove(track)
      }
    }
  }

  /// The server refuses a subscription. Returns what is to be logged, if anything.
  mutating func refuse(_ track: TrackID, _ why: String) -> String? {
    let line = lack(of: track, why)
    if roster.track(track) != nil { refused.insert(track) }
    roster.changes.add(track)
    return line
  }

  // MARK: Encryption

  /// What comes of a track can be decrypted (nil), or cannot for this reason. False when that is no news.
  mutating func setUnreadable(_ id: TrackID, _ reason: String?) -> Bool {
    guard roster.encrypted.contains(id), unreadable[id] != reason else { return false }
    unreadable[id] = reason
    if reason == nil { toldLacks[id] = nil }
    roster.changes.add(id)
    return true
  }

  /// Why a track cannot be read; nil when it can be, or is not encrypted.
  private func lockReason(of id: TrackID) -> String? {
    guard roster.encrypted.contains(id), let owner = roster.track(id)?.participant else { return nil }
    guard let keys else { return "it is encrypted end to end; --e2ee-key-file gives the recording a key" }
    guard keys.has(participant: owner.rawValue) else {
      return "it is encrypted end to end, and the key file has no key for '\(PeerText.line(owner.rawValue, limit: 80))'"
    }
    if let codec = roster.encryptedCodecs[id], !FrameCryptor.opens(codec) { return Self.lockReason(of: codec) }
    return unreadable[id]
  }

  /// Why nothing that comes encrypted in a codec can be read.
  static func lockReason(of codec: Codec) -> String {
    "it is encrypted end to end in \(codec.title), for which LiveKit's clients have no common form; VP8, VP9 and H.264 can "
      + "be decrypted"
  }

  // MARK: What the recording wants

  /// Keeps a wish about a track that is published. Nil when it is not kept; true when the reception is another than before.
  mutating func keep(_ wish: ReceptionWish) -> Bool? {
    guard roster.track(wish.track) != nil, wishes[wish.track] != nil || wishes.count < Self.wishLimit else {
      return nil
    }
    let old = wishes.updateValue(wish, forKey: wish.track)
    return (old?.reception ?? .wanted) != wish.reception
  }

  /// Tracks should flow: some track is subscribed, enabled, wanted, and not held back by the server.
  mutating func expectsMedia() -> Bool {
    if let expectation { return expectation }
    let isExpected = bound.values.contains { id in
      guard let track = roster.track(id), !track.isMuted, !paused.contains(id) else { return false }
      return wishes[id]?.reception ?? .wanted == .wanted
    }
    expectation = isExpected
    return isExpected
  }

  // MARK: Why tracks are not received

  /// What is to be logged about a track that is not received, once for each reason: the card in the picture says only
  /// that it is not.
  mutating func lack(of id: TrackID, _ why: String) -> String? {
    guard toldLacks[id] != why, toldLacks.count < Self.lackLimit else { return nil }
    toldLacks[id] = why
    return "\(roster.name(of: id)) is not received: \(why)"
  }

  /// Whether it was logged why a track is not received.
  func hasToldLack(of id: TrackID) -> Bool { toldLacks[id] != nil }

  /// The track is allowed again.
  mutating func forgetLack(of id: TrackID) { toldLacks[id] = nil }

  // MARK: What the recording is told

  /// What is so now, as the recording should see it. Costs as much as there is.
  var current: RoomState {
    var state = roster.state
    for track in bindings.kindsOfTracks.keys where isSubscribed(track) { state.subscribed.insert(track) }
    for track in roster.encrypted { state.tracks[track] = described(track) }
    state.paused = paused.filter { state.tracks[$0] != nil }
    return state
  }

  private func isSubscribed(_ track: TrackID) -> Bool {
    guard let known = roster.track(track), bindings.kindsOfTracks[track]?.contains(known.kind) ?? false else {
      return false
    }
    return !refused.contains(track)
  }

  /// A track, with what stands against it.
  private func described(_ id: TrackID) -> Track? {
    var track = roster.track(id)
    if lockReason(of: id) != nil { track?.obstacle = .encrypted }
    return track
  }

  /// Tells what has changed, and brings the frames' bindings up to date.
  mutating func announce() -> [LiveKitSession.Action] {
    guard !roster.changes.isEmpty else { return [] }
    let changes = roster.changes
    roster.changes.clear()
    var actions: [LiveKitSession.Action] = []
    guard !changes.isEverything else {
      let state = current
      actions += state.events(since: announced).map { .emit($0) }
      announced = state
      rebind(state.subscribed, &actions)
      tellLocked(roster.encrypted, &actions)
      return actions
    }
    // Only the part of the room that has changed, with those to whom it belongs.
    let (people, tracks) = (changes.people, changes.tracks)
    var (old, new) = (RoomState(), RoomState())
    for id in tracks {
      new.tracks[id] = described(id)
      if isSubscribed(id) { new.subscribed.insert(id) }
      if paused.contains(id), new.tracks[id] != nil { new.paused.insert(id) }
    }
    let owners = tracks.compactMap { (new.tracks[$0] ?? announced.tracks[$0])?.participant }
    for identity in people.union(owners) { new.participants[identity] = roster.participant(identity) }
    old.replace(people: people.union(owners), tracks: tracks, by: announced)
    actions += new.events(since: old).map { .emit($0) }
    announced.replace(people: people, tracks: tracks, by: new)
    if tracks.contains(where: { bindings.kindsOfTracks[$0] != nil }) { rebind(announced.subscribed, &actions) }
    tellLocked(tracks, &actions)
    return actions
  }

  /// Tells what has changed while nothing was told, with everybody and everything that is there.
  mutating func announceAll() -> [LiveKitSession.Action] {
    let state = current
    var actions: [LiveKitSession.Action] = state.events(since: announced, tellsAll: true).map { .emit($0) }
    announced = state
    roster.changes.clear()
    rebind(state.subscribed, &actions)
    return actions
  }

  private mutating func tellLocked(_ tracks: Set<TrackID>, _ actions: inout [LiveKitSession.Action]) {
    for id in tracks {
      if let reason = lockReason(of: id), let line = lack(of: id, reason) { actions.append(.log(.warning, line)) }
    }
  }

  private mutating func rebind(_ subscribed: Set<TrackID>, _ actions: inout [LiveKitSession.Action]) {
    let wanted = bindings.tracks.filter { subscribed.contains($0.value) }
    guard wanted != bound else { return }
    bound = wanted
    actions.append(.bind(wanted))
  }

  // MARK: What is over

  /// Forgets what was known of tracks that are published no more, before their end is told.
  mutating func forgetEnded() {
    guard !roster.changes.isEverything else {
      paused = paused.filter { roster.track($0) != nil }
      refused = refused.filter { roster.track($0) != nil }
      toldLacks = toldLacks.filter { roster.track($0.key) != nil }
      unreadable = unreadable.filter { roster.track($0.key) != nil }
      forgetEndedWishes()
      return
    }
    for id in roster.changes.tracks where roster.track(id) == nil {
      paused.remove(id)
      refused.remove(id)
      toldLacks[id] = nil
      unreadable[id] = nil
      wishes[id] = nil
    }
  }

  /// Forgets wishes about tracks that are published no more.
  mutating func forgetEndedWishes() { wishes = wishes.filter { roster.track($0.key) != nil } }
}
