import MediaCore
import Platform

/// Leads an agent's callbacks to the transport that owns it, without keeping it alive.
final class ICEEvents {
  weak var owner: MediaTransport?

  func makeAgent(
    loop: MediaLoop, configuration: MediaTransport.Configuration, isControlling: Bool
  ) throws(TransportError) -> ICEAgent {
    try ICEAgent(
      loop: loop, isControlling: isControlling, relayOnly: configuration.policy == .relay,
      tlsAuthorities: configuration.tlsAuthorities, listener: configuration.listener,
      onEvent: { [self] agent, event in owner?.handle(event, of: agent) },
      onPacket: { [self] _, datagram in owner?.received(datagram) })
  }
}

extension MediaTransport {
  // Time for the first pair to be found after both sides' credentials are known.
  private static let connectLimit = Duration.seconds(30)
  // Packets that the peer has sent before it switched may still come over the old pair.
  private static let retirement = Duration.seconds(2)

  /// ICE user name fragment of the present generation (RFC 8839 section 5.4), for the SDP.
  public var localUfrag: String { ice.ufrag }
  /// ICE password of the present generation (RFC 8839 section 5.4), for the SDP.
  public var localPassword: String { ice.password }

  /// Begins gathering. Host candidates come by the delegate during the call, so that they can stand in the first
  /// description; the others later. Harmless when called again.
  public func gather() {
    guard state != .closed, !hasGathered else { return }
    hasGathered = true
    beginGathering()
    update()
  }

  /// The peer's ICE credentials. When they differ from those given before and no restart is under way, the peer has
  /// begun one (RFC 8445 section 2.4): ICE restarts here too, and `localUfrag` and `localPassword` are new.
  /// `isLite` (`a=ice-lite`) makes this side the controlling one.
  public func setRemote(ufrag: String, password: String, isLite: Bool) {
    guard state != .closed, (1...256).contains(ufrag.utf8.count), (1...256).contains(password.utf8.count) else {
      return
    }
    if isLite { isControlling = true }
    if ice.hasRemoteCredentials {
      if ice.remoteUfrag == ufrag, ice.remotePassword == password { return }
      restartICE()
    } else if ice !== carrier, carrier.remoteUfrag == ufrag, carrier.remotePassword == password {
      // A description from before our own restart, which the peer has not answered yet.
      return
    }
    if isControlling { ice.takeControl() }
    ice.setRemote(ufrag: ufrag, password: password)
    iceTimer?.cancel()
    iceTimer = loop.timer(after: MediaTransport.connectLimit) { [weak self] in self?.connectLimitReached() }
    update()
  }

  /// One candidate of the peer, `candidate:…` with or without `a=`. What cannot be used (names, component 2,
  /// malformed) is ignored. Candidates may come before the credentials.
  public func addRemoteCandidate(_ candidateLine: String) {
    guard state != .closed, let candidate = ICECandidate(line: candidateLine) else { return }
    ice.add(candidate)
  }

  /// Makes new credentials and gathers anew; media flow on over the old pair until the new one is connected. DTLS,
  /// SRTP and SCTP stay as they are.
  @discardableResult
  public func restartICE() -> (ufrag: String, password: String) {
    guard state != .closed else { return (ice.ufrag, ice.password) }
    let events = ICEEvents()
    events.owner = self
    // Without memory for an agent there is nothing to restart with; the old generation goes on.
    guard
      let agent = try? events.makeAgent(loop: loop, configuration: configuration, isControlling: isControlling)
    else { return (ice.ufrag, ice.password) }
    if ice !== carrier { ice.close() }
    ice = agent
    if !carrier.isConnected, carrier !== agent, !dtls.hasBegun {
      carrier.close()
      carrier = agent
    }
    iceFailed = false
    liveness.doubt()
    iceTimer?.cancel()
    if hasGathered { beginGathering() }
    update()
    return (ice.ufrag, ice.password)
  }

  /// Changes the policy; counts from the next `gather()` or `restartICE()`.
  public func setRelayOnly(_ on: Bool) {
    let policy: ICETransportPolicy = on ? .relay : .all
    guard state != .closed, policy != configuration.policy else { return }
    configuration.policy = policy
    // Nothing has been signalled yet, but the credentials may have been: only the agent's policy is new.
    if !hasGathered { ice.setRelayOnly(on) }
  }

  /// Changes the STUN and TURN servers; counts from the next `gather()` or `restartICE()`.
  public func setICEServers(_ servers: [ICEServer]) { configuration.iceServers = servers }

  /// While true, no datagram goes out or comes in, as if the network were gone; for tests. (ICE's own keepalives may
  /// still leave, one in some seconds, but nothing is answered.)
  package func setCut(_ on: Bool) {
    isCut = on
    for agent in [ice, carrier] + retiring { agent.setDeaf(on) }
  }

  // MARK: - Gathering

  private func beginGathering() {
    let agent = ice
    // A name server that does not answer must not hold up the candidates that need no name: LiveKit servers hand out
    // public STUN servers, which a closed network cannot even look up. libnice looks such a name up beside gathering,
    // and relays may come at any time.
    var stun: (host: String, port: UInt16)?
    for (server, address) in serverAddresses() {
      if address.kind == .stun {
        stun = stun ?? (address.host, address.port)
      } else if NameResolver.isNumeric(address.host) {
        addRelay(server, address, at: address.host, to: agent)
      } else {
        NameResolver.resolve(address.host, on: loop) { [weak self] found in
          guard let self, agent === ice, state != .closed else { return }
          guard let first = found.first else {
            return pathFailed("the name of the relay \(address.host) is unknown")
          }
          addRelay(server, address, at: first, to: agent)
        }
      }
    }
    gather(agent, stun: stun)
  }

  private func serverAddresses() -> [(ICEServer, ICEServerAddress)] {
    configuration.iceServers.flatMap { server in
      server.urls.compactMap { url in ICEServerAddress(url: url).map { (server, $0) } }
    }
  }

  private func addRelay(_ server: ICEServer, _ address: ICEServerAddress, at numeric: String, to agent: ICEAgent) {
    let carrier: NetworkPath.Carrier =
      switch address.kind {
      case .turnTLS: .relayTLS
      case .turnTCP: .relayTCP
      case .turnUDP, .stun: .relayUDP
      }
    agent.add(
      ICEAgent.Relay(
        address: numeric, port: address.port, username: server.username, credential: server.credential,
        path: NetworkPath(carrier, host: address.host, port: address.port), tlsName: address.host))
  }

  private func gather(_ agent: ICEAgent, stun: (host: String, port: UInt16)?) {
    var addresses = configuration.localAddresses ?? NetworkInterfaces.addresses()
    candidates.begin(holdsLoopback: configuration.localAddresses == nil && !addresses.isEmpty)
    if configuration.localAddresses == nil, configuration.includeLoopback { addresses.append("127.0.0.1") }
    let hasSockets = agent.gather(
      ICEAgent.Gathering(addresses: addresses, stun: stun, portRange: configuration.portRange))
    if isCut { agent.setDeaf(true) }
    guard !hasSockets else { return }
    // Posted, so that nobody is told of a state from inside a call of theirs.
    later { transport in
      guard agent === transport.ice else { return }
      transport.failureReason = "no local address to gather on"
      transport.iceFailed = true
      transport.update()
    }
  }

  private func later(_ work: @escaping (MediaTransport) -> Void) {
    loop.timer(after: .zero) { [weak self] in
      guard let self, self.state != .closed else { return }
      work(self)
    }
  }

  // MARK: - Events

  func handle(_ event: ICEAgent.Event, of agent: ICEAgent) {
    guard state != .closed else { return }
    switch event {
    case .candidate(let candidate):
      if agent === ice, candidates.tellsAtOnce(candidate) { tell(candidate) }
    case .gatheringDone:
      guard agent === ice else { return }
      for candidate in candidates.finish() { tell(candidate) }
      delegate?.transportDidFinishGathering(self)
    case .connected: connected(agent)
    case .failed: failed(agent)
    case .pathFailed(let reason):
      if agent === ice || agent === carrier { pathFailed(reason) }
    }
  }

  private func pathFailed(_ reason: String) {
    // A service may name any number of relays, and a restart brings them all again.
    guard failedPaths.count < 16, failedPaths.insert(reason).inserted else { return }
    delegate?.transport(self, pathFailed: reason)
  }

  private func tell(_ candidate: ICECandidate) {
    delegate?.transport(self, didGather: candidate.line)
  }

  /// The way that packets take; nil before there is one.
  public var path: NetworkPath? { carrier.isConnected ? carrier.path : nil }

  private func connected(_ agent: ICEAgent) {
    guard agent === ice else { return }
    failedPaths = []
    iceTimer?.cancel()
    iceTimer = nil
    iceFailed = false
    liveness.begin(at: MonotonicClock.now)
    if carrier !== agent {
      retire(carrier)
      carrier = agent
    }
    watchLiveness()
    beginHandshake()
    update()
  }

  private func retire(_ agent: ICEAgent) {
    retiring.append(agent)
    loop.timer(after: MediaTransport.retirement) { [weak self] in
      agent.close()
      self?.retiring.removeAll { $0 === agent }
    }
  }

  private func failed(_ agent: ICEAgent) {
    // Before the first pair, candidates that come later may still succeed: the time limit decides. An old generation
    // does not matter while a newer one is at work.
    guard agent === ice, agent === carrier, livenessTimer != nil else { return }
    failureReason = "the selected candidate pair is dead"
    iceFailed = true
    update()
  }

  private func connectLimitReached() {
    iceTimer = nil
    // A restart that leads nowhere harms nobody while the old pair is alive.
    guard !ice.isConnected, !carrier.isConnected || liveness.isSilent else { return }
    failureReason = (["no candidate pair was found"] + failedPaths.sorted()).joined(separator: "; ")
    iceFailed = true
    update()
  }
}
