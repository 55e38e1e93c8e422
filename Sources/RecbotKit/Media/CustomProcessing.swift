import MediaCore
import Platform
import Synchronization

/// Puts a processor of somebody's own between what gives pictures or sound and what takes them. May be used on any thread.
final class CustomProcessing<Element: Processable>: Sendable {
  typealias Process = @Sendable (Element) throws -> Element
  typealias Take = @Sendable (Element) -> Void

  private struct State {
    var run: ProcessorRun<Element>?
    /// Of the processors before this one.
    var failures = 0
  }

  private let state = Mutex(State())
  private let clock: @Sendable () -> Instant

  /// Without a processor: what is given is taken as it is.
  init(clock: @escaping @Sendable () -> Instant = { MonotonicClock.now }) { self.clock = clock }

  /// Whether there is a processor.
  var isInUse: Bool { state.withLock { $0.run != nil } }

  /// How often something had to be withheld: the processor threw, made what cannot be used, or was late.
  var failures: Int { state.withLock { $0.failures + ($0.run?.failures ?? 0) } }

  /// From the next picture or stretch of sound on this is done; nil: nothing is.
  func use(_ process: Process?) {
    let run = process.map { ProcessorRun($0, clock: clock) }
    let last = state.withLock { state in
      defer { state.run = run }
      state.failures += state.run?.failures ?? 0
      return state.run
    }
    last?.end()
  }

  /// Gives something to `take`, as the processor makes it, or withheld.
  func pass(_ element: Element, _ take: @escaping Take) {
    guard let run = state.withLock({ $0.run }) else { return take(element) }
    run.pass(element, take)
  }

  deinit { state.withLock { $0.run }?.end() }
}

extension CustomProcessing<VideoFrame> {
  /// The same with a processor of pictures.
  func process(by processor: (any CustomVideoProcessor)?) {
    guard let processor else { return use(nil) }
    use { try processor.process($0) }
  }
}

extension CustomProcessing<AudioBlock> {
  /// The same with a processor of sound.
  func process(by processor: (any CustomAudioProcessor)?) {
    guard let processor else { return use(nil) }
    use { try processor.process($0) }
  }
}

/// One processor at work, on a thread of its own, which may hang: then whoever gives something next finds that out. May be used on any
/// thread.
private final class ProcessorRun<Element: Processable>: Sendable {
  private struct State {
    /// When it was given what it works on; nil: it has nothing.
    var startedAt: Instant?
    /// What it has, and what waits.
    var count = 0
    /// Changes when nothing of what it was given until then may go on any more.
    var turn = 0
    var failures = 0
  }

  private enum Way {
    case processed(turn: Int)
    case leftOut
    case withheld
  }

  /// So long a processor may take; then it is late.
  private static var patience: Duration { .milliseconds(500) }

  private let process: CustomProcessing<Element>.Process
  private let clock: @Sendable () -> Instant
  private let thread = MediaThread(name: "processor")
  private let state = Mutex(State())

  init(_ process: @escaping CustomProcessing<Element>.Process, clock: @escaping @Sendable () -> Instant) {
    (self.process, self.clock) = (process, clock)
  }

  var failures: Int { state.withLock { $0.failures } }

  /// Nothing goes on any more.
  func end() {
    state.withLock { $0.turn += 1 }
    thread.stop()
  }

  func pass(_ element: Element, _ take: @escaping CustomProcessing<Element>.Take) {
    let now = clock()
    let way: Way = state.withLock { state in
      if let startedAt = state.startedAt, now - startedAt >= Self.patience {
        state.turn += 1
        state.failures += 1
        return .withheld
      }
      guard state.count <= Element.waitingLimit else { return .leftOut }
      state.count += 1
      return .processed(turn: state.turn)
    }
    switch way {
    case .processed(let turn): thread.post { [self] in work(on: element, turn, take) }
    case .leftOut: break
    case .withheld: take(element.withheld)
    }
  }

  private func work(on element: Element, _ turn: Int, _ take: CustomProcessing<Element>.Take) {
    let now = clock()
    let isWanted = state.withLock { state in
      if turn == state.turn { state.startedAt = now } else { state.count -= 1 }
      return turn == state.turn
    }
    guard isWanted else { return }
    let made = (try? process(element)).flatMap(element.replaced(by:))
    let isTaken = state.withLock { state in
      state.startedAt = nil
      state.count -= 1
      if made == nil, turn == state.turn { state.failures += 1 }
      return turn == state.turn
    }
    if isTaken { take(made ?? element.withheld) }
  }
}
