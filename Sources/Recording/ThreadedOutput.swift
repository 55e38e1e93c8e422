import Dispatch
import MediaCore
import Platform
import Synchronization

/// Lets another output work on a thread of its own, so that encoding goes on beside decoding and composing: for
/// compositions, which use all of a machine. At most some dozens of pictures wait. Its own calls are confined to one thread.
final class ThreadedOutput: MediaOutput {
  private enum Work: Sendable {
    case picture(Picture, slot: Int64, SessionTime)
    case sound(MediaBuffer, SessionTime)
    case title(String)
    case chapter(SessionTime, String)
    case finish
  }

  private struct State {
    var waiting: [Work] = []
    var size: Int64 = 0
    var result: Result<Int64, RecordingError>?
  }

  /// What both threads know.
  private final class Shared: Sendable {
    let state = Mutex(State())
    /// Counts what waits.
    let filled = DispatchSemaphore(value: 0)
    /// Counts the places for more.
    let free = DispatchSemaphore(value: ThreadedOutput.places)
    /// Is there when the thread is done.
    let over = DispatchSemaphore(value: 0)
  }

  /// Of three things that wait, two are sound. With a third of the places either thread waits for the other now and then:
  /// a composition took 1.1 times as long on two cores.
  private static let places = 64
  private let shared = Shared()
  private var pool = PicturePool(limit: 68)

  /// Makes the output by `make`, and starts the thread, whose it is.
  init(_ make: () throws(RecordingError) -> FileOutput) throws(RecordingError) {
    nonisolated(unsafe) let output = try make()
    let shared = shared
    DetachedThread.start(name: "encoding") { Self.run(output, shared) }
  }

  var size: Int64 { shared.state.withLock { $0.size } }

  func picture(_ picture: Picture, slot: Int64, at time: SessionTime) throws(RecordingError) {
    let copy = pool.take(width: picture.width, height: picture.height)
    copy.y.update(from: picture.y, count: picture.strideY * picture.height)
    copy.u.update(from: picture.u, count: picture.strideUV * picture.chromaHeight)
    copy.v.update(from: picture.v, count: picture.strideUV * picture.chromaHeight)
    try put(.picture(copy, slot: slot, time))
  }

  func sound(_ samples: UnsafeBufferPointer<Float>, at time: SessionTime) throws(RecordingError) {
    try put(.sound(MediaBuffer(copying: UnsafeRawBufferPointer(samples)), time))
  }

  func setTitle(_ title: String) { try? put(.title(title)) }

  func addChapter(start: SessionTime, title: String) { try? put(.chapter(start, title)) }

  func finish() throws(RecordingError) -> Int64 {
    shared.state.withLock { $0.waiting.append(.finish) }
    shared.filled.signal()
    shared.over.wait()
    return try shared.state.withLock { $0.result ?? .failure(.neverStarted) }.get()
  }

  deinit {
    // A thread that was never told to finish is told so: it must not wait for ever.
    shared.state.withLock { $0.waiting.append(.finish) }
    shared.filled.signal()
  }

  private func put(_ work: Work) throws(RecordingError) {
    shared.free.wait()
    let failure = shared.state.withLock { state -> RecordingError? in
      if case .failure(let error) = state.result { return error }
      state.waiting.append(work)
      return nil
    }
    if let failure {
      shared.free.signal()
      throw failure
    }
    shared.filled.signal()
  }

  private static func run(_ output: FileOutput, _ shared: Shared) {
    var result: Result<Int64, RecordingError>?
    while result == nil {
      shared.filled.wait()
      let work = shared.state.withLock { $0.waiting.removeFirst() }
      do throws(RecordingError) {
        switch work {
        case .picture(let picture, let slot, let time): try output.picture(picture, slot: slot, at: time)
        case .sound(let buffer, let time):
          try output.sound(buffer.bytes.assumingMemoryBound(to: Float.self), at: time)
        case .title(let title): output.setTitle(title)
        case .chapter(let start, let title): output.addChapter(start: start, title: title)
        case .finish: result = .success(try output.finish())
        }
      } catch {
        result = .failure(error)
      }
      let size = output.size
      shared.state.withLock { state in
        state.size = size
        state.result = result
      }
      shared.free.signal()
    }
    // Whoever waits for a place finds the error.
    if case .failure = result { for _ in 0..<places { shared.free.signal() } }
    shared.over.signal()
  }
}
