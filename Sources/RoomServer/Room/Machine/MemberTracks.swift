import MediaCore
import Signaling

/// A track that is there.
struct PublishedTrack: Sendable {
  /// As clients see it.
  var info: Livekit_TrackInfo
  /// What its publisher was told to send.
  let codec: Codec
  /// Its place in the order in which the room's tracks were published.
  let position: Int
  /// Whether its publisher knows that somebody receives it.
  var hasBeenSubscribed = false

  /// `TR_…`
  var sid: String { info.sid }
}

/// The tracks of one participant: first announced, then, with an offer that has a section for it, published. Pure.
struct MemberTracks: Sendable {
  /// Tracks that were announced, but haven't come in an offer yet.
  private struct Announced {
    var cid: String
    var info: Livekit_TrackInfo
    /// What the publisher is told to send; nil when it didn't say what it prefers but by the order of its offer.
    var codec: Codec?
    /// The same, as the publisher described it.
    var described: Livekit_SimulcastCodec?
  }

  /// The most tracks that may be announced without being offered.
  static let announcedLimit = 20
  /// The most tracks of one participant.
  static let limit = 64

  private var announced: [Announced] = []
  /// Those that are there, in the order of publishing.
  private(set) var published: [PublishedTrack] = []

  /// Nothing yet.
  init() {}

  // MARK: Announcing

  /// True when no more may be announced.
  var isFull: Bool { announced.count >= Self.announcedLimit || published.count >= Self.limit }

  /// What was announced under a name of the client's, if it was.
  func announcement(cid: String) -> Livekit_TrackInfo? { announced.first { $0.cid == cid }?.info }

  /// True for a track that was announced, but isn't there yet.
  func isAnnounced(_ sid: String) -> Bool { announced.contains { $0.info.sid == sid } }

  /// Notes a track that the client will offer; gives it as the client is told of it.
  mutating func announce(_ request: Livekit_AddTrackRequest, sid: String, at now: Moment) -> Livekit_TrackInfo {
    let kind: MediaKind = request.type == .audio ? .audio : .video
    let described =
      request.simulcastCodecs.first { Self.codec($0, of: kind) != nil } ?? request.simulcastCodecs.first
    let codec = described.flatMap { Self.codec($0, of: kind) }
    let info = Self.info(request, codec ?? (kind == .audio ? .opus : .vp8), sid: sid, at: now)
    announced.append(Announced(cid: request.cid, info: info, codec: codec, described: described))
    return info
  }

  /// The codec that a client names, such as `vp9` or `video/VP9`; nil when it can't be forwarded.
  private static func codec(_ described: Livekit_SimulcastCodec, of kind: MediaKind) -> Codec? {
    let name = described.codec.lowercased()
    return CodecTable.codecs.first { codec in
      codec.kind == kind && (name == codec.rawValue.lowercased() || name == codec.mimeType.lowercased())
    }
  }

  private static func info(
    _ request: Livekit_AddTrackRequest, _ codec: Codec, sid: String, at now: Moment
  ) -> Livekit_TrackInfo {
    var info = Livekit_TrackInfo()
    info.sid = sid
    info.type = request.type
    info.source = request.source
    info.name = request.name
    info.muted = request.muted
    info.width = request.width
    info.height = request.height
    info.layers = request.layers
    info.disableDtx = request.disableDtx
    // What is encrypted end to end has its redundancy inside, if any.
    info.disableRed = request.disableRed || request.encryption != .none
    info.stereo = request.stereo
    info.encryption = request.encryption
    info.backupCodecPolicy = request.backupCodecPolicy
    info.packetTrailerFeatures = request.packetTrailerFeatures
    info.audioFeatures = request.audioFeatures
    info.mimeType = codec.mimeType
    info.stream = request.stream
    if info.stream.isEmpty {
      switch request.source {
      case .camera, .microphone: info.stream = "camera"
      case .screenShare, .screenShareAudio: info.stream = "screen"
      default: info.stream = "unknown"
      }
    }
    info.version.unixMicro = now.wall
    return info
  }

  // MARK: Publishing

  /// What is known of the track in a section: the one that it carries, else what was announced for it by name, else
  /// the first that was announced of its type.
  func preview(
    bound sid: String?, name: String?, type: Livekit_TrackType
  ) -> (info: Livekit_TrackInfo, codec: Codec?)? {
    if let sid, let track = published.first(where: { $0.sid == sid }) { return (track.info, track.codec) }
    let track = announced.first { $0.cid == name } ?? announced.first { $0.info.type == type }
    return track.map { ($0.info, $0.codec) }
  }

  /// Joins a section with what was announced for it: by the track's name in the offer, else by type and order. Nil
  /// when nothing was announced. The track isn't published yet.
  mutating func bind(_ section: OfferedSection, position: Int) -> PublishedTrack? {
    let type: Livekit_TrackType = section.kind == .audio ? .audio : .video
    let index =
      announced.firstIndex { $0.info.type == type && $0.cid == section.trackID }
      ?? announced.firstIndex { $0.info.type == type }
    guard let index else { return nil }
    var track = announced.remove(at: index)
    // Sound comes in the first codec that the answer has, which are those of the offer in its order.
    let codec = (type == .video ? track.codec : nil) ?? section.codecs.first ?? (type == .video ? .vp8 : .opus)
    track.info.mimeType = codec.mimeType
    track.info.mid = section.mid
    track.info.simulcast = section.layers > 1
    if type == .video {
      var told = Livekit_SimulcastCodecInfo()
      told.mimeType = track.info.mimeType
      told.mid = track.info.mid
      told.cid = track.cid
      told.layers = track.info.layers
      if let described = track.described {
        if !described.layers.isEmpty { told.layers = described.layers }
        told.videoLayerMode = described.videoLayerMode
      }
      track.info.codecs = [told]
    }
    return PublishedTrack(info: track.info, codec: codec, position: position)
  }

  /// The track is there.
  mutating func publish(_ track: PublishedTrack) { published.append(track) }

  /// The track is over; nil when there is none of this sid.
  mutating func remove(_ sid: String) -> PublishedTrack? {
    published.firstIndex { $0.sid == sid }.map { published.remove(at: $0) }
  }

  /// All are over.
  mutating func removeAll() -> [PublishedTrack] {
    defer { published = [] }
    return published
  }

  // MARK: Changes

  /// A track that is there.
  func track(_ sid: String) -> PublishedTrack? { published.first { $0.sid == sid } }

  /// Mutes a track or unmutes it. True when one that is there has changed.
  mutating func setMuted(_ sid: String, _ isMuted: Bool) -> Bool {
    guard let index = published.firstIndex(where: { $0.sid == sid }) else {
      change(sid) { $0.muted = isMuted }
      return false
    }
    guard published[index].info.muted != isMuted else { return false }
    published[index].info.muted = isMuted
    return true
  }

  /// Changes what clients are told of a track. True when it is one that is there.
  @discardableResult
  mutating func change(_ sid: String, _ change: (inout Livekit_TrackInfo) -> Void) -> Bool {
    if let index = published.firstIndex(where: { $0.sid == sid }) {
      change(&published[index].info)
      return true
    }
    if let index = announced.firstIndex(where: { $0.info.sid == sid }) { change(&announced[index].info) }
    return false
  }

  /// Somebody receives the track. True for the first one.
  mutating func noteSubscribed(_ sid: String) -> Bool {
    guard let index = published.firstIndex(where: { $0.sid == sid && !$0.hasBeenSubscribed }) else { return false }
    published[index].hasBeenSubscribed = true
    return true
  }
}
