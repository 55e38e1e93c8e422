import MediaCore
import Session
import Synchronization

/// Somebody else in the room. Its properties are what was told last, and may be read on any thread.
public final class RemoteParticipant: Sendable {
  private struct State {
    var participant: Participant
    var tracks: [TrackID: RemoteTrack] = [:]
    var audioLevel = 0.0
    var isSpeaking = false
  }

  /// Stays the same when the person leaves and comes back.
  public let identity: ParticipantIdentity
  private let state: Mutex<State>

  init(_ participant: Participant) {
    identity = participant.identity
    state = Mutex(State(participant: participant))
  }

  /// The name to show: the identity where none was given.
  public var name: String { state.withLock { $0.participant.displayName } }
  /// Free text that the application attached.
  public var metadata: String { state.withLock { $0.participant.metadata } }
  /// Free key-value texts that the application attached.
  public var attributes: [String: String] { state.withLock { $0.participant.attributes } }
  /// True for agents, recorders and other machines that are there for the people.
  public var isAgent: Bool { state.withLock { $0.participant.isBot } }
  /// How loud the person is by the server's word, 0 (silent) ... 1.
  public var audioLevel: Double { state.withLock { $0.audioLevel } }
  /// Whether the server counts the person among the speakers.
  public var isSpeaking: Bool { state.withLock { $0.isSpeaking } }
  /// What the person publishes, in the order of the ids.
  public var tracks: [RemoteTrack] { state.withLock { $0.tracks.values.sorted { $0.id < $1.id } } }

  /// Takes what is told. False when that is no news.
  func update(_ participant: Participant) -> Bool {
    state.withLock { state in
      defer { state.participant = participant }
      return state.participant != participant
    }
  }

  func update(_ speaker: Speaker) {
    state.withLock { ($0.audioLevel, $0.isSpeaking) = (Double(speaker.level) / 1000, speaker.isActive) }
  }

  func add(_ track: RemoteTrack) { state.withLock { $0.tracks[track.id] = track } }

  func remove(_ track: TrackID) { state.withLock { _ = $0.tracks.removeValue(forKey: track) } }
}
