import Dispatch
import Platform
import Synchronization
import Transport

/// The threads that rooms work on: one for the network, and one on which codecs, renderers and processors run. A room has its
/// own unless several are given the same (`ConnectOptions.threads`): then they share two threads.
public final class RoomThreads: Sendable {
  /// As long as senders gather packets for (libwebrtc's pacer sends every 5 ms): nobody sees or hears that, and what nine people send is
  /// taken in a quarter of the wakes.
  static let rest = Duration.milliseconds(5)
  let loop: MediaLoop
  let media: MediaThread

  /// Starts the threads; they end with the last who refers to them.
  public init(name: String = "room") {
    loop = MediaLoop(name: name, rest: Self.rest)
    media = MediaThread(name: "\(name) media")
  }

  /// The loop waits for what closes on it; whoever lets the threads go does not.
  deinit {
    media.stop()
    DetachedThread.start(name: "room end") { [loop] in loop.stop() }
  }
}

/// A thread that does what it is given, in order. What waits is bounded by those who give it.
final class MediaThread: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isStopped = false
    var isStarted = false
  }

  private let state = Mutex(State())
  private let name: String
  private let waker = DispatchSemaphore(value: 0)

  init(name: String) { self.name = name }

  /// Does some work after all that was given before. The thread begins with the first. After `stop` nothing is done.
  func post(_ work: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      guard !state.isStopped else { return false }
      state.waiting.append(work)
      defer { state.isStarted = true }
      return !state.isStarted
    }
    // Without a thread what was given waits for the next who tries.
    if isFirst, !DetachedThread.isStarted(name: name, { [self] in run() }) { state.withLock { $0.isStarted = false } }
    waker.signal()
  }

  /// The thread ends after what it does now.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.waiting = []
    }
    waker.signal()
  }

  private func run() {
    var work: [@Sendable () -> Void] = []
    while true {
      waker.wait()
      let isStopped = state.withLock { state in
        swap(&work, &state.waiting)
        return state.isStopped
      }
      if isStopped { return }
      for item in work { item() }
      work.removeAll(keepingCapacity: true)
    }
  }
}
