import MediaCore
import RTP
import SDP
import Transport

// Sendable by confinement: every method is called on `loop`, which runs one thread.
/// One WebRTC connection (RFC 8829, unified plan, always bundled and with rtcp-mux). Confined to its loop: every
/// method is called, and every delegate method is called, on `loop`.
public final class PeerConnection: @unchecked Sendable {
  /// The loop.
  public let loop: MediaLoop
  /// Hears what happens.
  public weak var delegate: (any PeerConnectionDelegate)?
  /// State of ICE and DTLS together.
  public internal(set) var state: TransportState = .new
  /// Receivers in the order of their sections, also those that carry nothing now.
  public internal(set) var receivers: [RTPReceiver] = []
  /// Senders in the order of their making.
  public internal(set) var senders: [RTPSender] = []
  /// The last remote description that was applied, as it came.
  public private(set) var remoteDescription: String?
  /// Counters of packets that could not be used.
  public internal(set) var counters = PeerConnectionCounters()
  /// When the last RTP packet came, ns of the monotonic clock; nil before the first.
  public internal(set) var lastPacketAt: Int64?

  let configuration: Configuration
  var negotiation: Negotiation
  var random: SeededRandom
  var transport: MediaTransport?
  private var adapter: TransportAdapter?
  private var certificate: DTLSCertificate?
  private var localDescriptionValue: SessionDescription?
  private var wantsICERestart = false
  private var hasGathered = false
  private var hasStartedDTLS = false
  private var hasStartedSCTP = false
  private var isRelayOnly: Bool
  private var isCut = false
  /// Candidates of the peer that came before its description.
  private var waitingCandidates: [String] = []
  private var localCandidates: [ICECandidate] = []
  private var hasAllCandidates = false
  /// Candidates that the delegate has not heard of, because the description that they belong to is in the making.
  private var heldCandidates: [String] = []
  private var holdsCandidates = false
  private var holdsEndOfCandidates = false

  // Receiving and sending; see the extensions.
  var routing = Routing()
  var receiverByMID: [MID: RTPReceiver] = [:]
  var sources: [SSRC: Source] = [:]
  var lastSource: (ssrc: SSRC, source: Source)?
  var unwrapPool = MediaBufferPool(capacity: 1600, limit: 256)
  let emptyPayload = MediaBuffer(capacity: 1)
  let reportSSRC: SSRC
  var recorder: TransportFeedbackRecorder
  var estimator: BandwidthEstimator
  var estimatedLosses = 0
  /// Bytes of RTP that came, and how many of them the last sample told.
  var receivedBytes: Int64 = 0
  var sampledBytes: Int64 = 0
  var writer = RTCPWriter()
  var transportSequence: UInt16
  var tickTimer: LoopTimer?
  var nextReport: Int64 = 0
  var usesTransportFeedback = false
  var usesMaximumBitrate = false
  var data = DataChannels()

  /// Makes a connection; nothing is sent before the first description. Fails when no certificate can be made.
  public init(loop: MediaLoop, configuration: Configuration) throws(PeerConnectionError) {
    self.loop = loop
    self.configuration = configuration
    isRelayOnly = configuration.transportPolicy == .relay
    var system = SystemRandomNumberGenerator()
    var random = SeededRandom(seed: system.next())
    negotiation = Negotiation(
      policy: NegotiationPolicy(configuration), seed: system.next(), cname: configuration.cname)
    reportSSRC = SSRC(UInt32(truncatingIfNeeded: random.next()))
    recorder = TransportFeedbackRecorder(sender: reportSSRC)
    recorder.interval = 60_000_000
    let most = max(100_000, configuration.maximumReceiveBitrate)
    estimator = BandwidthEstimator(limits: 100_000...most)
    transportSequence = UInt16(truncatingIfNeeded: random.next())
    self.random = random
    do {
      certificate = try DTLSCertificate()
    } catch {
      throw .transport(error.description)
    }
  }

  /// State of the offer/answer exchange.
  public var signalingState: SignalingState { negotiation.state }

  /// The current local description with all candidates gathered so far; nil before the first one.
  public var localDescription: String? { localDescription(without: 0) }

  private func localDescription(without last: Int) -> String? {
    guard var description = localDescriptionValue else { return nil }
    let index = negotiation.tagIndex
    if description.media.indices.contains(index) {
      description.media[index].candidates = Array(localCandidates.dropLast(last))
      description.media[index].hasEndOfCandidates = hasAllCandidates && last == 0
    }
    return description.serialized()
  }

  /// True when the peer has closed DTLS, or it has failed: no ICE restart brings the connection back.
  public var isBeyondRestart: Bool { transport?.isBeyondRestart ?? false }

  /// What the transport counted; nil before the first description.
  public var transportCounters: TransportCounters? { transport?.counters }
  /// The way that media take; nil before there is one.
  public var path: NetworkPath? { transport?.path }

  // MARK: Descriptions

  /// Takes a remote offer; `createAnswer` must follow. The delegate hears of new, changed and removed receivers
  /// before this returns. A new ICE user name fragment and password restart ICE.
  public func setRemoteOffer(_ sdp: String) throws(PeerConnectionError) {
    let offer = try Self.parse(sdp)
    let restarts = try negotiation.setRemoteOffer(offer)
    // With a peer that only answers checks, we control (RFC 8445 section 6.1.1).
    let transport = try makeTransport(isControlling: offer.isLite)
    remoteDescription = sdp
    if restarts { forgetLocalCandidates() }
    holdsCandidates = true
    giveRemote(to: transport, candidatesOf: offer)
    applyReceivers()
  }

  /// Makes the answer and applies it locally; gathering begins.
  public func createAnswer() throws(PeerConnectionError) -> String {
    guard let transport else { throw .wrongState(operation: "Making an answer", state: signalingState) }
    let answer = try negotiation.createAnswer(localTransport(transport))
    localDescriptionValue = answer
    startTransport(transport)
    applySenders()
    applyReceivers()
    return describe(answer, transport, keepsOneBack: true)
  }

  /// Makes an offer of all senders, receivers and data channels that are wanted, and applies it locally; gathering
  /// begins. With `iceRestart`, or after `restartICE`, it carries new ICE credentials.
  public func createOffer(iceRestart: Bool = false) throws(PeerConnectionError) -> String {
    guard signalingState == .stable else {
      throw .wrongState(operation: "Making an offer", state: signalingState)
    }
    guard negotiation.hasSomethingToOffer else {
      throw .unusableDescription("there is neither a track nor a data channel to offer")
    }
    let isFirst = transport == nil
    let transport = try makeTransport(isControlling: true)
    holdsCandidates = true
    if (iceRestart || wantsICERestart) && !isFirst {
      forgetLocalCandidates()
      transport.restartICE()
    }
    wantsICERestart = false
    let offer = try negotiation.createOffer(localTransport(transport))
    localDescriptionValue = offer
    return describe(offer, transport)
  }

  /// Takes the answer to the last offer. The delegate hears of new, changed and removed receivers before this
  /// returns.
  public func setRemoteAnswer(_ sdp: String) throws(PeerConnectionError) {
    let answer = try Self.parse(sdp)
    try negotiation.setRemoteAnswer(answer)
    guard let transport else { return }
    remoteDescription = sdp
    giveRemote(to: transport, candidatesOf: answer)
    startTransport(transport)
    applySenders()
    applyReceivers()
  }

  /// Gives up a local offer that will not be answered, so that another exchange can begin.
  public func withdrawOffer() { negotiation.withdrawOffer() }

  /// A trickled candidate, `candidate:…`; kept until there is a remote description. Bad ones are ignored.
  public func addRemoteCandidate(_ candidate: String) {
    guard signalingState != .closed, let read = ICECandidate(candidate) else { return }
    guard let transport, negotiation.transport != nil else {
      // A peer cannot make this grow without end.
      if waitingCandidates.count < 256 { waitingCandidates.append(read.description) }
      return
    }
    transport.addRemoteCandidate(read.description)
  }

  /// The next offer restarts ICE.
  public func restartICE() { wantsICERestart = true }

  /// Switches to relayed candidates only and back; counts from the next gathering, that is, from the next ICE
  /// restart when the connection has begun.
  public func setRelayOnly(_ on: Bool) {
    isRelayOnly = on
    transport?.setRelayOnly(on)
  }

  /// Asks the peer whether it is there, by a STUN request over the pair that carries media; see `heardAt`.
  public func probe() { transport?.probe() }

  /// When the last datagram of any kind came, at `now` (ns of the monotonic clock); nil when that cannot be known.
  public func heardAt(now: Int64) -> Int64? { transport?.heardAt(now: now) }

  /// Changes the STUN and TURN servers (their credentials are short-lived); counts from the next ICE restart when the
  /// connection has begun.
  public func setICEServers(_ servers: [ICEServer]) { transport?.setICEServers(servers) }

  // MARK: Tracks

  /// Adds an outgoing track. It flows after the next exchange in which the peer accepts it: in an offer of ours, or
  /// in the answer to an offer that has a place for it. With `layers`, one simulcast stream per rid. With
  /// `alsoReceives`, an offered section also receives. The kind is the codec's.
  public func addSender(
    kind: MediaKind, codec: Codec, streamID: String, trackID: String, layers: [RID] = [], alsoReceives: Bool = false
  ) -> RTPSender {
    let track = negotiation.addTrack(
      codec: codec, stream: .init(stream: streamID, track: trackID), layers: layers, alsoReceives: alsoReceives)
    let sender = RTPSender(track, connection: self, random: &random)
    senders.append(sender)
    return sender
  }

  /// Adds a section that only receives, to the next offer.
  public func addReceiver(kind: MediaKind) { negotiation.wantedReceivers.append(kind) }

  /// Removes a sender: nothing is sent from now on, its section becomes inactive with the next offer and may be
  /// re-used.
  public func removeSender(_ sender: RTPSender) {
    guard let index = senders.firstIndex(where: { $0 === sender }) else { return }
    senders.remove(at: index)
    negotiation.removeTrack(sender.id)
    sender.context = nil
    sender.connection = nil
    for stream in sender.streams {
      transport?.removeStream(ssrc: stream.ssrc)
      transport?.removeStream(ssrc: stream.retransmissionSSRC)
    }
  }

  /// While true, no datagram goes out or comes in, as if the network were gone; for tests.
  package func setCut(_ isCut: Bool) {
    self.isCut = isCut
    transport?.setCut(isCut)
  }

  /// Hands out the frames that wait for missing packets, which will not come any more: right before `close`.
  public func releaseFrames() {
    let now = MediaLoop.now()
    for receiver in receivers {
      for stream in receiver.streams { stream.flush(into: self, at: now) }
    }
  }

  /// Closes everything; nothing is told to the delegate afterwards. Harmless when called again.
  public func close() {
    guard signalingState != .closed else { return }
    negotiation.close()
    delegate = nil
    state = .closed
    tickTimer?.cancel()
    tickTimer = nil
    adapter?.connection = nil
    transport?.close()
    transport = nil
    for sender in senders { sender.context = nil }
    for receiver in receivers {
      receiver.isActive = false
      receiver.streams = []
    }
    sources = [:]
    lastSource = nil
  }

  deinit { tickTimer?.cancel() }

  // MARK: Transport

  private static func parse(_ sdp: String) throws(PeerConnectionError) -> SessionDescription {
    do {
      return try SessionDescription(parsing: sdp)
    } catch {
      throw .malformedDescription(error)
    }
  }

  private func makeTransport(isControlling: Bool) throws(PeerConnectionError) -> MediaTransport {
    if let transport { return transport }
    guard signalingState != .closed, let certificate else {
      throw .wrongState(operation: "Connecting", state: signalingState)
    }
    let made: MediaTransport
    do {
      made = try MediaTransport(
        loop: loop, certificate: certificate,
        configuration: .init(
          iceServers: configuration.iceServers, policy: isRelayOnly ? .relay : .all, isControlling: isControlling,
          localAddresses: configuration.localAddresses, portRange: configuration.portRange,
          tlsAuthorities: configuration.tlsAuthorities, listener: configuration.listener))
    } catch {
      throw .transport(error.description)
    }
    let adapter = TransportAdapter(self)
    made.delegate = adapter
    self.adapter = adapter
    made.setCut(isCut)
    transport = made
    return made
  }

  private func localTransport(_ transport: MediaTransport) -> Negotiation.LocalTransport {
    let print = certificate?.fingerprint
    return .init(
      ufrag: transport.localUfrag, password: transport.localPassword,
      fingerprint: .init(algorithm: print?.algorithm ?? "", value: print?.value ?? ""))
  }

  private func giveRemote(to transport: MediaTransport, candidatesOf description: SessionDescription) {
    guard let remote = negotiation.transport else { return }
    transport.setRemote(ufrag: remote.ufrag, password: remote.password, isLite: remote.isLite)
    // Sections outside of the bundle's transport have candidates of ports that nobody will use.
    for section in description.media where description.transport(of: section).iceUfrag == remote.ufrag {
      for candidate in section.candidates where candidate.component == 1 {
        transport.addRemoteCandidate(candidate.description)
      }
    }
    for candidate in waitingCandidates { transport.addRemoteCandidate(candidate) }
    waitingCandidates = []
  }

  private func startTransport(_ transport: MediaTransport) {
    guard let remote = negotiation.transport else { return }
    if !hasStartedDTLS {
      hasStartedDTLS = true
      let print = Fingerprint(algorithm: remote.fingerprint.algorithm, value: remote.fingerprint.value)
      transport.startDTLS(role: remote.isDTLSClient ? .client : .server, fingerprint: print)
    }
    if negotiation.hasData, !hasStartedSCTP {
      hasStartedSCTP = true
      let section = negotiation.remote?.media.first { $0.kind == .application && !$0.isRejected }
      transport.startSCTP(remotePort: section?.sctpPort ?? NegotiationPolicy.sctpPort)
      data.openWaiting(on: transport)
    }
  }

  /// Begins gathering when this is the first description, and gives its text, with what was gathered so far (RFC 8829
  /// section 5.2.2): a peer that meets our checks before our candidates takes them for those of somebody reflected, and
  /// some wait a second before they settle for such a pair.
  private func describe(
    _ description: SessionDescription, _ transport: MediaTransport, keepsOneBack: Bool = false
  ) -> String {
    if !hasGathered {
      hasGathered = true
      transport.gather()
    }
    // Pion, which LiveKit is made with, chooses a pair each 200 ms, and at once when a candidate comes: one of several
    // follows as soon as the checks between the others have been answered.
    let kept = keepsOneBack && heldCandidates.count > 1 ? 1 : 0
    heldCandidates = Array(heldCandidates.suffix(kept))
    // The text must reach the peer before further candidates, so they wait until the caller has it.
    loop.timer(after: Int64(kept) * Self.lastCandidateDelay) { [weak self] in self?.releaseCandidates() }
    return localDescription(without: kept) ?? description.serialized()
  }

  /// How long the last host candidate follows the answer, ns: more than the peer needs to read it and to ask once.
  private static let lastCandidateDelay: Int64 = 30_000_000

  private func forgetLocalCandidates() {
    localCandidates = []
    hasAllCandidates = false
    heldCandidates = []
    holdsEndOfCandidates = false
  }

  private func releaseCandidates() {
    guard negotiation.state != .haveRemoteOffer else { return }
    holdsCandidates = false
    let held = heldCandidates
    heldCandidates = []
    for candidate in held { tell(candidate) }
    if holdsEndOfCandidates {
      holdsEndOfCandidates = false
      delegate?.peerConnectionDidFinishGathering(self)
    }
  }

  func gathered(_ line: String) {
    guard let candidate = ICECandidate(line) else { return }
    localCandidates.append(candidate)
    if holdsCandidates {
      heldCandidates.append(candidate.description)
    } else {
      tell(candidate.description)
    }
  }

  private func tell(_ candidate: String) {
    let index = negotiation.tagIndex
    guard negotiation.sections.indices.contains(index) else { return }
    delegate?.peerConnection(self, didGather: candidate, mid: negotiation.sections[index].mid, mLineIndex: index)
  }

  func pathFailed(_ reason: String) { delegate?.peerConnection(self, pathFailed: reason) }

  func finishedGathering() {
    hasAllCandidates = true
    if holdsCandidates {
      holdsEndOfCandidates = true
    } else {
      delegate?.peerConnectionDidFinishGathering(self)
    }
  }

  func changed(to state: TransportState) {
    guard self.state != state else { return }
    self.state = state
    if state == .connected {
      startTicking()
      requestFirstKeyframes()
    }
    delegate?.peerConnection(self, stateChanged: state)
  }
}
