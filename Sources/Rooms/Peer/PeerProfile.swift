import MediaCore
import Session

/// What one side of a two-party room says of itself, and what it sends.
public struct PeerProfile: Sendable {
  /// What records: it is shown as such, and sends nothing.
  static let recorder: PeerProfile = {
    var profile = PeerProfile()
    (profile.name, profile.isRecording) = ("recbot", true)
    return profile
  }()

  /// Its display name; nil: its token's.
  public var name: String?
  /// Whether it records what comes; the other side's page shows that.
  public var isRecording = false
  /// What it sends to whoever sits opposite, each in one size; the n-th, counted from 1, is `LocalTrackID(n)`. Of each
  /// source one track, and a screen, or its sound, only beside a camera, or a microphone: the m-lines have no names, so the first of a kind
  /// is the person's.
  public var tracks: [LocalTrackDescription] = []

  /// Sends nothing.
  public init() {}

  /// Why it cannot be used, in words; nil: it can.
  var fault: String? {
    let sources = tracks.map(\.source)
    for track in tracks {
      guard let (kind, first) = Self.place(of: track.source) else {
        return "the track \(track.name) is neither camera, microphone nor screen"
      }
      if kind != track.codec.kind { return "the track \(track.name) is \(track.codec.kind) of a source of \(kind)" }
      if track.layers.count > 1 {
        return "the track \(track.name) has \(track.layers.count) sizes; a two-party room takes one"
      }
      if sources.count(where: { $0 == track.source }) > 1 {
        return "there are two tracks of the source \(track.source.rawValue)"
      }
      if let first, !sources.contains(first) {
        return "the track \(track.name) of a screen is sent beside one of the source \(first.rawValue) only"
      }
    }
    return nil
  }

  /// The tracks in the order of their m-lines.
  var ordered: [(id: LocalTrackID, track: LocalTrackDescription)] {
    let numbered = tracks.enumerated().map { (id: LocalTrackID($0.offset + 1), track: $0.element) }
    return numbered.filter { !$0.track.source.isScreen } + numbered.filter { $0.track.source.isScreen }
  }

  /// What a source gives, and which source must be there before it.
  private static func place(of source: TrackSource) -> (kind: MediaKind, first: TrackSource?)? {
    switch source {
    case .camera: (.video, nil)
    case .microphone: (.audio, nil)
    case .screenShare: (.video, .camera)
    case .screenShareAudio: (.audio, .microphone)
    case .unknown: nil
    }
  }
}

extension TrackSource {
  fileprivate var isScreen: Bool { self == .screenShare || self == .screenShareAudio }
}
