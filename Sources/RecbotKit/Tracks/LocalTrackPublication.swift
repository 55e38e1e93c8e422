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

  /// The publisher's name of the track.
  public let name: String
  let description: LocalTrackDescription
  private let sender: any TrackSender
  /// Begins to give frames to the sender for a publication, and ends that.
  private let start: @Sendable (LocalTrackPublication) -> Void
  private let stop: @Sendable (LocalTrackPublication) -> Void
  private let use: TrackUse
  private let core: RoomCore
  private let state: Mutex<State>

  convenience init(_ track: LocalVideoTrack, _ options: VideoPublishOptions, core: RoomCore) {
    self.init(
      .init(
        name: track.name, source: track.source, codec: options.codec.codec, layers: options.layers(of: track.dimensions)
      ),
      isMuted: options.isMuted, track.capture, track.use, VideoSender(options, core: core), core: core)
  }

  convenience init(_ track: LocalAudioTrack, _ options: AudioPublishOptions, core: RoomCore) {
    var description = LocalTrackDescription(name: track.name, source: track.source, codec: .opus)
    description.isDiscontinuous = options.isDiscontinuous
    self.init(
      description, isMuted: options.isMuted, track.capture, track.use, AudioSender(options, core: core), core: core)
  }

  convenience init(_ track: EncodedVideoTrack, isMuted: Bool, core: RoomCore) {
    func make(_ frames: some EncodedVideoSource) -> (Capture<EncodedVideoFrame>, EncodedVideoSender) {
      (
        Capture { take in for try await frame in frames.frames() { take(frame) } },
        EncodedVideoSender(frames, core: core)
      )
    }
    let (capture, sender) = make(track.frames)
    self.init(
      .init(
        name: track.name, source: track.source, codec: track.frames.codec.codec, layers: track.frames.layers),
      isMuted: isMuted, capture, track.use, sender, core: core)
  }

  convenience init(_ track: EncodedAudioTrack, isMuted: Bool, core: RoomCore) {
    func make(_ frames: some EncodedAudioSource) -> Capture<EncodedAudioFrame> {
      Capture { take in for try await frame in frames.frames() { take(frame) } }
    }
    self.init(
      .init(name: track.name, source: track.source, codec: .opus), isMuted: isMuted, make(track.frames), track.use,
      EncodedAudioSender(core: core), core: core)
  }

  private init<Sender: TrackSender>(
    _ description: LocalTrackDescription, isMuted: Bool, _ capture: Capture<Sender.Element>, _ use: TrackUse,
    _ sender: Sender, core: RoomCore
  ) {
    var description = description
    description.isMuted = isMuted
    (name, self.description, self.sender, self.core) = (description.name, description, sender, core)
    self.use = use
    start = { publication in
      let end: Capture<Sender.Element>.End = { [weak publication] error in publication?.captureEnded(error) }
      capture.begin(for: publication, onEnd: end) { sender.take($0) }
    }
    stop = {
      capture.end(for: $0)
      use.release()
    }
    state = Mutex(State(isMuted: isMuted))
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
  /// Pictures or stretches of sound that came faster than they could be encoded or than `maximumFrameRate`, of sizes that cannot
  /// be sent, and encoded ones that nobody could decode; they were left out.
  public var droppedFrames: Int { sender.dropped }

  /// Disables the track: nothing of it is encoded or sent.
  public func mute() { setMuted(true) }

  /// Enables the track.
  public func unmute() { setMuted(false) }

  /// Changes what is done to the pictures, or to the sound, from the next picture or 20 ms on; what it says of the other kind is of no
  /// account. What is encoded already cannot be processed: nothing of it is sent then.
  public func process(_ processors: TrackProcessors) { sender.process(processors) }

  private func setMuted(_ isMuted: Bool) {
    let id = state.withLock { state in
      state.isMuted = isMuted
      return state.localID
    }
    sender.pause(isMuted)
    if let id { core.client?.setMuted(id, isMuted) }
  }

  /// The track is published by this from now on. Throws when it is published already.
  func claim() throws(RoomError) {
    guard use.claim() else {
      throw RoomError(.rejected, "the track \(name) is published already", advice: "Publish a clone() of it")
    }
  }

  // MARK: What the room's core tells

  var localID: LocalTrackID? { state.withLock { $0.localID } }

  /// The connection knows the track by this name.
  func begin(as id: LocalTrackID) {
    state.withLock { $0.localID = id }
    sender.pause(isMuted)
    sender.begin(as: id)
  }

  /// The room has it: capturing begins, if it has not.
  func published(as id: TrackID) {
    let isEnded = state.withLock { state in
      state.id = id
      return state.isEnded
    }
    guard !isEnded else { return }
    sender.wantKeyframe(nil)
    start(self)
  }

  private func captureEnded(_ error: (any Error)?) { core.tell(.localCaptureEnded(self, error)) }

  /// The room does not have it for the time being.
  func interrupted() { state.withLock { $0.id = nil } }

  func mutedByRoom(_ isMuted: Bool) {
    state.withLock { $0.isMuted = isMuted }
    sender.pause(isMuted)
  }

  func wantKeyframe(_ layer: Int?) { sender.wantKeyframe(layer) }

  /// It is not published any more.
  func end() {
    let wasEnded = state.withLock { state in
      defer { (state.isEnded, state.id) = (true, nil) }
      return state.isEnded
    }
    if !wasEnded { stop(self) }
  }
}
