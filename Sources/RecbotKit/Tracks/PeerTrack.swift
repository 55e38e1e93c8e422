/// A track that a bot sends in a two-party room, from the beginning to the end of it; it can be disabled meanwhile.
public struct PeerTrack: Sendable {
  /// What it is when it is sent.
  let publication: @Sendable (RoomCore) -> LocalTrackPublication

  /// Pictures. They go in one size, whatever `isSimulcast` says.
  public static func video(_ track: LocalVideoTrack, options: VideoPublishOptions = VideoPublishOptions()) -> PeerTrack
  {
    var options = options
    options.isSimulcast = false
    return PeerTrack { [options] in LocalTrackPublication(track, options, core: $0) }
  }

  /// Sound.
  public static func audio(_ track: LocalAudioTrack, options: AudioPublishOptions = AudioPublishOptions()) -> PeerTrack
  {
    var options = options
    // Browsers do not say that they prefer it (`usedtx`, RFC 7587 section 6.1).
    options.isDiscontinuous = false
    return PeerTrack { [options] in LocalTrackPublication(track, options, core: $0) }
  }

  /// Pictures that are encoded already, of one layer.
  public static func video(_ track: EncodedVideoTrack, isMuted: Bool = false) -> PeerTrack {
    PeerTrack { LocalTrackPublication(track, isMuted: isMuted, core: $0) }
  }

  /// Sound that is encoded already.
  public static func audio(_ track: EncodedAudioTrack, isMuted: Bool = false) -> PeerTrack {
    PeerTrack { LocalTrackPublication(track, isMuted: isMuted, core: $0) }
  }
}
