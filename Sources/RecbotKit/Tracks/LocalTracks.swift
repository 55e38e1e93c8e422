import MediaCore
import Session
import Synchronization

/// Pictures of the bot's own, of a capturer. It begins to capture when the track is published.
public final class LocalVideoTrack: Sendable {
  /// The publisher's name for it, unique among its tracks.
  public let name: String
  /// Camera, screen…
  public let source: TrackSource
  let capture: Capture<VideoFrame>
  let use = TrackUse()
  private let size: Dimensions

  /// A track of a capturer.
  public convenience init(name: String = "camera", source: TrackSource = .camera, capturer: some VideoCapturer) {
    self.init(
      name, source, capturer.dimensions, Capture { take in for try await frame in capturer.frames() { take(frame) } })
  }

  private init(_ name: String, _ source: TrackSource, _ size: Dimensions, _ capture: Capture<VideoFrame>) {
    (self.name, self.source, self.size, self.capture) = (name, source, size, capture)
  }

  /// The size that its capturer says.
  public var dimensions: Dimensions { size }

  /// Another track of the same capturer, which captures once for both: to be published beside this one, in another encoding.
  public func clone(name: String? = nil) -> LocalVideoTrack {
    LocalVideoTrack(name ?? "\(self.name)-2", source, size, capture)
  }
}

/// Sound of the bot's own, of a capturer. It begins to capture when the track is published.
public final class LocalAudioTrack: Sendable {
  /// The publisher's name for it, unique among its tracks.
  public let name: String
  /// Microphone, sound of a screen…
  public let source: TrackSource
  let capture: Capture<AudioBlock>
  let use = TrackUse()

  /// A track of a capturer.
  public convenience init(name: String = "microphone", source: TrackSource = .microphone, capturer: some AudioCapturer)
  {
    self.init(name, source, Capture { take in for try await block in capturer.blocks() { take(block) } })
  }

  private init(_ name: String, _ source: TrackSource, _ capture: Capture<AudioBlock>) {
    (self.name, self.source, self.capture) = (name, source, capture)
  }

  /// Another track of the same capturer, which captures once for both.
  public func clone(name: String? = nil) -> LocalAudioTrack {
    LocalAudioTrack(name ?? "\(self.name)-2", source, capture)
  }
}

/// Whether a track is published: once at a time.
final class TrackUse: Sendable {
  private let isClaimed = Atomic(false)

  /// False when it is.
  func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }

  func release() { isClaimed.store(false, ordering: .releasing) }
}

/// Runs a capturer while anybody takes what it gives, for all of them.
final class Capture<Element: Sendable>: Sendable {
  typealias Take = @Sendable (Element) -> Void
  /// Is told that nothing more comes: at the capturer's end, or since it failed.
  typealias End = @Sendable ((any Error)?) -> Void

  private struct State {
    var takers: [ObjectIdentifier: (take: Take, end: End)] = [:]
    var task: Task<Void, Never>?
    /// How it ended by itself; nil while it runs.
    var outcome: Result<Void, any Error>?
  }

  private let run: @Sendable (@escaping Take) async throws -> Void
  private let state = Mutex(State())

  init(_ run: @escaping @Sendable (@escaping Take) async throws -> Void) { self.run = run }

  /// Gives everything to somebody, too, from now on.
  func begin(for taker: AnyObject, onEnd end: @escaping End, _ take: @escaping Take) {
    let key = ObjectIdentifier(taker)
    let outcome = state.withLock { state in
      state.takers[key] = (take, end)
      guard state.task == nil else { return state.outcome }
      let give: Take = { [weak self] in self?.give($0) }
      state.task = Task { [run, weak self] in
        do {
          try await run(give)
          self?.ended(.success(()))
        } catch {
          self?.ended(.failure(error))
        }
      }
      return nil
    }
    outcome?.tell(end)
  }

  /// Gives nothing more; without takers the capturer ends.
  func end(for taker: AnyObject) {
    let key = ObjectIdentifier(taker)
    state.withLock { state in
      state.takers[key] = nil
      guard state.takers.isEmpty else { return }
      state.task?.cancel()
      (state.task, state.outcome) = (nil, nil)
    }
  }

  private func give(_ element: Element) {
    for taker in state.withLock({ Array($0.takers.values) }) { taker.take(element) }
  }

  private func ended(_ outcome: Result<Void, any Error>) {
    guard !Task.isCancelled else { return }
    let takers = state.withLock { state in
      state.outcome = outcome
      return Array(state.takers.values)
    }
    for taker in takers { outcome.tell(taker.end) }
  }
}

extension Result<Void, any Error> {
  fileprivate func tell(_ end: ((any Error)?) -> Void) {
    switch self {
    case .success: end(nil)
    case .failure(let error): end(error)
    }
  }
}
