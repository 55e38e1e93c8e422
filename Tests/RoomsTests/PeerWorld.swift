import MediaCore
import Session
import Signaling
import TestKit
import Transport

@testable import RoomServer
@testable import Rooms

/// Two peers, a mailbox and a network in virtual time: everything that happens follows from a seed.
final class PeerWorld {
  /// What can go wrong, until `calmAt`.
  struct Trouble {
    /// Of 100 requests to the mailbox, so many are lost, or their answers are.
    var lostRequests = 0
    /// Of 100 answers of the mailbox, so many come once more, some time later.
    var doubledAnswers = 0
    /// Of 100 connections, so many never come about.
    var deadConnections = 0
    /// Longest delay of a request or an answer, in whole milliseconds.
    var delay = Duration.milliseconds(150)
  }

  /// A peer connection: `id` changes with each, `ice` with each restart.
  struct Media {
    var id: Int
    var generation: Int
    var ice = 0
    /// The other side's connection, by the descriptions.
    var remote: String?
    var hasCandidates = false
    var state = TransportState.new
    var isDead = false
    /// Cut off under this name: only an ICE restart helps.
    var cutName: String?
    var name: String { "\(id).\(ice)" }
  }

  /// One peer.
  final class End {
    let identity: String
    var role: PeerRole?
    var flow: PeerFlow
    var media: Media?
    var queue: [PeerFlow.Input] = []
    var isHandling = false
    /// Nobody listens any more: the process is gone.
    var isGone = false
    var events: [RoomEvent] = []
    var finished: SessionEnd?
    var deadline: Instant?

    init(identity: String, role: PeerRole?, flow: PeerFlow) {
      self.identity = identity
      self.role = role
      self.flow = flow
    }
  }

  private struct Event {
    var at: Instant
    var order: Int
    var work: () -> Void
  }

  private struct Watch {
    var end: End
    var request: Int
    var session: String
    var after: UInt64
    var until: Instant
  }

  var now = Instant.seconds(1000)
  var trouble = Trouble()
  var calmAt = Instant.zero
  private(set) var random: SeededRandom
  private var events: [Event] = []
  private var order = 0
  private var mailbox = MailboxState()
  private var watches: [Watch] = []
  private var made = 0
  private var ends: [End] = []

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    beat()
  }

  /// Once a second the mailbox looks for who is silent.
  private func beat() {
    _ = mailbox.advance(to: now)
    tellWatches()
    after(.seconds(1)) { [self] in beat() }
  }

  // MARK: Time

  func after(_ delay: Duration, _ work: @escaping () -> Void) {
    order += 1
    let event = Event(at: now + delay, order: order, work: work)
    let index = events.firstIndex { ($0.at, $0.order) > (event.at, event.order) } ?? events.count
    events.insert(event, at: index)
  }

  /// Goes on until something is true; false when it isn't within so many seconds.
  @discardableResult
  func run(seconds: Double, until isDone: () -> Bool = { false }) -> Bool {
    let end = now + .nanoseconds(Int64(seconds * 1e9))
    while !isDone() {
      guard let next = events.first, next.at <= end else {
        now = end
        return isDone()
      }
      events.removeFirst()
      now = next.at
      next.work()
    }
    return true
  }

  func chance(_ percent: Int) -> Bool { now < calmAt && Int.random(in: 0..<100, using: &random) < percent }
  private func delay() -> Duration {
    .milliseconds(Int64.random(in: 1...max(1, trouble.delay.milliseconds), using: &random))
  }

  // MARK: Peers

  /// A peer that begins now. One of the same identity that began before is gone without a word.
  @discardableResult
  func begin(_ identity: String, as role: PeerRole?) -> End {
    made += 1
    var settings = PeerFlow.Settings(
      room: "booth", role: role, session: "\(identity)\(made)", seed: random.next())
    settings.profile.name = identity
    let end = End(identity: identity, role: role, flow: PeerFlow(settings: settings))
    if let before = ends.first(where: { $0.identity == identity && !$0.isGone }) { abort(before) }
    ends.append(end)
    handle(.join, end)
    return end
  }

  /// The process is killed: its requests and its connection are gone.
  func abort(_ end: End) {
    end.isGone = true
    closeMedia(of: end)
    for watch in watches where watch.end === end { stop(watch) }
    watches.removeAll { $0.end === end }
  }

  /// The mailbox forgets everything.
  func restartMailbox() {
    mailbox = MailboxState()
    for watch in watches { fail(watch.end, watch.request, .failed(RoomError(.refused))) }
    watches = []
  }

  /// All requests that wait are cut off.
  func cutWatches() {
    for watch in watches {
      stop(watch)
      fail(watch.end, watch.request, .failed(RoomError(.refused)))
    }
    watches = []
  }

  /// Both think that they are connected, and with each other.
  func areConnected(_ a: End, _ b: End) -> Bool {
    guard a.flow.media.isUp, b.flow.media.isUp, let mine = a.media, let other = b.media else { return false }
    return mine.state == .connected && other.state == .connected && mine.remote == other.name
      && other.remote == mine.name
  }

  func handle(_ input: PeerFlow.Input, _ end: End) {
    guard !end.isGone else { return }
    end.queue.append(input)
    guard !end.isHandling else { return }
    end.isHandling = true
    while !end.queue.isEmpty {
      for action in end.flow.handle(end.queue.removeFirst(), at: now) { perform(action, end) }
    }
    end.isHandling = false
    setTimer(end)
  }

  private func setTimer(_ end: End) {
    guard let wanted = end.flow.nextDeadline, wanted != end.deadline else { return }
    end.deadline = wanted
    after(max(.milliseconds(1), wanted - now)) { [self] in
      guard end.deadline == wanted else { return }
      end.deadline = nil
      handle(.timer, end)
    }
  }

  private func perform(_ action: PeerFlow.Action, _ end: End) {
    switch action {
    case .perform(.request(let number, let request)): send(request, number, end)
    case .openMedia(let generation, _):
      closeMedia(of: end)
      made += 1
      end.media = Media(id: made, generation: generation)
    case .perform(.offer(let exchange, let restarts)):
      if restarts { end.media?.ice += 1 }
      end.media?.hasCandidates = false
      describe(exchange, end)
    case .perform(.answer(let exchange, let sdp)):
      if end.media?.remote != nil {
        end.media?.ice += 1
        end.media?.hasCandidates = false
      }
      end.media?.remote = sdp
      describe(exchange, end)
      handle(.applied(exchange: exchange, []), end)
    case .perform(.accept(let exchange, let sdp)):
      end.media?.remote = sdp
      handle(.applied(exchange: exchange, []), end)
    case .addCandidate: end.media?.hasCandidates = true
    case .closeMedia: closeMedia(of: end)
    case .emit(let event): end.events.append(event)
    case .finished(let reason, _):
      closeMedia(of: end)
      end.finished = reason
    case .perform(.say), .perform(.tell), .bind, .status, .joined, .log, .updateMedia, .probeMedia, .requestKeyframes:
      break
    }
    connect()
  }

  private func describe(_ exchange: Int, _ end: End) {
    guard let media = end.media else { return }
    handle(.described(exchange: exchange, sdp: media.name), end)
    for number in 0..<Int.random(in: 1...3, using: &random) {
      after(delay()) { [self] in
        guard end.media?.name == media.name else { return }
        handle(.gathered(generation: media.generation, "candidate:\(number)"), end)
      }
    }
  }

  private func closeMedia(of end: End) {
    guard let media = end.media else { return }
    end.media = nil
    guard media.state == .connected else { return }
    // The other side hears of it, or notices some time later.
    let notices = chance(40) ? .seconds(10) : delay()
    for other in ends where other !== end && other.media?.remote == media.name {
      let name = other.media?.name
      after(notices) { [self] in
        guard other.media?.name == name, other.media?.state == .connected else { return }
        change(other, .failed)
      }
    }
  }

  /// Connects those whose descriptions and candidates fit.
  private func connect() {
    for a in ends {
      guard let mine = a.media, isReady(mine), mine.state != .connected else { continue }
      for b in ends where b !== a {
        guard let other = b.media, isReady(other), mine.remote == other.name, other.remote == mine.name else {
          continue
        }
        if mine.state == .new, other.state == .new, chance(trouble.deadConnections) {
          a.media?.isDead = true
          b.media?.isDead = true
          continue
        }
        for (end, media) in [(a, mine), (b, other)] where media.state != .connected {
          end.media?.state = .connecting
          end.media?.cutName = nil
          after(delay()) { [self] in
            guard end.media?.name == media.name, end.media?.state == .connecting else { return }
            change(end, .connected)
          }
        }
      }
    }
  }

  private func isReady(_ media: Media) -> Bool {
    guard media.hasCandidates, !media.isDead, media.cutName != media.name else { return false }
    return media.state == .new || media.state == .disconnected || media.state == .connected
  }

  /// The transport of a peer changes.
  func change(_ end: End, _ state: TransportState) {
    guard var media = end.media else { return }
    media.state = state
    if state == .disconnected || state == .failed { media.cutName = media.name }
    end.media = media
    handle(.transport(generation: media.generation, state), end)
  }

  // MARK: Mailbox

  private func send(_ request: MailboxRequest, _ number: Int, _ end: End) {
    let isLost = chance(trouble.lostRequests)
    // Lost on the way there, or on the way back.
    if isLost, Bool.random(using: &random) {
      return fail(end, number, .failed(RoomError(.timeout)), after: .seconds(2))
    }
    after(delay()) { [self] in
      guard !end.isGone else { return }
      let result = answer(request, number, end)
      tellWatches()
      guard let result else { return }
      if isLost { return fail(end, number, .failed(RoomError(.timeout)), after: .seconds(2)) }
      after(delay()) { [self] in handle(.answered(request: number, result), end) }
      if chance(trouble.doubledAnswers) {
        after(delay() * 10) { [self] in handle(.answered(request: number, result), end) }
      }
    }
  }

  private func fail(_ end: End, _ number: Int, _ fault: MailboxFault, after span: Duration = .milliseconds(1)) {
    after(span) { [self] in handle(.answered(request: number, .failure(fault)), end) }
  }

  private func answer(
    _ request: MailboxRequest, _ number: Int, _ end: End
  ) -> Result<MailboxView, MailboxFault>? {
    let (room, identity) = ("booth", end.identity)
    do throws(MailboxState.Refusal) {
      switch request {
      case .takeSeat(let seat): return .success(try mailbox.takeSeat(in: room, identity: identity, seat, at: now))
      case .put(let session, let description):
        return .success(try mailbox.put(room, identity: identity, session: session, description, at: now))
      case .add(let session, let more):
        return .success(try mailbox.add(room, identity: identity, session: session, more, at: now))
      case .clear(let session): return .success(try mailbox.clear(room, identity: identity, session: session, at: now))
      case .leave(let session): return .success(try mailbox.leave(room, identity: identity, session: session, at: now))
      case .watch(let session, let revision):
        let view = try mailbox.look(room, identity: identity, session: session, at: now)
        if view.revision != revision { return .success(view) }
        mailbox.watching(true, room, identity: identity, session: session, at: now)
        watches.append(
          Watch(end: end, request: number, session: session, after: revision, until: now + MailboxService.patience))
        return nil
      }
    } catch {
      return .failure(Self.fault(error))
    }
  }

  private static func fault(_ refusal: MailboxState.Refusal) -> MailboxFault {
    switch refusal {
    case .noSeat: .noSeat
    case .replaced: .replaced
    case .occupied(let by): .occupied(by)
    case .stale: .stale
    case .tooManyRooms, .invalid: .failed(RoomError(.rejected, "\(refusal)"))
    }
  }

  private func stop(_ watch: Watch) {
    mailbox.watching(false, "booth", identity: watch.end.identity, session: watch.session, at: now)
  }

  private func tellWatches() {
    for watch in watches {
      let result: Result<MailboxView, MailboxFault>
      do throws(MailboxState.Refusal) {
        let view = try mailbox.look("booth", identity: watch.end.identity, session: watch.session, at: now)
        if view.revision == watch.after, watch.until > now { continue }
        result = .success(view)
      } catch {
        result = .failure(Self.fault(error))
      }
      watches.removeAll { $0.request == watch.request && $0.end === watch.end }
      stop(watch)
      after(delay()) { [self] in handle(.answered(request: watch.request, result), watch.end) }
    }
  }
}
