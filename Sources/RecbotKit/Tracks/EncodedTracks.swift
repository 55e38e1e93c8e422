import Session

/// Pictures of the bot's own that are encoded already: they are sent as they are. The source begins when the track is published.
public final class EncodedVideoTrack: Sendable {
  /// The publisher's name for it, unique among its tracks.
  public let name: String
  /// Camera, screen…
  public let source: TrackSource
  let frames: any EncodedVideoSource
  let use = TrackUse()

  /// A track of a source of frames.
  public init(name: String = "camera", source: TrackSource = .camera, frames: some EncodedVideoSource) {
    (self.name, self.source, self.frames) = (name, source, frames)
  }
}

/// Sound of the bot's own that is encoded already (Opus): it is sent as it is.
public final class EncodedAudioTrack: Sendable {
  /// The publisher's name for it, unique among its tracks.
  public let name: String
  /// Microphone, sound of a screen…
  public let source: TrackSource
  let frames: any EncodedAudioSource
  let use = TrackUse()

  /// A track of a source of frames.
  public init(name: String = "microphone", source: TrackSource = .microphone, frames: some EncodedAudioSource) {
    (self.name, self.source, self.frames) = (name, source, frames)
  }
}
