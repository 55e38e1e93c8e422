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

  private struct State {
    var takers: [ObjectIdentifier: Take] = [:]
    var task: Task<Void, Never>?
  }

  private let run: @Sendable (@escaping Take) async throws -> Void
  private let state = Mutex(State())

  init(_ run: @escaping @Sendable (@escaping Take) async throws -> Void) { self.run = run }

  /// Gives everything to somebody, too, from now on.
  func begin(for taker: AnyObject, _ take: @escaping Take) {
    let key = ObjectIdentifier(taker)
    state.withLock { state in
      state.takers[key] = take
      guard state.task == nil else { return }
      let give: Take = { [weak self] in self?.give($0) }
      // A capturer that fails has ended; its tracks stay and show their last picture.
      state.task = Task { [run] in try? await run(give) }
    }
  }

  /// Gives nothing more; without takers the capturer ends.
  func end(for taker: AnyObject) {
    let key = ObjectIdentifier(taker)
    state.withLock { state in
      state.takers[key] = nil
      guard state.takers.isEmpty else { return }
      state.task?.cancel()
      state.task = nil
    }
  }

  private func give(_ element: Element) {
    for take in state.withLock({ Array($0.takers.values) }) { take(element) }
  }
}
