import MediaCore
import Session
import Signaling

/// Which tracks a LiveKit server is asked for. In an ordinary room it sends every track by itself, or those that are
/// selected when it was asked for them once; of more than a recorder can use the bot receives those that matter. A pure
/// value; times are moments of one monotonic clock.
///
/// | mode | the server sends | what is asked |
/// | --- | --- | --- |
/// | automatic | every track | not to send what is too much |
/// | on request: `autoSubscribe` is off | what it is asked for | each track that the bot wishes, as far as there is room |
/// | selective: a part of the room, or a crowd | what it is asked for | each selected track, as far as there is room |
/// | off: no media is received | nothing | nothing |
///
/// `needsAnotherJoin` leads from automatic to selective, once; `begin` starts the count anew at each join. What is to be
/// said is returned; who cannot send it now loses nothing, for a resume lists what was asked for.
struct Subscriptions: Sendable {
  /// Asking again for a track is not useful more often: the server looks every 3 s.
  static let interval = Duration.seconds(3)
  /// Speakers of one message that are looked at here; more do not talk at a time.
  private static let speakerLimit = 64

  /// Which pictures are received.
  private(set) var pictures = SubscriptionBudget(isAutomatic: true)
  /// Which sound is received.
  private(set) var audio = SubscriptionBudget(isAutomatic: true)
  /// Whether the room had more tracks than can be received: then the server must not send them all by itself.
  private var isCrowd = false
  private var askedAt: [TrackID: Instant] = [:]
  /// On request: what was wished for once.
  private var wished: Set<TrackID> = []
  private let receivesMedia: Bool
  private let autoSubscribe: Bool
  private let isEverythingSelected: Bool

  /// Subscriptions of a room of which all is wanted, or a part. `autoSubscribe` false: only what is wished for (`wish`).
  init(receivesMedia: Bool, selection: RoomSelection, autoSubscribe: Bool = true) {
    self.receivesMedia = receivesMedia
    self.autoSubscribe = autoSubscribe
    isEverythingSelected = selection.isEverything
  }

  /// True when the server sends every track without being asked.
  var isAutomatic: Bool { receivesMedia && autoSubscribe && isEverythingSelected && !isCrowd }

  /// True when the room that was just joined has more tracks than can be received, and the server is about to send them
  /// all: it is joined again without that. Thousands of media sections would come otherwise before it can be told.
  mutating func needsAnotherJoin(_ roster: LiveKitRoster) -> Bool {
    guard isAutomatic else { return false }
    let videos = roster.allTracks.count { $0.kind == .video }
    guard max(videos, roster.allTracks.count - videos) > SubscriptionBudget.limit else { return false }
    isCrowd = true
    return true
  }

  /// The bot joined anew: nothing is asked for yet; what is in view still is.
  mutating func begin() {
    pictures = SubscriptionBudget(isAutomatic: isAutomatic, inView: pictures.inView)
    audio = SubscriptionBudget(isAutomatic: isAutomatic)
  }

  /// Takes what has changed in the room. Asks for the tracks that are selected and that the server doesn't send by
  /// itself, each once, and tells it which are too many; the recording asks again for what doesn't come. In an ordinary
  /// room there are none of either.
  mutating func update(_ roster: LiveKitRoster) -> [Livekit_SignalRequest] {
    guard receivesMedia else { return [] }
    var change = SubscriptionBudget.Change()
    var new: [Track] = []
    if roster.changes.isEverything {
      for id in pictures.all where roster.track(id) == nil { pictures.remove(id, &change) }
      for id in audio.all where roster.track(id) == nil { audio.remove(id, &change) }
      new = Array(roster.allTracks)
    } else {
      for id in roster.changes.tracks.sorted() {
        if let track = roster.track(id) {
          new.append(track)
        } else {
          pictures.remove(id, &change)
          audio.remove(id, &change)
        }
      }
    }
    if !autoSubscribe { new.removeAll { !wished.contains($0.id) } }
    // Who is in view goes before who is not, and who can be heard or seen before who cannot.
    let keys = new.map { (pictures.inView.contains($0.id) ? 0 : $0.isMuted ? 2 : 1, $0.id, $0) }
    new = keys.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    for track in new { add(track, &change) }
    return requests(change, roster)
  }

  /// The bot wants a track to be sent. On request it is asked for with the first wish; how it is sent is said otherwise (`ReceptionWish`).
  mutating func wish(for id: TrackID, in roster: LiveKitRoster) -> [Livekit_SignalRequest] {
    guard receivesMedia, !autoSubscribe, let track = roster.track(id), wished.insert(id).inserted else { return [] }
    var change = SubscriptionBudget.Change()
    add(track, &change)
    return requests(change, roster)
  }

  private mutating func add(_ track: Track, _ change: inout SubscriptionBudget.Change) {
    if track.kind == .video { pictures.add(track.id, &change) } else { audio.add(track.id, &change) }
  }

  /// The recording asks for a track that does not come. `isRepeated`: it has asked for it before, long enough ago.
  mutating func ask(
    for track: Track, in roster: LiveKitRoster, at now: Instant
  ) -> (requests: [Livekit_SignalRequest], isRepeated: Bool) {
    guard receivesMedia else { return ([], false) }
    if pictures.omitted.contains(track.id) || audio.omitted.contains(track.id) {
      return (use([track], in: roster, at: now), false)
    }
    let last = askedAt[track.id]
    if let last, now - last < Self.interval { return ([], false) }
    askedAt[track.id] = now
    return ([Self.request([track], isWanted: true, roster)], last != nil)
  }

  /// The recording shows these tracks from now on.
  mutating func view(
    _ tracks: Set<TrackID>, in roster: LiveKitRoster, at now: Instant
  ) -> [Livekit_SignalRequest] {
    var change = SubscriptionBudget.Change()
    pictures.view(tracks, at: now, &change)
    return requests(change, roster)
  }

  /// Whoever talks is received.
  mutating func hear(
    _ speakers: [Livekit_SpeakerInfo], in roster: LiveKitRoster, at now: Instant
  ) -> [Livekit_SignalRequest] {
    guard !audio.omitted.isEmpty else { return [] }
    var all: [Livekit_SignalRequest] = []
    for info in speakers.prefix(Self.speakerLimit) where info.active {
      guard let identity = roster.identity(ofSession: info.sid) else { continue }
      all += use(
        roster.tracks(of: identity).filter { $0.source == .microphone && !$0.isMuted }, in: roster, at: now)
    }
    return all
  }

  /// What a resume says of what was asked for. Only what differs from what the server does by itself is listed.
  var state: Livekit_UpdateSubscription {
    let listed =
      isAutomatic
      ? pictures.omitted.union(audio.omitted) : Set(pictures.received.keys).union(audio.received.keys)
    return .with {
      $0.subscribe = !isAutomatic
      $0.trackSids = listed.map(\.rawValue).sorted()
    }
  }

  /// Forgets what was asked and wished for of tracks that are published no more, before their end is told.
  mutating func forgetEnded(_ roster: LiveKitRoster) {
    guard !roster.changes.isEverything else {
      askedAt = askedAt.filter { roster.track($0.key) != nil }
      wished = wished.filter { roster.track($0) != nil }
      return
    }
    for id in roster.changes.tracks where roster.track(id) == nil {
      askedAt[id] = nil
      wished.remove(id)
    }
  }

  private mutating func use(_ tracks: [Track], in roster: LiveKitRoster, at now: Instant) -> [Livekit_SignalRequest] {
    var change = SubscriptionBudget.Change()
    for track in tracks {
      if track.kind == .video {
        pictures.use(track.id, at: now, &change)
      } else {
        audio.use(track.id, at: now, &change)
      }
    }
    return requests(change, roster)
  }

  private func requests(_ change: SubscriptionBudget.Change, _ roster: LiveKitRoster) -> [Livekit_SignalRequest] {
    [(change.unwanted, false), (change.wanted, true)].compactMap { ids, isWanted in
      let tracks = ids.sorted().compactMap(roster.track)
      return tracks.isEmpty ? nil : Self.request(tracks, isWanted: isWanted, roster)
    }
  }

  private static func request(
    _ tracks: [Track], isWanted: Bool, _ roster: LiveKitRoster
  ) -> Livekit_SignalRequest {
    .with {
      $0.subscription = .with {
        $0.trackSids = tracks.map(\.id.rawValue)
        $0.subscribe = isWanted
        $0.participantTracks = tracks.map { track in
          .with {
            $0.participantSid = roster.session(of: track.participant) ?? ""
            $0.trackSids = [track.id.rawValue]
          }
        }
      }
    }
  }
}

extension ReceptionWish {
  /// The wish, as the server is told.
  var request: Livekit_SignalRequest {
    .with {
      $0.trackSetting = .with {
        $0.trackSids = [track.rawValue]
        $0.disabled = reception != .wanted
        $0.quality = .high
        $0.width = UInt32(clamping: width)
        $0.height = UInt32(clamping: height)
        $0.priority = UInt32(clamping: priority)
      }
    }
  }
}
