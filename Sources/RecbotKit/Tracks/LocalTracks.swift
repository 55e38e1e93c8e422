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
  private let processing: CustomProcessing<VideoFrame>

  /// A track of a capturer. `processor` makes other pictures of its own from the first on; `process(by:)` changes that.
  public convenience init(
    name: String = "camera", source: TrackSource = .camera, capturer: some VideoCapturer,
    processor: (any CustomVideoProcessor)? = nil
  ) {
    let processing = CustomProcessing<VideoFrame>()
    let capture = Capture<VideoFrame> { take in
      for try await frame in capturer.frames() { processing.pass(frame, take) }
    }
    self.init(name, source, capturer.dimensions, capture, processing)
    process(by: processor)
  }

  private init(
    _ name: String, _ source: TrackSource, _ size: Dimensions, _ capture: Capture<VideoFrame>,
    _ processing: CustomProcessing<VideoFrame>
  ) {
    (self.name, self.source, self.size, self.capture, self.processing) = (name, source, size, capture, processing)
  }

  /// The size that its capturer says.
  public var dimensions: Dimensions { size }

  /// How often a picture was withheld since its processor threw or was late.
  public var processorFailures: Int { processing.failures }

  /// Has other pictures made of those that are captured from now on, for its clones, too; nil: they go as they are. What
  /// `LocalTrackPublication.process(_:)` says is done to each publication behind it.
  public func process(by processor: (any CustomVideoProcessor)?) { processing.process(by: processor) }

  /// Another track of the same capturer, which captures and processes once for both: to be published beside this one, in another
  /// encoding.
  public func clone(name: String? = nil) -> LocalVideoTrack {
    LocalVideoTrack(name ?? "\(self.name)-2", source, size, capture, processing)
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
  private let processing: CustomProcessing<AudioBlock>

  /// A track of a capturer. `processor` makes other sound of its own from the first on; `process(by:)` changes that.
  public convenience init(
    name: String = "microphone", source: TrackSource = .microphone, capturer: some AudioCapturer,
    processor: (any CustomAudioProcessor)? = nil
  ) {
    let processing = CustomProcessing<AudioBlock>()
    let capture = Capture<AudioBlock> { take in
      for try await block in capturer.blocks() { processing.pass(block, take) }
    }
    self.init(name, source, capture, processing)
    process(by: processor)
  }

  private init(
    _ name: String, _ source: TrackSource, _ capture: Capture<AudioBlock>, _ processing: CustomProcessing<AudioBlock>
  ) {
    (self.name, self.source, self.capture, self.processing) = (name, source, capture, processing)
  }

  /// How often a stretch of sound was withheld since its processor threw, made another length of it, or was late.
  public var processorFailures: Int { processing.failures }

  /// Has other sound made of what is captured from now on, for its clones, too; nil: it goes as it is. What
  /// `LocalTrackPublication.process(_:)` says is done to each publication behind it.
  public func process(by processor: (any CustomAudioProcessor)?) { processing.process(by: processor) }

  /// Another track of the same capturer, which captures and processes once for both.
  public func clone(name: String? = nil) -> LocalAudioTrack {
    LocalAudioTrack(name ?? "\(self.name)-2", source, capture, processing)
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
