import MediaCore
import Platform

/// One BUNDLE'd transport (RFC 9143): ICE component 1 with rtcp-mux, DTLS, SRTP and SCTP. Confined to its loop: made,
/// used and let go on the loop's thread only. Call `close()` before letting it go.
///
/// DTLS (`DTLSLink`), SCTP (`SCTPChannels`), which candidates are told (`LoopbackFilter`) and whether the peer lives
/// (`Liveness`) keep their own state.
///
/// Large: the generations of ICE, SRTP and the state as a whole still share what is left.
public final class MediaTransport {
  /// Hears of candidates, states, packets and messages.
  public weak var delegate: (any MediaTransportDelegate)?
  /// ICE and DTLS taken together.
  public internal(set) var state: TransportState = .new
  /// What has been counted so far.
  public internal(set) var counters = TransportCounters()
  /// Why the state is `.failed`, for a log.
  public internal(set) var failureReason: String?
  /// True when DTLS has failed or was closed by the peer: no ICE restart brings the transport back.
  public var isBeyondRestart: Bool { dtls.hasFailed || state == .closed }
  /// The SRTP profile that the handshake has chosen; nil before.
  public internal(set) var srtpProfile: SRTPProfile?

  let loop: MediaLoop
  var configuration: Configuration

  // ICE. `ice` is the newest generation; `carrier` is the one that packets leave by, an older one during a restart.
  var ice: ICEAgent
  var carrier: ICEAgent
  var retiring: [ICEAgent] = []
  var hasGathered = false
  var candidates = LoopbackFilter()
  var iceTimer: LoopTimer?
  var iceFailed = false
  /// Why ways over TCP or TLS have failed since the last time that there was a pair.
  var failedPaths: Set<String> = []
  var isControlling: Bool
  var isCut = false

  // What lives on ICE.
  let dtls: DTLSLink
  var srtp: SRTPSession?
  let channels: SCTPChannels

  var liveness = Liveness()
  var livenessTimer: LoopTimer?
  let probeTieBreaker = UInt64.random(in: .min ... .max)

  var pool = MediaBufferPool(capacity: 2048, limit: 4096)
  private let controlBuffer = MediaBuffer(capacity: 4096)

  /// Makes a transport with fresh ICE credentials; nothing is sent before `gather()`. Loop thread.
  public init(loop: MediaLoop, certificate: DTLSCertificate, configuration: Configuration) throws(TransportError) {
    self.loop = loop
    self.configuration = configuration
    isControlling = configuration.isControlling
    dtls = DTLSLink(loop: loop, certificate: certificate, configuration: configuration)
    channels = SCTPChannels(mtu: configuration.mtu)
    let events = ICEEvents()
    ice = try events.makeAgent(loop: loop, configuration: configuration, isControlling: isControlling)
    carrier = ice
    events.owner = self
    dtls.owner = self
    channels.owner = self
  }

  deinit { tearDown() }

  /// Ends everything; the delegate hears `.closed`, then nothing any more. Harmless when called again.
  public func close() {
    guard state != .closed else { return }
    tearDown()
    state = .closed
    delegate?.transport(self, stateChanged: .closed)
    delegate = nil
  }

  private func tearDown() {
    for timer in [iceTimer, livenessTimer] { timer?.cancel() }
    channels.close()
    dtls.close()
    srtp = nil
    for agent in [ice, carrier] + retiring { agent.close() }
    retiring = []
  }

  // MARK: - Sending

  /// Protects a plain RTP packet and sends it; the buffer is not changed. False when it did not leave (not connected,
  /// socket full, malformed). The same sequence number may be sent again only with the same bytes.
  @discardableResult
  public func sendRTP(_ buffer: MediaBuffer) -> Bool {
    guard let srtp, let packet = srtp.protectRTP(buffer.bytes) else { return false }
    return send(packet)
  }

  /// Protects a plain compound RTCP packet and sends it. False as for `sendRTP`.
  @discardableResult
  public func sendRTCP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let srtp, let packet = srtp.protectRTCP(bytes) else { return false }
    return send(packet)
  }

  /// Forgets the SRTP state of a stream in both directions, when the stream is gone for good.
  public func removeStream(ssrc: SSRC) { srtp?.remove(ssrc: ssrc.rawValue) }

  func send(_ datagram: UnsafeRawBufferPointer) -> Bool {
    // Lost on the way, as far as anybody can tell.
    if isCut { return true }
    guard carrier.send(datagram) else {
      counters.sendFailures &+= 1
      return false
    }
    counters.packetsSent &+= 1
    counters.bytesSent &+= UInt64(datagram.count)
    return true
  }

  // MARK: - Receiving

  func received(_ datagram: UnsafeRawBufferPointer) {
    guard state != .closed, !isCut else { return }
    let now = MonotonicClock.now
    counters.packetsReceived &+= 1
    counters.bytesReceived &+= UInt64(datagram.count)
    switch PacketKind(datagram) {
    case .rtp:
      guard let srtp else {
        counters.malformedDropped &+= 1
        return
      }
      let buffer = pool.take(minimum: datagram.count)
      buffer.append(datagram)
      guard accept(srtp.unprotectRTP(buffer), at: now) else { return }
      delegate?.transport(self, receivedRTP: buffer, at: now)
    case .rtcp:
      guard let srtp, datagram.count <= controlBuffer.capacity else {
        counters.malformedDropped &+= 1
        return
      }
      controlBuffer.setCount(0)
      controlBuffer.append(datagram)
      guard accept(srtp.unprotectRTCP(controlBuffer), at: now) else { return }
      delegate?.transport(self, receivedRTCP: controlBuffer.bytes, at: now)
    case .dtls: receivedRecord(datagram, at: now)
    case .stun, .zrtp, .turnChannel, .unknown: counters.malformedDropped &+= 1
    }
  }

  private func accept(_ verdict: SRTPSession.Verdict, at now: Instant) -> Bool {
    switch verdict {
    case .good:
      liveness.heard(at: now)
      return true
    case .authenticationFailed: counters.srtpAuthenticationFailures &+= 1
    case .replayed: counters.srtpReplays &+= 1
    case .malformed: counters.malformedDropped &+= 1
    }
    return false
  }

  // MARK: - State

  /// Works the state out anew and tells the delegate when it is another one.
  func update() {
    guard state != .closed else { return }
    let new: TransportState
    if dtls.hasFailed || iceFailed || liveness.isDead {
      new = .failed
    } else if dtls.isConnected, carrier.isConnected {
      new = liveness.isSilent ? .disconnected : .connected
    } else if dtls.isConnected {
      new = .disconnected
    } else {
      new = hasGathered || ice.hasRemoteCredentials ? .connecting : .new
    }
    guard new != state else { return }
    state = new
    delegate?.transport(self, stateChanged: new)
  }
}
