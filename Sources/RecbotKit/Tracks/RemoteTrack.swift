import MediaCore
import Rooms
import Session
import Synchronization

/// A track that somebody else publishes.
public enum RemoteTrack: Sendable {
  /// Sound.
  case audio(RemoteAudioTrack)
  /// Pictures.
  case video(RemoteVideoTrack)

  /// What both kinds have.
  private var base: RemoteTrackState {
    switch self {
    case .audio(let track): track.state
    case .video(let track): track.state
    }
  }

  /// The room's name of the publication.
  public var id: TrackID { base.id }
  /// Who publishes it.
  public var participant: ParticipantIdentity { base.participant }
  /// Sound or pictures.
  public var kind: MediaKind {
    switch self {
    case .audio: .audio
    case .video: .video
    }
  }
  /// Camera, microphone, screen…
  public var source: TrackSource { base.value.track.source }
  /// The publisher's name for it.
  public var name: String { base.value.track.name }
  /// Whether media of it comes.
  public var isSubscribed: Bool { base.value.isSubscribed }
  /// False while its publisher has it disabled.
  public var isEnabled: Bool { !base.value.track.isMuted }
  /// Whether the server holds it back since the connection is too narrow.
  public var isPaused: Bool { base.value.isPaused }
  /// Whether it is encrypted end to end: it is neither shown nor heard.
  public var isEncrypted: Bool { base.value.track.obstacle == .encrypted }
  /// What came of it so far.
  public var statistics: ReceivingStatistics { base.value.statistics }

  func change(_ change: (inout RemoteTrackState.Value) -> Void) { base.change(change) }

  /// It is gone.
  func end() { base.end() }

  /// Takes a frame; on the loop.
  func receive(_ frame: EncodedFrame) {
    base.change { value in
      if frame.payload.count > 0 { value.statistics.frames += 1 }
      value.statistics.bytes += frame.payload.count
    }
    switch self {
    case .audio(let track): track.receive(frame)
    case .video(let track): track.receive(frame)
    }
  }
}

/// What came of a track.
public struct ReceivingStatistics: Hashable, Sendable {
  /// Encoded frames: pictures, or packets of sound.
  public var frames = 0
  /// Their bytes.
  public var bytes = 0
  /// Packets that the publisher numbered.
  public var packets = 0
  /// Packets that did not come in time, after all repair.
  public var lost = 0
  /// Packets that were missing and came after all.
  public var repaired = 0
  /// Keyframes that were asked for.
  public var keyframeRequests = 0
  /// Frames that were given to renderers, decoded.
  public var rendered = 0
  /// Frames that were left out since the renderers were behind.
  public var dropped = 0
  /// Frames that could not be decoded.
  public var errors = 0

  /// Nothing came yet.
  public init() {}

  mutating func add(_ counts: ReceptionCounts) {
    packets &+= Int(counts.expected)
    lost &+= Int(counts.lost)
    repaired &+= Int(counts.repaired)
    keyframeRequests &+= Int(counts.keyframeRequests)
  }
}

/// What tracks of both kinds have.
final class RemoteTrackState: Sendable {
  struct Value {
    var track: Track
    var isSubscribed = false
    var isPaused = false
    var statistics = ReceivingStatistics()
  }

  let id: TrackID
  let participant: ParticipantIdentity
  private let state: Mutex<Value>
  /// Of those who wait for the end; nil after it.
  private let farewells = Mutex<[ObjectIdentifier: @Sendable () -> Void]?>([:])

  init(_ track: Track) {
    (id, participant) = (track.id, track.participant)
    state = Mutex(Value(track: track))
  }

  var value: Value { state.withLock { $0 } }

  func change(_ change: (inout Value) -> Void) { state.withLock { change(&$0) } }

  /// Runs once when the track is gone, or at once when it is; unless `forget` was called before.
  func whenGone(_ key: ObjectIdentifier, _ farewell: @escaping @Sendable () -> Void) {
    let isThere = farewells.withLock { farewells in
      farewells?[key] = farewell
      return farewells != nil
    }
    if !isThere { farewell() }
  }

  /// Returns when the track is gone, or the task is cancelled.
  func ended() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    let waiting = Waiting()
    whenGone(ObjectIdentifier(waiting)) { continuation.finish() }
    for await _ in stream {}
    forget(ObjectIdentifier(waiting))
  }

  private final class Waiting {}

  func forget(_ key: ObjectIdentifier) { farewells.withLock { $0?[key] = nil } }

  func end() {
    change { $0.isSubscribed = false }
    let waiting = farewells.withLock { farewells in
      defer { farewells = nil }
      return farewells ?? [:]
    }
    for farewell in waiting.values { farewell() }
  }
}

/// The renderers of a track by their identity, and what waits for them.
struct RendererList<Renderer> {
  var renderers: [ObjectIdentifier: Renderer] = [:]
  /// Frames that the media thread has not taken yet.
  var waiting = 0
}
