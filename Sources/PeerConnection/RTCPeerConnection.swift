import MediaCore
import Platform
import RTP
import SDP
import Transport

// Sendable by confinement: every method is called on `loop`, which runs one thread.
/// One WebRTC connection (RFC 8829, unified plan, always bundled and with rtcp-mux). Confined to its loop: every
/// method is called, and every delegate method is called, on `loop`.
///
/// A shell: `Negotiation` decides what descriptions say, `MediaEngine` what becomes of packets, `LocalCandidates` which
/// candidates are told when; here they meet the transport, the clock and the delegate.
///
/// Large: it is the face of three parts, of whose state it has none.
public final class RTCPeerConnection: @unchecked Sendable {
  /// The thread that the connection is confined to.
  public let loop: MediaLoop
  /// Hears what happens.
  public weak var delegate: (any PeerConnectionDelegate)?
  /// State of ICE and DTLS together.
  public private(set) var state: TransportState = .new
  /// The last remote description that was applied, as it came.
  public private(set) var remoteDescription: String?

  let engine: MediaEngine
  private let configuration: Configuration
  private let certificate: DTLSCertificate
  private var negotiation: Negotiation
  private var candidates = LocalCandidates()
  private var data = DataChannels()
  private var transport: MediaTransport?
  private var adapter: TransportAdapter?
  private var localDescriptionValue: SessionDescription?
  private var wantsICERestart = false
  private var begun: Begun = []
  private var isRelayOnly: Bool
  private var isCut = false
  /// Candidates of the peer that came before its description.
  private var waitingCandidates: [String] = []
  private var tickTimer: LoopTimer?
  /// How often `tickTimer` fires.
  private var armedInterval = RTCPeerConnection.tickInterval

  /// What a transport begins once.
  private struct Begun: OptionSet {
    let rawValue: UInt8
    static let gathering = Begun(rawValue: 1)
    static let dtls = Begun(rawValue: 2)
    static let sctp = Begun(rawValue: 4)
  }

  /// Time between two looks at what is due; while something is sent and nothing received, when reports are due at most; and while
  /// neither is.
  private static let tickInterval = Duration.milliseconds(20)
  private static let sendingTickInterval = Duration.milliseconds(200)
  private static let idleTickInterval = Duration.seconds(1)
  /// How long the last host candidate follows the answer: more than the peer needs to read it and to ask once.
  private static let lastCandidateDelay = Duration.milliseconds(30)

  /// Makes a connection; nothing is sent before the first description. Fails when no certificate can be made.
  public init(loop: MediaLoop, configuration: Configuration) throws(PeerConnectionError) {
    self.loop = loop
    self.configuration = configuration
    isRelayOnly = configuration.transportPolicy == .relay
    var system = SystemRandomNumberGenerator()
    negotiation = Negotiation(
      policy: NegotiationPolicy(configuration), seed: system.next(), cname: configuration.cname)
    engine = MediaEngine(configuration, cname: negotiation.cname, seed: system.next())
    do {
      certificate = try DTLSCertificate()
    } catch {
      throw .transport(error.description)
    }
    engine.host = self
  }

  /// Receivers in the order of their sections, also those that carry nothing now.
  public var receivers: [RTPReceiver] { engine.receivers }
  /// Senders in the order of their making.
  public var senders: [RTPSender] { engine.senders }
  /// Counters of packets that could not be used.
  public var counters: PeerConnectionCounters { engine.counters }
  /// When the last RTP packet came; nil before the first.
  public var lastPacketAt: Instant? { engine.lastPacketAt }
  /// What came in since the last call. To be called about each second, on the loop.
  public func sampleReception() -> ReceptionSample { engine.sampleReception() }

  /// State of the offer/answer exchange.
  public var signalingState: SignalingState { negotiation.state }

  /// The current local description with all candidates gathered so far; nil before the first one.
  public var localDescription: String? { localDescription(without: 0) }

  private func localDescription(without last: Int) -> String? {
    guard var description = localDescriptionValue else { return nil }
    let index = negotiation.tagIndex
    if description.media.indices.contains(index) {
      description.media[index].candidates = Array(candidates.all.dropLast(last))
      description.media[index].hasEndOfCandidates = candidates.isComplete && last == 0
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
    loop.assertIsCurrent()
    let offer = try Self.parse(sdp)
    let restarts = try negotiation.setRemoteOffer(offer)
    // With a peer that only answers checks, we control (RFC 8445 section 6.1.1).
    let transport = try makeTransport(isControlling: offer.isLite)
    remoteDescription = sdp
    if restarts { candidates.restart() }
    candidates.hold()
    giveRemote(to: transport, candidatesOf: offer)
    applyReceivers()
  }

  /// Makes the answer and applies it locally; gathering begins.
  public func createAnswer() throws(PeerConnectionError) -> String {
    loop.assertIsCurrent()
    guard let transport else { throw .wrongState(operation: "Making an answer", state: signalingState) }
    let answer = try negotiation.createAnswer(localTransport(transport))
    localDescriptionValue = answer
    startTransport(transport)
    engine.applySenders(negotiation.media)
    applyReceivers()
    return describe(answer, transport, keepsOneBack: true)
  }

  /// Makes an offer of all senders, receivers and data channels that are wanted, and applies it locally; gathering
  /// begins. With `iceRestart`, or after `restartICE`, it carries new ICE credentials.
  public func createOffer(iceRestart: Bool = false) throws(PeerConnectionError) -> String {
    loop.assertIsCurrent()
    guard signalingState == .stable else {
      throw .wrongState(operation: "Making an offer", state: signalingState)
    }
    guard negotiation.hasSomethingToOffer else {
      throw .unusableDescription("there is neither a track nor a data channel to offer")
    }
    let isFirst = transport == nil
    let transport = try makeTransport(isControlling: true)
    candidates.hold()
    if (iceRestart || wantsICERestart) && !isFirst {
      candidates.restart()
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
    loop.assertIsCurrent()
    let answer = try Self.parse(sdp)
    try negotiation.setRemoteAnswer(answer)
    guard let transport else { return }
    remoteDescription = sdp
    giveRemote(to: transport, candidatesOf: answer)
    startTransport(transport)
    engine.applySenders(negotiation.media)
    applyReceivers()
  }

  /// Gives up a local offer that will not be answered, so that another exchange can begin.
  public func withdrawOffer() { negotiation.withdrawOffer() }

  /// A trickled candidate, `candidate:…`; kept until there is a remote description. Bad ones are ignored.
  public func addRemoteCandidate(_ candidate: String) {
    loop.assertIsCurrent()
    guard signalingState != .closed, let read = CandidateAttribute(candidate) else { return }
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

  /// When the last datagram of any kind came, at `now`; nil when that cannot be known.
  public func heardAt(now: Instant) -> Instant? { transport?.heardAt(now: now) }

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
    loop.assertIsCurrent()
    let track = negotiation.addTrack(
      codec: codec, stream: .init(stream: streamID, track: trackID), layers: layers, alsoReceives: alsoReceives)
    return engine.addSender(track)
  }

  /// Adds a section that only receives, to the next offer.
  public func addReceiver(kind: MediaKind) { negotiation.wantedReceivers.append(kind) }

  /// Removes a sender: nothing is sent from now on, its section becomes inactive with the next offer and may be
  /// re-used.
  public func removeSender(_ sender: RTPSender) {
    loop.assertIsCurrent()
    if engine.removeSender(sender) { negotiation.removeTrack(sender.id) }
  }

  /// While true, no datagram goes out or comes in, as if the network were gone; for tests.
  package func setCut(_ isCut: Bool) {
    self.isCut = isCut
    transport?.setCut(isCut)
  }

  /// Hands out the frames that wait for missing packets, which will not come any more: right before `close`.
  public func releaseFrames() { engine.releaseFrames(at: now) }

  /// Closes everything; nothing is told to the delegate afterwards. Harmless when called again.
  public func close() {
    guard signalingState != .closed else { return }
    loop.assertIsCurrent()
    negotiation.close()
    delegate = nil
    state = .closed
    tickTimer?.cancel()
    tickTimer = nil
    adapter?.connection = nil
    transport?.close()
    transport = nil
    engine.close()
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
    guard signalingState != .closed else { throw .wrongState(operation: "Connecting", state: signalingState) }
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
    let print = certificate.fingerprint
    return .init(
      ufrag: transport.localUfrag, password: transport.localPassword,
      fingerprint: .init(algorithm: print.algorithm, value: print.value))
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
    if begun.insert(.dtls).inserted {
      let print = Fingerprint(algorithm: remote.fingerprint.algorithm, value: remote.fingerprint.value)
      transport.startDTLS(role: remote.isDTLSClient ? .client : .server, fingerprint: print)
    }
    if negotiation.hasData, begun.insert(.sctp).inserted {
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
    if begun.insert(.gathering).inserted { transport.gather() }
    // Pion, which LiveKit is made with, chooses a pair each 200 ms, and at once when a candidate comes: one of several
    // follows as soon as the checks between the others have been answered.
    let kept = candidates.describe(keepsOneBack: keepsOneBack)
    // The text must reach the peer before further candidates, so they wait until the caller has it.
    loop.timer(after: Self.lastCandidateDelay * kept) { [weak self] in self?.releaseCandidates() }
    return localDescription(without: kept) ?? description.serialized()
  }

  private func releaseCandidates() {
    guard negotiation.state != .haveRemoteOffer else { return }
    let released = candidates.release()
    for candidate in released.candidates { tell(candidate) }
    if released.isEnd { delegate?.peerConnectionDidFinishGathering(self) }
  }

  private func tell(_ candidate: String) {
    let index = negotiation.tagIndex
    guard negotiation.sections.indices.contains(index) else { return }
    delegate?.peerConnection(self, didGather: candidate, mid: negotiation.sections[index].mid, mLineIndex: index)
  }

  private func applyReceivers() {
    engine.applyReceivers(negotiation.media, sections: Set(negotiation.sections.map(\.mid)))
    // Who negotiates all the time must not put off what is due.
    if tickTimer != nil, armedInterval != dueInterval { armTick() }
  }

  private var dueInterval: Duration {
    engine.isReceiving ? Self.tickInterval : engine.isSending ? Self.sendingTickInterval : Self.idleTickInterval
  }

  private func armTick() {
    tickTimer?.cancel()
    armedInterval = dueInterval
    tickTimer = loop.timer(after: armedInterval, repeats: true) { [weak self] in
      self?.engine.tick(at: MonotonicClock.now)
    }
  }

  // MARK: What the transport tells

  func gathered(_ line: String) {
    guard let candidate = CandidateAttribute(line) else { return }
    if candidates.gathered(candidate) { tell(candidate.description) }
  }

  func finishedGathering() {
    if candidates.finished() { delegate?.peerConnectionDidFinishGathering(self) }
  }

  func pathFailed(_ reason: String) { delegate?.peerConnection(self, pathFailed: reason) }

  func changed(to state: TransportState) {
    guard self.state != state else { return }
    self.state = state
    let isConnected = state == .connected
    if isConnected, tickTimer == nil { armTick() }
    engine.setCanSend(isConnected || state == .disconnected, isConnected: isConnected, at: now)
    delegate?.peerConnection(self, stateChanged: state)
  }

  // MARK: Data channels

  /// Opens a data channel (RFC 8832), at once or when the transport is there. When no section for data was
  /// negotiated, the next offer has one. `maxRetransmits` makes it unreliable.
  public func openDataChannel(label: String, ordered: Bool = true, maxRetransmits: UInt16? = nil) {
    loop.assertIsCurrent()
    negotiation.wantsData = true
    data.open(label, ordered, maxRetransmits, on: transport)
  }

  /// Sends a message on the open channel of a label; false when there is none, when the message is too large, or
  /// when too much waits to be sent.
  @discardableResult
  public func sendData(label: String, _ bytes: UnsafeRawBufferPointer, isText: Bool = false) -> Bool {
    loop.assertIsCurrent()
    guard let id = data.id(of: label), let transport,
      UInt64(bytes.count) <= negotiation.remoteMaximumMessageSize
    else { return false }
    return transport.sendData(channel: id, bytes: bytes, isText: isText)
  }

  /// Whether a channel of this label can be used now.
  public func isDataChannelOpen(label: String) -> Bool { data.id(of: label) != nil }

  func channelOpened(_ id: UInt16, label: String) {
    data.opened(id, label: label)
    delegate?.peerConnection(self, dataChannelOpened: label)
  }

  func channel(_ id: UInt16, received bytes: UnsafeRawBufferPointer, isText: Bool) {
    guard let label = data.label(of: id) else { return }
    delegate?.peerConnection(self, dataChannel: label, received: bytes, isText: isText)
  }

  func channelClosed(_ id: UInt16) {
    guard let label = data.closed(id) else { return }
    delegate?.peerConnection(self, dataChannelClosed: label)
  }
}

extension RTCPeerConnection: MediaEngineHost {
  var now: Instant { MonotonicClock.now }

  func wallClock(at now: Instant) -> NTPTime {
    if let wallClock = configuration.wallClock { return wallClock(now) }
    // From 1900 to 1970 (RFC 868).
    let epoch: Int64 = 2_208_988_800_000_000_000
    let elapsed = (self.now - now).nanoseconds
    return NTPTime(nanoseconds: epoch &+ WallClock.nanoseconds &- elapsed)
  }

  func send(rtp packet: MediaBuffer) -> Bool { transport?.sendRTP(packet) ?? false }

  func send(rtcp datagram: UnsafeRawBufferPointer) { _ = transport?.sendRTCP(datagram) }

  func forget(_ ssrc: SSRC) { transport?.removeStream(ssrc: ssrc) }

  func receive(_ packet: RTPPacket, of stream: ReceiveStream, at now: Instant) {
    delegate?.peerConnection(self, receiver: stream.receiver, received: packet, rid: stream.rid, at: now)
  }

  func receive(_ frame: EncodedFrame, of stream: ReceiveStream) {
    delegate?.peerConnection(self, receiver: stream.receiver, received: frame)
  }

  func hear(_ event: MediaEvent) {
    switch event {
    case .receiverAdded(let receiver): delegate?.peerConnection(self, receiverAdded: receiver)
    case .receiverChanged(let receiver): delegate?.peerConnection(self, receiverChanged: receiver)
    case .receiverRemoved(let receiver): delegate?.peerConnection(self, receiverRemoved: receiver)
    case .senderReport(let receiver, let rid, let ntp, let rtpTimestamp, let now):
      delegate?.peerConnection(
        self, receiver: receiver, rid: rid, senderReport: ntp, rtpTimestamp: rtpTimestamp, at: now)
    case .keyframeWanted(let sender, let rid): delegate?.peerConnection(self, senderWantsKeyframe: sender, rid: rid)
    case .bitrateEstimate(let bitrate): delegate?.peerConnection(self, receivedBitrateEstimate: bitrate)
    }
  }
}
