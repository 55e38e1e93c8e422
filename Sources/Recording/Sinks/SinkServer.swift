import Dispatch
import Glibc
import Logging
import MediaCore
import Platform
import Synchronization

/// Gives the blocks of one sink to its readers, on a thread of its own: whoever puts blocks in never waits, and a reader that does
/// not read loses some. A Unix socket has up to eight readers, which come and go; a descriptor has one, and its end is the sink's;
/// a WebSocket has those that are handed in.
final class SinkServer: Sendable {
  private struct State {
    var fresh: [SinkBlock] = []
    /// Connected sockets of new readers.
    var handed: [Int32] = []
    var progress: SinkProgress
    var isClosed = false
  }

  /// Readers that are served at once.
  static let mostReaders = 8
  /// Of more that wait for the thread, as the machine stands still, the oldest are a loss for every reader.
  private let mostFresh: Int
  /// So long readers may take, at the end, for what is left.
  private static let patience = Duration.milliseconds(300)

  /// What is given, and to whom.
  let sink: MediaSink
  private let state: Mutex<State>
  private let waker: Waker
  private let over = DispatchSemaphore(value: 0)
  private let logger: Logger

  /// Makes the socket, or looks at the descriptor, and starts the thread. `framing`: how what is put in is put together.
  ///
  /// - Throws: `output` when the address cannot be had: somebody listens there, it is no socket, the descriptor is not open.
  init(_ sink: MediaSink, _ framing: SinkFraming, logger: Logger) throws(RecordingError) {
    self.sink = sink
    self.logger = logger
    mostFresh = framing.mostFresh
    var progress = SinkProgress(sink: sink.text)
    progress.hasPictures = sink.hasPictures
    state = Mutex(State(progress: progress))
    let descriptor = try Self.open(sink)
    guard let waker = Waker() else {
      Self.close(descriptor, of: sink)
      throw .output("\(sink.text): no descriptor is left for it")
    }
    self.waker = waker
    let isStarted = DetachedThread.isStarted(name: "sink") { [self] in
      var service = SinkService(sink, framing, descriptor)
      var isOver = false
      while !isOver { isOver = round(&service) }
      service.finish()
      over.signal()
    }
    guard isStarted else {
      Self.close(descriptor, of: sink)
      throw .output("\(sink.text): there is no thread for it")
    }
  }

  /// Takes back what `open` has made.
  private static func close(_ descriptor: Int32?, of sink: MediaSink) {
    if let descriptor { Glibc.close(descriptor) }
    if case .socket(let path) = sink.target { unlink(path) }
  }

  /// How it stands; any thread.
  var progress: SinkProgress { state.withLock { $0.progress } }

  /// Takes the next block. Never waits; any thread.
  func put(_ block: SinkBlock) {
    state.withLock { state in
      guard state.progress.failure == nil else { return }
      if state.fresh.count >= mostFresh {
        state.fresh.removeFirst()
        state.progress.lostBlocks += 1
      }
      state.fresh.append(block)
    }
    waker.wake()
  }

  /// Takes the connected socket of a reader, and closes it at the end. False, and it is closed at once, when nothing more comes. Any
  /// thread.
  func give(to descriptor: Int32) -> Bool {
    let isTaken = state.withLock { state in
      guard !state.isClosed, state.progress.failure == nil else { return false }
      state.handed.append(descriptor)
      return true
    }
    if isTaken { waker.wake() } else { Glibc.close(descriptor) }
    return isTaken
  }

  /// Nothing more comes; what is on its way has a moment.
  func end() {
    state.withLock { $0.isClosed = true }
    waker.wake()
  }

  /// Waits for that moment, after `end`.
  func finish() {
    // Whoever waits next finds it over, too.
    if over.wait(timeout: .now() + .milliseconds(2 * Int(Self.patience.milliseconds))) == .success { over.signal() }
  }

  /// Opens all, of a recording of these settings; none is open afterwards when one cannot be.
  static func open(_ settings: RecordingSettings, logger: Logger) throws(RecordingError) -> [SinkServer] {
    var servers: [SinkServer] = []
    do throws(RecordingError) {
      for sink in settings.sinks {
        servers.append(try SinkServer(sink, SinkFraming(sink, in: settings.session), logger: logger))
      }
    } catch {
      finish(servers)
      throw error
    }
    return servers
  }

  /// Nothing more comes. All give what is on its way at the same time. Any thread; more than once does no harm.
  static func finish(_ servers: [SinkServer]) {
    for server in servers { server.end() }
    for server in servers { server.finish() }
  }

  /// One round of the thread. True when it was the last.
  private func round(_ service: inout SinkService) -> Bool {
    let (fresh, handed, isClosed) = state.withLock { state in
      defer {
        state.fresh.removeAll(keepingCapacity: true)
        state.handed = []
      }
      return (state.fresh, state.handed, state.isClosed)
    }
    for descriptor in handed { service.take(descriptor) }
    for block in fresh { service.put(block) }
    let now = MonotonicClock.now
    let isOver = service.serve(until: isClosed ? Self.patience : nil, now: now)
    // Before the wait: pictures are made only while somebody reads.
    let failure = state.withLock { state -> String? in
      state.progress.readers = service.readers
      state.progress.lostBlocks += service.takeLost()
      guard let failure = service.failure, state.progress.failure == nil else { return nil }
      state.progress.failure = failure
      return failure
    }
    if let failure {
      logger.error(
        "a sink has ended; the recording goes on", metadata: ["sink": "\(sink.text)", "reason": "\(failure)"])
    }
    guard !isOver, failure == nil else { return true }
    service.wait(waker.descriptor)
    waker.clear()
    return false
  }

  /// The listening socket, or a copy of the descriptor: whoever closes it, closes its own. Nil where readers are handed in.
  private static func open(_ sink: MediaSink) throws(RecordingError) -> Int32? {
    switch sink.target {
    case .webSocket: return nil
    case .descriptor(let number):
      let flags = fcntl(number, F_GETFL)
      guard flags >= 0 else { throw .output("\(sink.text): descriptor \(number) is not open") }
      guard flags & O_ACCMODE != O_RDONLY else {
        throw .output("\(sink.text): descriptor \(number) is open for reading only")
      }
      let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
      guard copy >= 0 else { throw .output("\(sink.text): no descriptor is left for it") }
      return copy
    case .socket(let path):
      if let other = try? UnixSocket.connect(path) {
        Glibc.close(other)
        throw .output("\(sink.text): somebody listens there already; choose another path")
      }
      // One that was left behind is replaced; anything else is not.
      var status = stat()
      if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
      do {
        let listener = try UnixSocket.bind(path)
        guard Glibc.listen(listener, 8) == 0 else {
          let reason = String(cString: strerror(errno))
          Glibc.close(listener)
          unlink(path)
          throw RecordingError.output("\(sink.text): cannot listen: \(reason)")
        }
        return listener
      } catch let error as RecordingError {
        throw error
      } catch {
        throw .output("\(sink.text): \(error)")
      }
    }
  }
}

/// The readers of a sink. Confined to its thread.
private struct SinkService {
  /// One reader, and what waits for it.
  private final class Reader {
    let descriptor: Int32
    let isSocket: Bool
    var queue: SinkQueue
    var toldLost: UInt64 = 0
    /// True when it has hung up, which is seen also while nothing waits for it.
    var isGone = false

    init(_ descriptor: Int32, isSocket: Bool, _ framing: SinkFraming) {
      self.descriptor = descriptor
      self.isSocket = isSocket
      queue = SinkQueue(framing)
    }

    deinit { close(descriptor) }

    /// Writes what it takes. False when it is gone.
    func flush() -> Bool {
      queue.flush { bytes in
        // A descriptor is shared with whoever opened it, so its mode stays; what a pipe has room for never blocks up to
        // PIPE_BUF bytes (pipe(7)).
        if !isSocket {
          var found = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          guard poll(&found, 1, 0) == 1 else { return .full }
          guard found.revents & Int16(POLLERR | POLLNVAL) == 0 else { return .gone }
        }
        let count =
          isSocket
          ? send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
          : write(descriptor, bytes.baseAddress, min(bytes.count, 4096))
        if count > 0 { return .taken(count) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? .full : .gone
      }
    }
  }

  private let sink: MediaSink
  private let framing: SinkFraming
  private let listener: Int32?
  private var all: [Reader] = []
  private var lostOfGone: UInt64 = 0
  private var endsAt: Instant?
  private var polled: [pollfd] = []
  /// Why there is nobody to give anything to any more.
  private(set) var failure: String?

  /// Takes over the listening socket, or the descriptor.
  init(_ sink: MediaSink, _ framing: SinkFraming, _ descriptor: Int32?) {
    self.sink = sink
    self.framing = framing
    if case .descriptor = sink.target, let descriptor {
      listener = nil
      all.append(Reader(descriptor, isSocket: false, framing))
    } else {
      listener = descriptor
    }
  }

  /// Takes a reader over.
  mutating func take(_ descriptor: Int32) {
    guard all.count < SinkServer.mostReaders else {
      close(descriptor)
      return
    }
    all.append(Reader(descriptor, isSocket: true, framing))
  }

  /// How many are connected.
  var readers: Int { all.count }

  /// What readers have lost since this was asked last.
  mutating func takeLost() -> UInt64 {
    var sum = lostOfGone
    lostOfGone = 0
    for reader in all {
      sum += reader.queue.lost - reader.toldLost
      reader.toldLost = reader.queue.lost
    }
    return sum
  }

  mutating func put(_ block: SinkBlock) { for reader in all { reader.queue.put(block) } }

  /// Gives what waits, and lets readers come and go. `patience`: nothing more comes, and that is how long it may take. True
  /// when all is done.
  mutating func serve(until patience: Duration?, now: Instant) -> Bool {
    accept()
    all.removeAll { reader in
      if !reader.isGone, reader.flush() { return false }
      lostOfGone += reader.queue.lost - reader.toldLost
      return true
    }
    if case .descriptor = sink.target, all.isEmpty { failure = failure ?? "the reader has gone" }
    guard let patience else { return false }
    endsAt = endsAt ?? now + patience
    return all.allSatisfy { $0.queue.isEmpty } || now >= endsAt ?? now
  }

  /// Waits until something can be done, at most 100 ms at the end and a second before.
  mutating func wait(_ wake: Int32) {
    polled.removeAll(keepingCapacity: true)
    polled.append(pollfd(fd: wake, events: Int16(POLLIN), revents: 0))
    if let listener { polled.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0)) }
    for reader in all {
      // What hangs up is seen although nothing is asked for.
      polled.append(
        pollfd(fd: reader.descriptor, events: reader.queue.isEmpty ? 0 : Int16(POLLOUT), revents: 0))
    }
    guard poll(&polled, nfds_t(polled.count), endsAt == nil ? 1_000 : 100) > 0 else { return }
    let ends = Int16(POLLHUP | POLLERR | POLLNVAL)
    for (reader, found) in zip(all, polled.suffix(all.count)) { reader.isGone = found.revents & ends != 0 }
  }

  /// Closes everything and removes the socket.
  mutating func finish() {
    all = []
    guard let listener else { return }
    close(listener)
    if case .socket(let path) = sink.target { unlink(path) }
  }

  private mutating func accept() {
    guard let listener else { return }
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else {
        // Without a descriptor left the reader would be found again at once, for ever.
        if errno == EMFILE || errno == ENFILE { usleep(100_000) }
        return
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      take(descriptor)
    }
  }
}
