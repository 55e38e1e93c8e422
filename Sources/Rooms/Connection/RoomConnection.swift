import Logging
import MediaCore
import PeerConnection
import Platform
import Session
import Transport

// Sendable: the references that change hands are constants; everything mutable is touched on `loop` only.
/// The connection shell of every room protocol: it owns the queue of a machine's inputs, the timer of its deadline and the
/// peer connection, binds frames to tracks, and puts room events and frames into the recording's sink. The decisions are
/// the machine's; messages come and go over the protocol's own transport. Its `RoomClient` methods may be called on any
/// thread, all others on the loop.
final class RoomConnection<Link: RoomTransport>: RoomClient, @unchecked Sendable {
  let loop: MediaLoop
  let logger: Logger
  let sink: any SessionSink
  /// To which tracks the frames of m-lines belong.
  private(set) var routes: [MID: TrackID] = [:]
  /// What of them has been counted.
  private var counted: [MID: (track: TrackID, counts: ReceptionCounts)] = [:]
  private(set) var media: RTCPeerConnection?
  /// The number of the peer connection.
  private(set) var generation = 0
  private let options: RoomOptions
  private let onStatus: @Sendable (RoomStatus) -> Void
  private let onEnd: @Sendable (SessionEnd, RoomError?) -> Void
  private var isHandling = false
  private var waitingInputs: [Link.Machine.Input] = []
  private var timer: LoopTimer?
  private var timerAt: Instant?
  private var sampling: LoopTimer?
  private var network: NetworkWatcher?
  private var onJoin: (@Sendable (RoomError?) -> Void)?
  let transport: Link
  private(set) var machine: Link.Machine

  /// Makes a connection that does nothing yet. For the rest see `RoomOptions.makeClient`.
  init(
    machine: Link.Machine, transport: Link, options: RoomOptions, loop: MediaLoop, sink: any SessionSink,
    logger: Logger, onStatus: @escaping @Sendable (RoomStatus) -> Void,
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void
  ) {
    self.machine = machine
    self.transport = transport
    self.options = options
    self.loop = loop
    self.sink = sink
    self.logger = logger
    self.onStatus = onStatus
    self.onEnd = onEnd
  }

  /// Who lets it go without leaving may be on any thread; media end on the loop's.
  deinit {
    if let media { loop.sync { media.close() } }
  }

  // MARK: On any thread

  /// Joins; returns when the bot is in the room. Cancelling the task leaves the room. A second call, and one after
  /// `leave`, throws.
  func join() async throws(RoomError) {
    let error = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<RoomError?, Never>) in
        loop.post { [self] in
          guard onJoin == nil, machine.isIdle else {
            continuation.resume(returning: RoomError(.leftAlready, "or joins already"))
            return
          }
          onJoin = { continuation.resume(returning: $0) }
          network = NetworkWatcher(loop: loop) { [weak self] in self?.handle(.networkChanged) }
          handle(transport.start(self))
        }
      }
    } onCancel: {
      leave()
    }
    if let error { throw error }
  }

  /// Asks the publisher of a video track for a keyframe.
  func requestKeyframe(_ track: TrackID) {
    loop.post { [self] in
      for receiver in media?.receivers ?? [] where receiver.isActive && routes[receiver.mid] == track {
        receiver.requestKeyframe()
      }
    }
  }

  /// Asks again for a track that should have come.
  func subscribe(_ track: TrackID) { post(.wish(.subscribe(track))) }

  /// Says what is wanted of some video tracks; remembered across reconnects.
  func receive(_ wishes: [ReceptionWish]) { post(.wish(.receive(wishes))) }

  /// Says which video tracks are in view; remembered across reconnects.
  func view(_ tracks: Set<TrackID>) { post(.wish(.view(tracks))) }

  /// The room may have begun: when it is waited for, it is tried at once.
  func roomMayHaveBegun() { post(.wish(.roomBegan)) }

  /// Leaves the room and closes everything; `.ended(.stopped)` follows. Leaving twice is no fault.
  func leave() { post(.leave) }

  /// Gives an input to the machine, where its protocol has one for that.
  func post(_ input: Link.Machine.Input?) {
    if let input { loop.post { [self] in handle(input) } }
  }

  // MARK: The machine

  /// Gives an input to the machine and does what it says. Inputs that come up while doing so wait their turn.
  func handle(_ input: Link.Machine.Input) {
    waitingInputs.append(input)
    guard !isHandling else { return }
    isHandling = true
    while !waitingInputs.isEmpty {
      let next = waitingInputs.removeFirst()
      let now = MonotonicClock.now
      machine.observe(
        MediaTraffic(
          lastPacketAt: media?.lastPacketAt, heardAt: media?.heardAt(now: now),
          isBeyondRestart: media?.isBeyondRestart ?? false))
      for action in machine.handle(next, at: now) { perform(action) }
    }
    isHandling = false
    setTimer()
  }

  private func perform(_ action: RoomAction<Link.Machine.Request>) {
    switch action {
    case .perform(let request): transport.perform(request, for: self)
    case .openMedia(let number, let request): openMedia(number, request)
    case .updateMedia(let servers, let relayOnly):
      media?.setICEServers(servers)
      if relayOnly { media?.setRelayOnly(true) }
    case .addCandidate(let candidate): media?.addRemoteCandidate(candidate)
    case .closeMedia: closeMedia()
    case .probeMedia: media?.probe()
    case .requestKeyframes:
      for receiver in media?.receivers ?? [] where receiver.isActive && receiver.kind == .video {
        receiver.requestKeyframe()
      }
    case .bind(let tracks): bind(tracks)
    case .emit(let event): sink.put(.room(event))
    case .joined: complete(nil)
    case .status(let status): onStatus(status)
    case .finished(let end, let error):
      closeMedia()
      sink.put(.room(.ended(end)))
      network?.stop()
      network = nil
      complete(error ?? RoomError(.connectionLost, "stopped before the join was complete"))
      onEnd(end, error)
    case .log(let level, let text): logger.log(level: level, "\(text)")
    }
  }

  private func complete(_ error: RoomError?) {
    let completion = onJoin
    onJoin = nil
    completion?(error)
  }

  private func setTimer() {
    let wanted = machine.nextDeadline
    guard wanted != timerAt else { return }
    timer?.cancel()
    (timer, timerAt) = (nil, wanted)
    guard let wanted else { return }
    timer = loop.timer(after: max(.milliseconds(1), wanted - MonotonicClock.now)) { [weak self] in
      guard let self else { return }
      timerAt = nil
      handle(.timer)
    }
  }

  // MARK: The peer connection

  private func openMedia(_ number: Int, _ request: MediaRequest) {
    closeMedia()
    generation = number
    var configuration = options.configuration(request)
    transport.configure(&configuration)
    do throws(PeerConnectionError) {
      let connection = try RTCPeerConnection(loop: loop, configuration: configuration)
      connection.delegate = self
      media = connection
      transport.opened(connection, request)
    } catch {
      guard let input = Link.Machine.Input.noMedia(generation: number, error.description) else {
        return logger.error("no peer connection", metadata: ["reason": "\(error)"])
      }
      return handle(input)
    }
    sampling = loop.timer(after: Link.samplingInterval, repeats: true) { [weak self] in
      guard let self, let media else { return }
      count(media)
      transport.sample(media, for: self)
    }
  }

  /// Tells what of each track came since the last time.
  private func count(_ media: RTCPeerConnection) {
    for receiver in media.receivers where receiver.isActive {
      guard let track = routes[receiver.mid] else { continue }
      let statistics = receiver.statistics
      let new = ReceptionCounts(
        expected: statistics.packets &+ statistics.lost, lost: Int64(statistics.missed),
        repaired: Int64(statistics.recovered + statistics.copied),
        keyframeRequests: Int64(statistics.keyframeRequests))
      var old = counted[receiver.mid].flatMap { $0.track == track ? $0.counts : nil } ?? ReceptionCounts()
      let grown = old.advance(to: new)
      counted[receiver.mid] = (track, old)
      if !grown.isEmpty { sink.count(grown, of: track) }
    }
  }

  /// Closes the peer connection. We may be in one of its own calls to us: it is let go only after that.
  private func closeMedia() {
    guard let closing = media else { return }
    // What came belongs to the recording, also when it is the last that comes.
    closing.releaseFrames()
    count(closing)
    closing.delegate = nil
    closing.close()
    (media, routes, counted) = (nil, [:], [:])
    transport.bound([:])
    sampling?.cancel()
    sampling = nil
    loop.timer(after: .zero) { _ = closing }
  }

  /// What the m-lines carry, for the machine.
  func sections(of media: RTCPeerConnection) -> [MediaSection] {
    media.receivers.map {
      MediaSection(mid: $0.mid, kind: $0.kind, streamID: $0.streamID, trackID: $0.trackID, isActive: $0.isActive)
    }
  }

  /// From now on frames belong to these tracks. A picture that came before its track was known was not passed on: asks
  /// for a keyframe, so that the track doesn't begin in the middle.
  private func bind(_ tracks: [MID: TrackID]) {
    let old = routes
    routes = tracks
    transport.bound(tracks)
    for receiver in media?.receivers ?? [] where receiver.kind == .video && receiver.isActive {
      if let track = tracks[receiver.mid], track != old[receiver.mid] { receiver.requestKeyframe() }
    }
  }
}

extension RoomConnection: PeerConnectionDelegate {
  /// Gives a local candidate to the machine.
  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    guard pc === media else { return }
    handle(.candidate(generation: generation, candidate, mid: mid, index: mLineIndex))
  }

  /// Tells the machine how media stands.
  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    guard pc === media else { return }
    logger.debug("media transport", metadata: ["state": "\(state)"])
    handle(.transport(generation: generation, state))
  }

  /// Says that a way to the peer has failed.
  func peerConnection(_ pc: RTCPeerConnection, pathFailed reason: String) { transport.pathFailed(reason, for: self) }

  /// Wants complete frames of every receiver.
  func peerConnection(_ pc: RTCPeerConnection, receiverAdded receiver: RTPReceiver) { receiver.wantsFrames = true }

  /// Passes a frame on, if it belongs to a track of the recording.
  func peerConnection(_ pc: RTCPeerConnection, receiver: RTPReceiver, received frame: EncodedFrame) {
    let mid = receiver.mid
    guard let track = routes[mid], let frame = transport.passed(frame, of: track, in: mid, for: self) else { return }
    sink.put(.frame(frame, of: track))
  }

  /// The other side wants a keyframe of what the bot sends.
  func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {
    if pc === media { transport.wantsKeyframe(of: sender) }
  }

  /// Tells that a data channel can be used.
  func peerConnection(_ pc: RTCPeerConnection, dataChannelOpened label: String) {
    if pc === media { transport.opened(channel: label, for: self) }
  }

  /// Passes a message of a data channel on.
  func peerConnection(
    _ pc: RTCPeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    if pc === media { transport.received(bytes, on: label, for: self) }
  }
}
