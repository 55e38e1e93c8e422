import MediaCore
import Session
import Signaling

/// Which tracks the server is asked for. Of more than a recorder can use the bot receives those that matter.
extension LiveKitSession {
  /// What the server was asked for, or sends by itself.
  var receivedTracks: Set<TrackID> { Set(pictures.received.keys).union(sounds.received.keys) }

  /// True when the room that was just joined has more tracks than can be received, and the server is about to send them
  /// all: it is joined again without that. Thousands of media sections would come otherwise before it can be told.
  mutating func needsAnotherJoin() -> Bool {
    guard subscribesByItself else { return false }
    let videos = roster.allTracks.count { $0.kind == .video }
    guard max(videos, roster.allTracks.count - videos) > SubscriptionBudget.limit else { return false }
    isCrowd = true
    log(
      .notice,
      "the room has more tracks than can be received: at most \(SubscriptionBudget.limit) cameras and screens and as "
        + "many microphones at a time, of those who are in view or talk")
    return true
  }

  /// Asks for the tracks that are selected and that the server doesn't send by itself, each once, and tells it which are
  /// too many; the recording asks again for what doesn't come. In an ordinary room there are none of either.
  mutating func subscribeSelected() {
    guard phase == .open, settings.receivesMedia else { return }
    var change = SubscriptionBudget.Change()
    var new: [Track] = []
    if roster.changes.isEverything {
      for id in pictures.all where roster.track(id) == nil { pictures.remove(id, &change) }
      for id in sounds.all where roster.track(id) == nil { sounds.remove(id, &change) }
      new = Array(roster.allTracks)
    } else {
      for id in roster.changes.tracks.sorted() {
        if let track = roster.track(id) {
          new.append(track)
        } else {
          pictures.remove(id, &change)
          sounds.remove(id, &change)
        }
      }
    }
    // Who is in view goes before who is not, and who can be heard or seen before who cannot.
    let keys = new.map { (pictures.inView.contains($0.id) ? 0 : $0.isMuted ? 2 : 1, $0.id, $0) }
    new = keys.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    for track in new {
      if track.kind == .video { pictures.add(track.id, &change) } else { sounds.add(track.id, &change) }
    }
    tell(change)
  }

  /// The recording or the room says that these tracks matter now.
  mutating func use(_ tracks: [Track], at now: Int64) {
    var change = SubscriptionBudget.Change()
    for track in tracks {
      if track.kind == .video {
        pictures.use(track.id, at: now, &change)
      } else {
        sounds.use(track.id, at: now, &change)
      }
    }
    tell(change)
  }

  /// The recording shows these tracks from now on.
  mutating func view(_ tracks: Set<TrackID>, at now: Int64) {
    var change = SubscriptionBudget.Change()
    pictures.view(tracks, at: now, &change)
    tell(change)
  }

  /// Whoever talks is received.
  mutating func hearSpeakers(_ speakers: [Livekit_SpeakerInfo], at now: Int64) {
    guard !sounds.omitted.isEmpty else { return }
    for info in speakers.prefix(Self.speakerLimit) where info.active {
      guard let identity = roster.identity(ofSession: info.sid) else { continue }
      use(roster.tracks(of: identity).filter { $0.source == .microphone && !$0.isMuted }, at: now)
    }
  }

  /// Speakers of one message that are looked at here; more do not talk at a time.
  private static let speakerLimit = 64

  private mutating func tell(_ change: SubscriptionBudget.Change) {
    for (ids, isWanted) in [(change.unwanted, false), (change.wanted, true)] {
      let tracks = ids.sorted().compactMap(roster.track)
      guard !tracks.isEmpty, phase == .open else { continue }
      let sessions = tracks.map { roster.session(of: $0.participant) ?? "" }
      send {
        $0.subscription = .with {
          $0.trackSids = tracks.map(\.id.rawValue)
          $0.subscribe = isWanted
          $0.participantTracks = zip(tracks, sessions).map { track, session in
            .with {
              $0.participantSid = session
              $0.trackSids = [track.id.rawValue]
            }
          }
        }
      }
    }
  }
}
