import MediaCore

/// One remote media section after an offer was applied.
struct MediaSection: Hashable, Sendable {
  /// Identification of the m-line.
  var mid: MID
  /// Sound or pictures.
  var kind: MediaKind
  /// First word of `a=msid`: `PA_…|TR_…` or `PA_…|<stream name>`.
  var streamID: String?
  /// Second word of `a=msid`.
  var trackID: String?
  /// True while the server sends in it.
  var isActive: Bool
}

/// Which m-line carries which publication. Made anew for each offer, because LiveKit re-uses the m-line of an ended
/// subscription for the next track of the same kind.
struct TrackBindings: Equatable, Sendable {
  private(set) var tracks: [MID: TrackID] = [:]
  private(set) var kinds: [MID: MediaKind] = [:]
  /// As what each publication comes.
  private(set) var kindsOfTracks: [TrackID: Set<MediaKind>] = [:]

  /// No bindings.
  init() {}

  /// The bindings of one offer. `trackOfMID` is the offer's own map, which counts before the msid.
  init(_ sections: [MediaSection], trackOfMID: [String: String]) {
    for section in sections where section.isActive {
      guard let sid = trackOfMID[section.mid.rawValue] ?? Self.trackSID(section) else { continue }
      tracks[section.mid] = TrackID(sid)
      kinds[section.mid] = section.kind
      kindsOfTracks[TrackID(sid), default: []].insert(section.kind)
    }
  }

  /// The publication's id by the msid alone: the part of the stream id behind the first `|` when it is one, else the
  /// track id. Streams of nobody (spare sections) give nil.
  static func trackSID(_ section: MediaSection) -> String? {
    guard let stream = section.streamID, stream.hasPrefix("PA_") else { return nil }
    if let bar = stream.firstIndex(of: "|") {
      let name = stream[stream.index(after: bar)...]
      if name.hasPrefix("TR") { return String(name) }
    }
    guard let track = section.trackID, !track.isEmpty else { return nil }
    return track
  }
}
