import MediaCore
import Platform
import Signaling
import Transport

// Sendable: everything mutable is touched on `loop` only.
/// The mailbox of the room server: `MailboxState` with a clock, and with requests that wait for a change.
final class MailboxService: @unchecked Sendable {
  /// One request of one peer whose token was good.
  struct Call: Sendable {
    /// What is asked.
    enum Action: Sendable {
      case takeSeat(SeatRequest)
      case leave
      case put(MailboxDescription)
      case add(MailboxCandidates)
      case clear
      /// Answered when the room's revision is another than this, or after a while.
      case watch(after: UInt64)
    }

    var room: String
    var identity: String
    /// The peer's own name of this visit: another value means that it began anew.
    var session: String
    var action: Action
  }

  typealias Reply = @Sendable (Result<MailboxView, MailboxState.Refusal>) -> Void

  /// A request that waits.
  private struct Watch {
    var call: Call
    var after: UInt64
    var until: Instant
    var reply: Reply
  }

  /// How long a request waits for a change: shorter than what proxies cut off.
  static let patience = Duration.seconds(20)

  private let loop: MediaLoop
  private let iceServers: [MailboxView.Server]

  // On the loop from here on.
  private var state: MailboxState
  private var watches: [Int: Watch] = [:]
  private var timer: LoopTimer?

  /// Makes a mailbox whose work is done on `loop`; peers are told to use `iceServers`.
  init(loop: MediaLoop, iceServers: [ICEServer], limits: MailboxState.Limits = .init()) {
    self.loop = loop
    self.iceServers = iceServers.map {
      MailboxView.Server(urls: $0.urls, username: $0.username, credential: $0.credential)
    }
    state = MailboxState(limits: limits)
  }

  /// Does what is asked. `reply` is called once, on the loop, unless the request is cancelled before. `number` is the
  /// caller's own, for `cancel`. Any thread.
  func perform(_ call: Call, number: Int, reply: @escaping Reply) {
    loop.post { [self] in
      let now = MonotonicClock.now
      advance(to: now)
      let result = result(of: call, number, at: now, reply)
      tellWatches(at: now)
      if let result { reply(result.map(complete)) }
      setTimer()
    }
  }

  /// The client of a waiting request is gone. Any thread.
  func cancel(_ number: Int) {
    loop.post { [self] in
      guard let watch = watches.removeValue(forKey: number) else { return }
      stopped(watch, at: MonotonicClock.now)
      setTimer()
    }
  }

  /// Forgets everything and answers whoever waits. Loop only.
  func close() {
    timer?.cancel()
    timer = nil
    for watch in watches.values { watch.reply(.failure(.noSeat)) }
    watches = [:]
    state = MailboxState(limits: state.limits)
  }

  // MARK: On the loop

  /// The result, nil when the request waits.
  private func result(
    of call: Call, _ number: Int, at now: Instant, _ reply: @escaping Reply
  ) -> Result<MailboxView, MailboxState.Refusal>? {
    let (room, identity, session) = (call.room, call.identity, call.session)
    do throws(MailboxState.Refusal) {
      switch call.action {
      case .takeSeat(let request):
        return .success(try state.takeSeat(in: room, identity: identity, request, at: now))
      case .leave: return .success(try state.leave(room, identity: identity, session: session, at: now))
      case .put(let description):
        return .success(try state.put(room, identity: identity, session: session, description, at: now))
      case .add(let candidates):
        return .success(try state.add(room, identity: identity, session: session, candidates, at: now))
      case .clear: return .success(try state.clear(room, identity: identity, session: session, at: now))
      case .watch(let revision):
        let view = try state.look(room, identity: identity, session: session, at: now)
        if view.revision != revision { return .success(view) }
        // A client waits once: what it asked before is answered now.
        for (other, watch) in watches where watch.call.identity == identity && watch.call.session == session {
          guard watch.call.room == room else { continue }
          watches[other] = nil
          stopped(watch, at: now)
          watch.reply(.success(complete(view)))
        }
        state.watching(true, room, identity: identity, session: session, at: now)
        watches[number] = Watch(call: call, after: revision, until: now + Self.patience, reply: reply)
        return nil
      }
    } catch {
      return .failure(error)
    }
  }

  /// Answers those who wait and for whom something has changed, or whose time is over.
  private func tellWatches(at now: Instant) {
    for (number, watch) in watches.sorted(by: { $0.key < $1.key }) {
      let call = watch.call
      let result: Result<MailboxView, MailboxState.Refusal>
      do throws(MailboxState.Refusal) {
        let view = try state.look(call.room, identity: call.identity, session: call.session, at: now)
        if view.revision == watch.after, watch.until > now { continue }
        result = .success(complete(view))
      } catch {
        result = .failure(error)
      }
      watches[number] = nil
      stopped(watch, at: now)
      watch.reply(result)
    }
  }

  private func stopped(_ watch: Watch, at now: Instant) {
    let call = watch.call
    state.watching(false, call.room, identity: call.identity, session: call.session, at: now)
  }

  private func advance(to now: Instant) { _ = state.advance(to: now) }

  private func complete(_ view: MailboxView) -> MailboxView {
    guard !iceServers.isEmpty else { return view }
    var view = view
    view.iceServers = iceServers
    return view
  }

  /// Once a second while there are rooms.
  private func setTimer() {
    guard state.count > 0 || !watches.isEmpty else {
      timer?.cancel()
      timer = nil
      return
    }
    guard timer == nil else { return }
    timer = loop.timer(after: .seconds(1), repeats: true) { [weak self] in
      guard let self else { return }
      let now = MonotonicClock.now
      advance(to: now)
      tellWatches(at: now)
      setTimer()
    }
  }
}
