import Dispatch
import MediaCore
import Platform
import Session
import Synchronization

/// Lets another output work on a thread of its own, so that encoding goes on beside decoding and composing: for
/// compositions, which use all of a machine, and for the further files of live recordings, which must not hold the recording up.
/// What waits is bounded. Its own calls are confined to one thread.
final class ThreadedOutput: MediaOutput {
  /// What happens when the thread does not keep up.
  enum Fullness: Sendable {
    /// Whoever gives something waits for a place. At most some dozens of pictures wait.
    case waits
    /// Nobody waits for anything, and the thread yields to others: it is crowded as soon as some pictures wait, and fails when
    /// a minute of sound does.
    case skips
  }

  private enum Work: Sendable {
    case picture(Picture, change: PictureChange, slot: Int64, SessionTime)
    case audio(MediaBuffer, SessionTime)
    case degrade(DegradationStep)
    case title(String)
    case room(String)
    case chapter(SessionTime, String)
    case finish
  }

  private struct State {
    var waiting: [Work] = []
    /// How many of them are pictures.
    var pictures = 0
    /// True when those that wait are not written any more, and how many were not.
    var discardsPictures = false
    var discarded: UInt64 = 0
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
  /// With fewer pictures that wait it may stand still before there are more: they come three at a time.
  static let few = 6
  /// So many pictures wait before it is crowded, and so much of all, where nobody waits.
  static let crowd = 15, most = 3_000
  /// So long it may take, where nobody waits, to write what is left at the end, and then without the pictures.
  private let patience: Duration
  private let lastPatience: Duration
  /// When that begins; nil before the end.
  private var endedAt: Instant?
  private let fullness: Fullness
  private let shared = Shared()
  private var pool: PicturePool
  /// The copy of the last picture that was another one than the one before.
  private var last: Picture?

  /// Makes the output by `make`, and starts the thread, whose it is.
  init(
    _ fullness: Fullness, patience: Duration = .seconds(1),
    lastPatience: Duration = .seconds(2),
    _ make: () throws(RecordingError) -> any MediaOutput
  ) throws(RecordingError) {
    self.patience = patience
    self.lastPatience = lastPatience
    self.fullness = fullness
    pool = PicturePool(limit: fullness == .waits ? 69 : Self.crowd + 3)
    nonisolated(unsafe) let output = try make()
    let shared = shared
    let name = fullness == .waits ? "encoding" : "further file"
    guard DetachedThread.isStarted(name: name, yields: fullness == .skips, { Self.run(output, shared) }) else {
      throw .output("there is no thread for the encoder")
    }
  }

  var isCrowded: Bool { fullness == .skips && shared.state.withLock { $0.pictures >= Self.crowd } }

  var isStarving: Bool { fullness == .waits && shared.state.withLock { $0.pictures < Self.few } }

  var size: Int64 { shared.state.withLock { $0.size } }

  /// True when there is no time for pictures any more.
  var isDiscarding: Bool { shared.state.withLock { $0.discardsPictures } }

  var discarded: UInt64 { shared.state.withLock { $0.discarded } }

  func picture(_ picture: Picture, change: PictureChange, slot: Int64, at time: SessionTime) throws(RecordingError) {
    let copy = change == .nothing ? last : nil
    try put(.picture(copy ?? copied(picture), change: change, slot: slot, time))
  }

  private func copied(_ picture: Picture) -> Picture {
    let copy = pool.take(width: picture.width, height: picture.height)
    copy.y.update(from: picture.y, count: picture.strideY * picture.height)
    copy.u.update(from: picture.u, count: picture.strideUV * picture.chromaHeight)
    copy.v.update(from: picture.v, count: picture.strideUV * picture.chromaHeight)
    last = copy
    return copy
  }

  func audio(_ packet: UnsafeRawBufferPointer, at time: SessionTime) throws(RecordingError) {
    try put(.audio(MediaBuffer(copying: packet), time))
  }

  func setTitle(_ title: String) { try? put(.title(title)) }

  func setRoom(_ room: String) { try? put(.room(room)) }

  func addChapter(start: SessionTime, title: String) { try? put(.chapter(start, title)) }

  func degrade(to step: DegradationStep) throws(RecordingError) { try put(.degrade(step)) }

  func end() {
    guard endedAt == nil else { return }
    endedAt = MonotonicClock.now
    shared.state.withLock { $0.waiting.append(.finish) }
    shared.filled.signal()
  }

  func finish() throws(RecordingError) -> Int64 {
    end()
    if fullness == .waits {
      shared.over.wait()
    } else if !isOver(after: patience) {
      shared.state.withLock { $0.discardsPictures = true }
      guard isOver(after: patience + lastPatience) else {
        throw .output("what waits cannot be written in time; what is in the file plays")
      }
    }
    return try shared.state.withLock { $0.result ?? .failure(.neverStarted) }.get()
  }

  /// Waits until so long after the end; true when the thread is done.
  private func isOver(after span: Duration) -> Bool {
    let left = (endedAt ?? .distantPast) + span - MonotonicClock.now
    return shared.over.wait(timeout: .now() + .nanoseconds(Int(max(0, left.nanoseconds)))) == .success
  }

  // A thread that was never told to finish is told so: it must not wait for ever.
  deinit { end() }

  private func put(_ work: Work) throws(RecordingError) {
    if fullness == .waits { shared.free.wait() }
    let failure = shared.state.withLock { state -> RecordingError? in
      if case .failure(let error) = state.result { return error }
      if state.waiting.count >= Self.most { return .output("it cannot be written as fast as its sound comes") }
      state.waiting.append(work)
      if case .picture = work { state.pictures += 1 }
      return nil
    }
    if let failure {
      if fullness == .waits { shared.free.signal() }
      throw failure
    }
    shared.filled.signal()
  }

  private static func run(_ output: any MediaOutput, _ shared: Shared) {
    var result: Result<Int64, RecordingError>?
    while result == nil {
      shared.filled.wait()
      let (work, isDiscarding) = shared.state.withLock { ($0.waiting.removeFirst(), $0.discardsPictures) }
      do throws(RecordingError) {
        switch work {
        case .picture where isDiscarding: shared.state.withLock { $0.discarded += 1 }
        case .picture(let picture, let change, let slot, let time):
          try output.picture(picture, change: change, slot: slot, at: time)
        case .audio(let packet, let time): try output.audio(packet.bytes, at: time)
        case .degrade(let step): try output.degrade(to: step)
        case .title(let title): output.setTitle(title)
        case .room(let room): output.setRoom(room)
        case .chapter(let start, let title): output.addChapter(start: start, title: title)
        case .finish: result = .success(try output.finish())
        }
      } catch {
        result = .failure(error)
      }
      let size = output.size
      shared.state.withLock { state in
        state.size = size
        if case .picture = work { state.pictures -= 1 }
        state.result = result
      }
      shared.free.signal()
    }
    // Whoever waits for a place finds the error.
    if case .failure = result { for _ in 0..<places { shared.free.signal() } }
    shared.over.signal()
  }
}
