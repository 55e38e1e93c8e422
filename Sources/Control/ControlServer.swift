import Glibc
import MediaCore
import Platform
import Synchronization

/// The control socket of one recording: takes commands, one JSON object a line, and tells listeners what happens
/// (`Control.md` describes the protocol). A thread of its own; nothing that a client does holds up the recording.
public final class ControlServer: Sendable {
  /// Carries out a request, on the control thread. `subscribe` never comes here.
  public typealias Handler = @Sendable (ControlRequest) -> ControlAnswer

  private struct State {
    var events: [String] = []
    var listeners = 0
    var isClosed = false
  }

  /// Clients that are served at once.
  static let mostConnections = 8
  /// Events that wait for the control thread. It only ever lags for milliseconds.
  private static let mostEvents = 4096

  /// The name of the job.
  public let job: String
  private let path: String
  private let waker: Waker
  private let state = Mutex(State())

  /// Opens the socket of a job and begins to serve it.
  public init(job: String, in directory: RunDirectory, handler: @escaping Handler) throws(ControlError) {
    self.job = job
    path = directory.socket(of: job)
    let listener = try directory.listen(job)
    guard let waker = Waker() else {
      Glibc.close(listener)
      unlink(path)
      throw ControlError("no descriptor is left for the control socket")
    }
    self.waker = waker
    DetachedThread.start(name: "control") { [self] in
      var service = ControlService(listener: listener, handler: handler)
      while serve(&service) {}
      // Nobody else's: it is replaced only when nobody listens.
      unlink(path)
      service.finish()
    }
  }

  /// Tells all listeners of an event: a line of JSON. Any thread; never blocks.
  public func publish(_ event: String) {
    let isHeard = state.withLock { state in
      guard state.listeners > 0, state.events.count < Self.mostEvents else { return false }
      state.events.append(event)
      return true
    }
    if isHeard { waker.wake() }
  }

  /// Clients that are told of events.
  var listenerCount: Int { state.withLock { $0.listeners } }

  /// Ends the service; what listeners have not been told yet is still sent. Any thread; returns at once.
  public func close() {
    state.withLock { $0.isClosed = true }
    waker.wake()
  }

  /// One round of the control thread. False at the end.
  private func serve(_ service: inout ControlService) -> Bool {
    let (events, isClosed) = state.withLock { state in
      defer { state.events.removeAll(keepingCapacity: true) }
      return (state.events, state.isClosed)
    }
    for event in events { service.tell(event) }
    if isClosed { return false }
    service.wait(waker.descriptor)
    waker.clear()
    service.serve()
    state.withLock { $0.listeners = service.listeners }
    return true
  }
}

/// The connections of a control socket. Confined to the control thread.
private struct ControlService {
  /// Lets connections, which have one owner each, stand in an array.
  private final class Client {
    var connection: ControlConnection
    init(_ connection: consuming ControlConnection) { self.connection = connection }
  }

  private let listener: Int32
  private let handler: ControlServer.Handler
  private var clients: [Client] = []
  private var polled: [pollfd] = []

  init(listener: Int32, handler: @escaping ControlServer.Handler) {
    self.listener = listener
    self.handler = handler
  }

  /// How many clients want to be told of events.
  var listeners: Int { clients.count { $0.connection.isSubscribed } }

  /// Tells the listeners of an event.
  mutating func tell(_ event: String) {
    let line = Array("{\"event\":\(event)}\n".utf8)
    for client in clients where client.connection.isSubscribed { client.connection.put(line) }
    flush()
  }

  /// Waits until something can be done; while there are clients, whose time may be over, at most a second.
  mutating func wait(_ wake: Int32) {
    polled.removeAll(keepingCapacity: true)
    polled.append(pollfd(fd: wake, events: Int16(POLLIN), revents: 0))
    polled.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
    for client in clients {
      var events = Int16(0)
      if client.connection.wantsToRead { events |= Int16(POLLIN) }
      if client.connection.wantsToWrite { events |= Int16(POLLOUT) }
      polled.append(pollfd(fd: client.connection.descriptor, events: events, revents: 0))
    }
    // What was received and could not be answered yet comes with no further bytes.
    let hasWork = clients.contains { $0.connection.hasLine && $0.connection.wantsToRead }
    if poll(&polled, nfds_t(polled.count), hasWork ? 0 : clients.isEmpty ? -1 : 1_000) < 0 {
      for index in polled.indices { polled[index].revents = 0 }
    }
  }

  /// Does what `wait` has found.
  mutating func serve() {
    let now = MonotonicClock.now
    var gone: Set<Int32> = []
    for (client, found) in zip(clients, polled.dropFirst(2)) {
      if found.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0, !client.connection.receive() {
        gone.insert(client.connection.descriptor)
      }
      // As many as its backlog takes, so that nobody keeps the others waiting; the rest is found in the next round.
      while client.connection.wantsToRead, let line = client.connection.nextLine(at: now) {
        client.connection.put(answer(line, client).line)
      }
    }
    clients.removeAll { gone.contains($0.connection.descriptor) }
    flush()
    clients.removeAll { $0.connection.isOver(at: now) }
    if polled[1].revents != 0 { accept(at: now) }
  }

  /// Closes everything; what is on its way is given a moment.
  mutating func finish() {
    flush()
    clients = []
    close(listener)
  }

  private mutating func flush() { clients.removeAll { !$0.connection.flush() } }

  private mutating func accept(at now: Instant) {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else { return }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    let client = Client(ControlConnection(descriptor: descriptor, now: now))
    // The folder lets nobody else in; this is the second lock.
    guard Self.isOwn(descriptor) else { return }
    guard clients.count < ControlServer.mostConnections else {
      client.connection.put(ControlAnswer.refused("too many connections").line)
      _ = client.connection.flush()
      return
    }
    clients.append(client)
  }

  private func answer(_ line: [UInt8], _ client: Client) -> ControlAnswer {
    do {
      let request = try ControlRequest(line: line)
      var answer = ControlAnswer.done
      if request.command == .subscribe { client.connection.isSubscribed = true } else { answer = handler(request) }
      answer.id = request.id
      return answer
    } catch {
      return .refused(error.description)
    }
  }

  /// True when the client is a process of the same user, or of the system's (SO_PEERCRED, unix(7)).
  private static func isOwn(_ descriptor: Int32) -> Bool {
    // struct ucred, which Glibc's module does not show: pid, uid, gid.
    var credentials: (Int32, UInt32, UInt32) = (0, .max, 0)
    var size = socklen_t(MemoryLayout.size(ofValue: credentials))
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return false }
    return credentials.1 == geteuid() || credentials.1 == 0
  }
}
