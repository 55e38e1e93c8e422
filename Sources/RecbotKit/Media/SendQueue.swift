import Rooms
import Synchronization

/// What one publication has to send, on the thread that sends it: bounded, and nothing while the track is disabled. May be used
/// on any thread.
final class SendQueue<Processor: Sendable>: Sendable {
  /// Does some work later, after what it was given before.
  typealias Post = @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Sends something of a track. False when it was left out.
  typealias Send = @Sendable (any TrackPublisher, LocalTrackID, Processor?) -> Bool

  private struct State {
    var id: LocalTrackID?
    var isPaused = false
    var processor: Processor?
    var waiting = 0
    var dropped = 0
  }

  private let core: RoomCore
  private let limit: Int
  private let post: Post
  private let state: Mutex<State>

  /// At most `limit` pieces wait to be sent; more are left out.
  init(core: RoomCore, limit: Int, processor: Processor? = nil, post: @escaping Post) {
    (self.core, self.limit, self.post) = (core, limit, post)
    state = Mutex(State(processor: processor))
  }

  /// What was left out.
  var dropped: Int { state.withLock { $0.dropped } }

  func begin(as id: LocalTrackID) { state.withLock { $0.id = id } }

  /// Says whether nothing is sent. True when it goes on with this.
  func pause(_ isPaused: Bool) -> Bool {
    state.withLock { state in
      defer { state.isPaused = isPaused }
      return state.isPaused && !isPaused
    }
  }

  /// Says what is done to what is sent from now on.
  func process(_ processor: Processor?) { state.withLock { $0.processor = processor } }

  /// Sends something later, if the track is still published and enabled then. False when it is left out at once.
  @discardableResult
  func put(_ send: @escaping Send) -> Bool {
    let isTaken = state.withLock { state in
      guard !state.isPaused, state.id != nil else { return false }
      guard state.waiting < limit else {
        state.dropped += 1
        return false
      }
      state.waiting += 1
      return true
    }
    if isTaken { post { [self] in take(send) } }
    return isTaken
  }

  private func take(_ send: Send) {
    let (id, processor) = state.withLock { state in
      state.waiting -= 1
      return (state.isPaused ? nil : state.id, state.processor)
    }
    guard let id, let client = core.client, !send(client, id, processor) else { return }
    state.withLock { $0.dropped += 1 }
  }
}

/// Sends what the source of one publication gives. May be used on any thread.
protocol TrackSender<Element>: AnyObject, Sendable {
  /// What the source gives.
  associatedtype Element: Sendable

  /// How much was left out.
  var dropped: Int { get }
  /// The connection knows the track by this name.
  func begin(as id: LocalTrackID)
  /// Whether nothing is sent.
  func pause(_ isPaused: Bool)
  /// Says what is done to pictures or sound from now on.
  func process(_ processors: TrackProcessors)
  /// Somebody needs a keyframe of one layer, or of all.
  func wantKeyframe(_ layer: Int?)
  func take(_ element: Element)
}
