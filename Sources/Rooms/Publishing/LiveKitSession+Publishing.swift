import MediaCore
import Session
import Transport

/// What happens to what the bot publishes.
extension LiveKitSession {
  /// The room was joined anew. `isPrimary`: the server makes no offer to this participant, which may not receive: what never
  /// comes counts as connected.
  mutating func beginPublishing(_ request: MediaRequest, isPrimary: Bool, at now: Instant) {
    if isPrimary, !settings.receivesMedia {
      transportChanged(media.changed(.connected, isSignalOpen: true, at: now), at: now)
    }
    actions += publishing.joined(request, at: now)
  }

  /// Takes what happens to what is published.
  mutating func published(_ input: PublishingInput, at now: Instant) -> [Action] {
    switch input {
    case .publish(let id, let track): publishing.publish(id, track, at: now)
    case .unpublish(let id): publishing.unpublish(id)
    case .mute(let id, let isMuted): publishing.mute(id, isMuted)
    case .wantData: publishing.wantData()
    case .offered(let number, let sdp): publishing.offered(number, sdp, at: now)
    case .applied(let number, let error): publishing.applied(number, error: error)
    case .failed(let number, let text): publishing.failed(number, text)
    case .transport(let number, let state): publishing.changed(number, state, at: now)
    case .gathered(let number, let candidate): publishing.gathered(number, candidate)
    }
  }
}
