import MediaCore
import Rooms
import Session
import Synchronization

/// A track that the bot publishes. May be used on any thread.
public final class LocalTrackPublication: Sendable {
  private struct State {
    var localID: LocalTrackID?
    var id: TrackID?
    var isMuted: Bool
    var isEnded = false
  }

  private enum Source: Sendable {
    case video(LocalVideoTrack, VideoSender)
    case audio(LocalAudioTrack, AudioSender)
  }

  /// The publisher's name of the track.
  public let name: String
  let description: LocalTrackDescription
  private let source: Source
  private let core: RoomCore
  private let state: Mutex<State>

  init(_ track: LocalVideoTrack, _ options: VideoPublishOptions, core: RoomCore) {
    var description = LocalTrackDescription(
      name: track.name, source: track.source, codec: options.codec == .vp8 ? .vp8 : .vp9,
      layers: options.layers(of: track.dimensions))
    description.isMuted = options.isMuted
    (name, self.description, self.core) = (track.name, description, core)
    source = .video(track, VideoSender(options, core: core))
    state = Mutex(State(isMuted: options.isMuted))
  }

  init(_ track: LocalAudioTrack, _ options: AudioPublishOptions, core: RoomCore) {
    var description = LocalTrackDescription(name: track.name, source: track.source, codec: .opus)
    description.isMuted = options.isMuted
    (name, self.description, self.core) = (track.name, description, core)
    source = .audio(track, AudioSender(options, core: core))
    state = Mutex(State(isMuted: options.isMuted))
  }

  /// The room's name of it; nil while the room does not have it.
  public var id: TrackID? { state.withLock { $0.id } }
  /// Whether it is disabled.
  public var isMuted: Bool { state.withLock { $0.isMuted } }
  /// What was sent on the present connection; nil while the room does not have it.
  public var statistics: SendingStatistics? {
    get async {
      guard let localID else { return nil }
      return await core.client?.statistics(of: localID)
    }
  }
  /// Pictures or stretches of sound that came faster than they could be encoded or than `maximumFrameRate`, and of sizes that
  /// cannot be sent; they were left out.
  public var droppedFrames: Int {
    switch source {
    case .video(_, let sender): sender.dropped
    case .audio(_, let sender): sender.dropped
    }
  }

  /// Disables the track: nothing of it is encoded or sent.
  public func mute() { setMuted(true) }

  /// Enables the track.
  public func unmute() { setMuted(false) }

  /// Changes what is done to the pictures, or to the sound, from the next picture or 20 ms on; what it says of the other kind is of no
  /// account.
  public func process(_ processors: TrackProcessors) {
    switch source {
    case .video(_, let sender): sender.process(processors.video)
    case .audio(_, let sender): sender.process(processors.audio)
    }
  }

  private func setMuted(_ isMuted: Bool) {
    let id = state.withLock { state in
      state.isMuted = isMuted
      return state.localID
    }
    pause(isMuted)
    if let id { core.client?.setMuted(id, isMuted) }
  }

  private func pause(_ isPaused: Bool) {
    switch source {
    case .video(_, let sender): sender.pause(isPaused)
    case .audio(_, let sender): sender.pause(isPaused)
    }
  }

  // MARK: What the room's core tells

  var localID: LocalTrackID? { state.withLock { $0.localID } }

  /// The connection knows the track by this name.
  func begin(as id: LocalTrackID) {
    state.withLock { $0.localID = id }
    pause(isMuted)
    switch source {
    case .video(_, let sender): sender.begin(as: id)
    case .audio(_, let sender): sender.begin(as: id)
    }
  }

  /// The room has it: capturing begins, if it has not.
  func published(as id: TrackID) {
    let isEnded = state.withLock { state in
      state.id = id
      return state.isEnded
    }
    guard !isEnded else { return }
    switch source {
    case .video(let track, let sender):
      sender.wantKeyframe(nil)
      track.capture.begin(for: self) { sender.take($0) }
    case .audio(let track, let sender): track.capture.begin(for: self) { sender.take($0) }
    }
  }

  /// The room does not have it for the time being.
  func interrupted() { state.withLock { $0.id = nil } }

  func mutedByRoom(_ isMuted: Bool) {
    state.withLock { $0.isMuted = isMuted }
    pause(isMuted)
  }

  func wantKeyframe(_ layer: Int?) { if case .video(_, let sender) = source { sender.wantKeyframe(layer) } }

  /// It is not published any more.
  func end() {
    let wasEnded = state.withLock { state in
      defer { (state.isEnded, state.id) = (true, nil) }
      return state.isEnded
    }
    guard !wasEnded else { return }
    switch source {
    case .video(let track, _):
      track.capture.end(for: self)
      track.use.release()
    case .audio(let track, _):
      track.capture.end(for: self)
      track.use.release()
    }
  }
}
