import CNice
import MediaCore

/// Owner of one `NiceAgent`: one generation of ICE credentials and candidates, one stream, one component. Confined to
/// its loop. A restart is a new agent: libnice's own restart keeps sockets of addresses that may be gone, and forgets
/// the peer's credentials.
///
/// Large: the one owner of a libnice agent, of its signals and of the tunnels that stand in for sockets.
final class ICEAgent {
  enum Event {
    case candidate(ICECandidate)
    case gatheringDone
    /// A pair is selected: packets can be sent.
    case connected
    /// All checks failed, or the selected pair is dead.
    case failed
    /// A way over TCP or TLS cannot be used, in words.
    case pathFailed(String)
  }

  /// What the agent gathers with.
  struct Gathering {
    var addresses: [String]
    /// A name is looked up by libnice, beside everything else.
    var stun: (host: String, port: UInt16)?
    var portRange: ClosedRange<UInt16>?
  }

  /// A TURN server, by a numeric address.
  struct Relay {
    var address: String
    var port: UInt16
    var username: String
    var credential: String
    /// How it is reached, and by which name the user knows it.
    var path: NetworkPath
    /// The name that its certificate must be for, when it is reached by TLS.
    var tlsName: String
  }

  let ufrag: String
  let password: String
  private(set) var isConnected = false
  private(set) var hasRemoteCredentials = false
  private(set) var remoteUfrag = ""
  private(set) var remotePassword = ""
  /// The way of the selected pair; nil before.
  private(set) var path: NetworkPath?

  private let loop: MediaLoop
  private let tlsAuthorities: String?
  private let listener: ICEListener?
  private var relayOnly: Bool
  private var agent: OpaquePointer?
  private let stream: guint
  private let onEvent: (ICEAgent, Event) -> Void
  private let onPacket: (ICEAgent, UnsafeRawBufferPointer) -> Void
  private var remoteCandidates: [ICECandidate] = []
  private var hasGathered = false
  private var relays = 0
  private var lastStamp: Int64 = 0
  /// Addresses that the peer has not told but that a valid check came from.
  private(set) var learned = 0
  private var isDeaf = false
  private var tunnels: [ICETunnel] = []
  private let fallbacks: Fallbacks
  private var hasGatheredAll = false
  // libnice ties each socket to its interface, from which loopback cannot be reached, but its own address can.
  private var ownAddress = "127.0.0.1"
  // Where a peer's port is taken to be: a relay refuses to ask loopback, and what asks is the agent's socket there.
  private var peerAddress = "127.0.0.1"

  // RFC 8445 section 14.2 sets 5 ms as the least pacing.
  private static let pacingMilliseconds: UInt32 = 5
  // libnice doubles this per retransmission: 200, 400, 800, 1600, 3200 ms.
  private static let checkTimeoutMilliseconds: UInt32 = 200
  private static let checkRetransmissions: UInt32 = 5
  private static let maximumRemoteCandidates = 40
  private static let socketBuffer: Int32 = 1 << 20
  private static let maximumRelays = 7
  // Of `learned`, before no more are taken. A check that somebody has seen can be sent again from any address, and
  // libnice neither bounds what it learns from that nor keeps more than 50 sources whose packets it passes on: forged
  // ones would push the genuine one out.
  private static let maximumLearned = 24
  private static let maximumTunnels = 12
  // RFC 6544 section 4.2: below UDP's host candidates (126), above reflexive ones where those are UDP's.
  private static let listenerPriority: UInt32 = 90 << 24 | (4 << 13 | 8191) << 8 | 255
  // Of our side of a connection that we have opened: below everything that UDP has without a relay.
  private static let connectionPriority: UInt32 = 80 << 24 | (4 << 13 | 8191) << 8 | 255

  init(
    loop: MediaLoop, isControlling: Bool, relayOnly: Bool, tlsAuthorities: String?, listener: ICEListener?,
    onEvent: @escaping (ICEAgent, Event) -> Void,
    onPacket: @escaping (ICEAgent, UnsafeRawBufferPointer) -> Void
  ) throws(TransportError) {
    loop.assertIsCurrent()
    GLibLog.silence()
    self.loop = loop
    fallbacks = Fallbacks(on: loop)
    self.relayOnly = relayOnly
    self.tlsAuthorities = tlsAuthorities
    self.listener = listener
    self.onEvent = onEvent
    self.onPacket = onPacket
    // Aggressive nomination: regular nomination waits until every better pair has failed, which takes 6 s when one of
    // them leads nowhere (a second interface, say).
    let options = NICE_AGENT_OPTION_ICE_TRICKLE
    guard let agent = nice_agent_new_full(loop.context, NICE_COMPATIBILITY_RFC5245, options) else {
      throw .ice("no agent")
    }
    // What goes over TCP goes through tunnels.
    cnice_set_bool(agent, "ice-tcp", 0)
    cnice_set_bool(agent, "upnp", 0)
    cnice_set_bool(agent, "controlling-mode", isControlling ? 1 : 0)
    cnice_set_bool(agent, "force-relay", relayOnly ? 1 : 0)
    // Keepalives are requests that want an answer, each 4 to 6 s. libnice gives a pair up when none has come for 50 s
    // (its consent-freshness mode would do so after 10 s, that is after two lost packets).
    cnice_set_bool(agent, "keepalive-conncheck", 1)
    cnice_set_uint(agent, "stun-pacing-timer", ICEAgent.pacingMilliseconds)
    cnice_set_uint(agent, "stun-initial-timeout", ICEAgent.checkTimeoutMilliseconds)
    cnice_set_uint(agent, "stun-max-retransmissions", ICEAgent.checkRetransmissions)
    let stream = nice_agent_add_stream(agent, 1)
    var localUfrag: UnsafeMutablePointer<CChar>?
    var localPassword: UnsafeMutablePointer<CChar>?
    let known = nice_agent_get_local_credentials(agent, stream, &localUfrag, &localPassword)
    defer {
      g_free(localUfrag)
      g_free(localPassword)
    }
    guard stream > 0, known != 0, let localUfrag, let localPassword else {
      cnice_unref(agent)
      throw .ice("no stream")
    }
    self.agent = agent
    self.stream = stream
    ufrag = String(cString: localUfrag)
    password = String(cString: localPassword)
    connectCallbacks(agent)
  }

  deinit { close() }

  /// Begins to gather. False when there is no address on which a socket could be opened.
  func gather(_ gathering: Gathering) -> Bool {
    loop.assertIsCurrent()
    guard let agent else { return false }
    if let first = gathering.addresses.first { ownAddress = first }
    if !gathering.addresses.contains(peerAddress) { peerAddress = ownAddress }
    // Before gathering, so that nothing but the relay is ever asked.
    if relayOnly { fallbacks.open() }
    for address in gathering.addresses { _ = cnice_add_local_address(agent, address) }
    if let stun = gathering.stun {
      cnice_set_string(agent, "stun-server", stun.host)
      cnice_set_uint(agent, "stun-server-port", UInt32(stun.port))
    }
    if let range = gathering.portRange {
      nice_agent_set_port_range(agent, stream, 1, guint(range.lowerBound), guint(range.upperBound))
    }
    guard nice_agent_gather_candidates(agent, stream) != 0 else { return false }
    cnice_widen_buffers(agent, stream, 1, ICEAgent.socketBuffer)
    filterSTUN()
    hasGathered = true
    if hasRemoteCredentials { addEarlyCandidates() }
    return true
  }

  /// Adds a TURN server, before or after `gather`.
  func add(_ relay: Relay) {
    guard agent != nil, relays < ICEAgent.maximumRelays else { return }
    relays += 1
    guard relay.path.carrier != .relayUDP else { return add(relay, at: relay.address, relay.port) }
    guard let address = SocketAddress(relay.address, port: relay.port) else { return }
    let upstream = ICETunnel.Upstream(
      path: relay.path, address: address, framing: .turn,
      tlsName: relay.path.carrier == .relayTLS ? relay.tlsName : nil, tlsAuthorities: tlsAuthorities)
    fallbacks.add { [unowned self] in
      if let tunnel = makeTunnel(to: upstream, rank: nil, at: ownAddress) {
        add(relay, at: tunnel.address, tunnel.port)
      }
    }
  }

  private func add(_ relay: Relay, at address: String, _ port: UInt16) {
    guard let agent else { return }
    _ = nice_agent_set_relay_info(
      agent, stream, 1, address, guint(port), relay.username, relay.credential, NICE_RELAY_TYPE_TURN_UDP)
  }

  // MARK: - Tunnels

  private func makeTunnel(to upstream: ICETunnel.Upstream, rank: ICETunnel.Rank?, at address: String) -> ICETunnel? {
    guard agent != nil, tunnels.count < ICEAgent.maximumTunnels else { return nil }
    let made = ICETunnel(
      to: upstream, rank: rank, at: address, on: loop,
      isOurs: { [weak self] port in
        guard let self, let agent else { return false }
        return cnice_has_port(agent, stream, 1, port) != 0
      },
      onEnd: { [weak self] tunnel, reason in
        // What is not used any more may end.
        guard let self, agent != nil, !isConnected || path == tunnel.upstream.path else { return }
        onEvent(self, .pathFailed("\(tunnel.upstream.path): \(reason)"))
        guard isConnected else { return }
        // No silence has to be waited for.
        isConnected = false
        onEvent(self, .failed)
      })
    if let made { tunnels.append(made) }
    return made
  }

  /// The peer's credentials; checks begin with its first candidate.
  func setRemote(ufrag: String, password: String) {
    guard let agent else { return }
    hasRemoteCredentials = true
    remoteUfrag = ufrag
    remotePassword = password
    _ = nice_agent_set_remote_credentials(agent, stream, ufrag, password)
    addEarlyCandidates()
    // What was heard until now was not the peer.
    _ = hasHeardSomething()
    fallbacks.begin(
      while: { [unowned self] in !isConnected }, hearsPeer: { [unowned self] in hasHeardPeer })
  }

  /// True when the peer's datagrams come in, though no pair works yet. What comes while candidates are gathered may be a
  /// STUN server's.
  private var hasHeardPeer: Bool { hasGatheredAll && hasHeardSomething() == true }

  /// False while the peer's candidates must wait: for its credentials; and when only relays may be used, for our own
  /// host candidates. libnice 0.1.21 pairs each host candidate that it finds with every candidate of the peer that it
  /// knows, and would ask them from addresses that the relay is to hide.
  private var takesCandidates: Bool { hasRemoteCredentials && (hasGathered || !relayOnly) }

  private func addEarlyCandidates() {
    guard takesCandidates else { return }
    let early = remoteCandidates
    remoteCandidates = []
    for candidate in early { add(candidate) }
  }

  /// Changes the policy before gathering.
  func setRelayOnly(_ on: Bool) {
    guard let agent else { return }
    relayOnly = on
    cnice_set_bool(agent, "force-relay", on ? 1 : 0)
  }

  /// Makes this side the controlling one.
  func takeControl() {
    guard let agent else { return }
    cnice_set_bool(agent, "controlling-mode", 1)
  }

  /// One candidate of the peer, also one whose checks came before it; those that come too early wait.
  func add(_ candidate: ICECandidate) {
    loop.assertIsCurrent()
    guard agent != nil, remoteCandidates.count < ICEAgent.maximumRemoteCandidates else { return }
    guard !remoteCandidates.contains(candidate) else { return }
    remoteCandidates.append(candidate)
    guard takesCandidates else { return }
    if let ufrag = candidate.ufrag, ufrag != remoteUfrag { return }
    guard candidate.transport == .udp else { return connect(to: candidate) }
    add(candidate, at: candidate.address, candidate.port)
  }

  /// A port of the peer that takes connections. Never when only relays may be used.
  private func connect(to candidate: ICECandidate) {
    guard !relayOnly, let address = SocketAddress(candidate.address, port: candidate.port) else { return }
    let upstream = ICETunnel.Upstream(
      path: NetworkPath(.tcp, host: candidate.address, port: candidate.port), address: address, framing: .length)
    fallbacks.add { [unowned self] in
      let rank = ICETunnel.Rank(password: remotePassword, priority: ICEAgent.connectionPriority)
      if let tunnel = makeTunnel(to: upstream, rank: rank, at: peerAddress) {
        add(candidate, at: tunnel.address, tunnel.port)
      }
    }
  }

  private func add(_ candidate: ICECandidate, at address: String, _ port: UInt16) {
    guard let agent else { return }
    let type =
      switch candidate.kind {
      case .host: NICE_CANDIDATE_TYPE_HOST
      case .srflx: NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE
      case .prflx: NICE_CANDIDATE_TYPE_PEER_REFLEXIVE
      case .relay: NICE_CANDIDATE_TYPE_RELAYED
      }
    _ = cnice_add_remote(
      agent, stream, type, candidate.foundation, candidate.priority, address, guint(port))
    if isFull { filterSTUN() }
  }

  private var isFull: Bool { learned >= ICEAgent.maximumLearned }

  /// Counts the addresses that the peer has not told. When there are too many, checks from any further one are dropped
  /// by the kernel; everything else still passes.
  private func learnedAddress() {
    learned += 1
    if isFull { filterSTUN() }
  }

  private func filterSTUN() {
    guard let agent, !isDeaf else { return }
    cnice_filter_stun(agent, stream, 1, isFull ? 1 : 0)
  }

  /// Sends one datagram over the selected pair; false when there is none or the socket is full.
  func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    loop.assertIsCurrent()
    guard let agent, let base = bytes.baseAddress, bytes.count <= 65_507 else { return false }
    let sent = nice_agent_send(
      agent, stream, 1, guint(bytes.count), base.assumingMemoryBound(to: CChar.self))
    return Int(sent) == bytes.count
  }

  /// Asks the peer whether it is there, over the selected pair; the answer is a datagram like any other.
  func probe(tieBreaker: UInt64) {
    guard let agent, isConnected, hasRemoteCredentials else { return }
    _ = cnice_probe(agent, stream, 1, "\(remoteUfrag):\(ufrag)", remotePassword, tieBreaker)
  }

  /// True when a datagram has come in since the last call; nil when that cannot be known.
  func hasHeardSomething() -> Bool? {
    guard let agent else { return nil }
    let stamp = cnice_last_datagram(agent, stream, 1)
    defer { lastStamp = stamp }
    return stamp == 0 ? nil : stamp != lastStamp
  }

  /// Deaf: the kernel drops everything that comes in on its sockets, STUN too.
  func setDeaf(_ isDeaf: Bool) {
    guard let agent else { return }
    self.isDeaf = isDeaf
    cnice_set_deaf(agent, stream, 1, isDeaf ? 1 : 0)
    filterSTUN()
  }

  /// Ends the agent. Relays are freed in the background; the loop waits for that a little when it stops.
  func close() {
    guard let agent else { return }
    loop.assertIsCurrent()
    self.agent = nil
    isConnected = false
    fallbacks.close()
    listener?.remove(ufrag: ufrag)
    cnice_disconnect_all(agent, Unmanaged.passUnretained(self).toOpaque())
    // Its sockets must be read to the end, for the relays' answers; without a callback nothing would read them.
    nice_agent_attach_recv(agent, stream, 1, loop.context, { _, _, _, _, _, _ in }, nil)
    loop.closingBegan()
    let closing = Closing(loop: loop, tunnels: tunnels)
    tunnels = []
    nice_agent_close_async(
      agent,
      { source, _, data in
        if let source { cnice_unref_source(source) }
        if let data { Unmanaged<Closing>.fromOpaque(data).takeRetainedValue().end() }
      }, Unmanaged.passRetained(closing).toOpaque())
  }

  /// What is needed until the relays have been freed.
  private final class Closing {
    let loop: MediaLoop
    let tunnels: [ICETunnel]

    init(loop: MediaLoop, tunnels: [ICETunnel]) { (self.loop, self.tunnels) = (loop, tunnels) }

    func end() {
      for tunnel in tunnels { tunnel.close() }
      loop.closingEnded()
    }
  }

  // Every callback comes on the loop's thread, and none after `close()`; so the unretained pointer is good.
  private func connectCallbacks(_ agent: OpaquePointer) {
    let me = Unmanaged.passUnretained(self).toOpaque()
    _ = cnice_connect_gathering_done(
      agent,
      { _, _, data in
        guard let data else { return }
        let agent = Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue()
        agent.gatheredAll()
      }, me)
    _ = cnice_connect_new_candidate(
      agent,
      { _, candidate, data in
        guard let data, let candidate else { return }
        Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().found(candidate)
      }, me)
    _ = cnice_connect_new_remote_candidate(
      agent,
      { _, _, data in
        guard let data else { return }
        Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().learnedAddress()
      }, me)
    _ = cnice_connect_component_state(
      agent,
      { _, _, _, state, data in
        guard let data else { return }
        Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().changed(state: state)
      }, me)
    _ = cnice_connect_selected_pair(
      agent,
      { _, _, _, _, remote, data in
        guard let data, let remote else { return }
        Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().selected(remote)
      }, me)
    nice_agent_attach_recv(
      agent, stream, 1, loop.context,
      { _, _, _, length, bytes, data in
        guard let data, let bytes, length > 0 else { return }
        let agent = Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue()
        agent.onPacket(agent, UnsafeRawBufferPointer(start: bytes, count: Int(length)))
      }, me)
  }

  private func gatheredAll() {
    hasGatheredAll = true
    _ = hasHeardSomething()
    onEvent(self, .gatheringDone)
  }

  private func found(_ candidate: UnsafeMutablePointer<NiceCandidate>) {
    guard candidate.pointee.transport == NICE_CANDIDATE_TRANSPORT_UDP else { return }
    let kind: ICECandidate.Kind
    switch candidate.pointee.type {
    case NICE_CANDIDATE_TYPE_HOST: kind = .host
    case NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE: kind = .srflx
    case NICE_CANDIDATE_TYPE_RELAYED: kind = .relay
    default: return
    }
    if relayOnly, kind != .relay { return }
    guard let foundation = cnice_foundation(candidate) else { return }
    // With relays only, the base would give away what relaying is to hide (RFC 8828 section 5.2).
    let hidesBase = relayOnly
    let made = ICECandidate(
      foundation: String(cString: foundation), priority: candidate.pointee.priority,
      address: ICEAgent.text(&candidate.pointee.addr), port: ICEAgent.port(&candidate.pointee.addr), kind: kind,
      relatedAddress: hidesBase ? "0.0.0.0" : ICEAgent.text(&candidate.pointee.base_addr),
      relatedPort: hidesBase ? 0 : ICEAgent.port(&candidate.pointee.base_addr))
    if let listener, kind == .host {
      listener.add(ufrag: ufrag, address: made.address, port: made.port)
      onEvent(
        self,
        .candidate(
          ICECandidate(
            foundation: "tcp\(made.foundation)", priority: ICEAgent.listenerPriority, address: made.address,
            port: listener.port, kind: .host, transport: .tcp)))
    }
    onEvent(self, .candidate(made))
  }

  private func changed(state: guint) {
    switch state {
    case NICE_COMPONENT_STATE_READY.rawValue: becomeConnected()
    case NICE_COMPONENT_STATE_FAILED.rawValue:
      isConnected = false
      onEvent(self, .failed)
    default: break
    }
  }

  private func selected(_ remote: UnsafeMutablePointer<NiceCandidate>) {
    guard let agent else { return }
    var relay = NiceAddress()
    if cnice_selected_relay(agent, stream, 1, &relay) != 0 {
      path = way(.relayUDP, &relay)
    } else {
      path = way(.udp, &remote.pointee.addr)
    }
    becomeConnected()
  }

  /// The way by an address: a tunnel's when it is a tunnel's.
  private func way(_ carrier: NetworkPath.Carrier, _ address: inout NiceAddress) -> NetworkPath {
    let (text, port) = (ICEAgent.text(&address), ICEAgent.port(&address))
    let tunnel = tunnels.first { $0.port == port && $0.address == text }
    return tunnel?.upstream.path ?? NetworkPath(carrier, host: text, port: port)
  }

  private func becomeConnected() {
    guard !isConnected else { return }
    isConnected = true
    onEvent(self, .connected)
  }

  private static func text(_ address: inout NiceAddress) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      guard let base = buffer.baseAddress else { return "" }
      nice_address_to_string(&address, base)
      return String(cString: base)
    }
  }

  private static func port(_ address: inout NiceAddress) -> UInt16 {
    UInt16(truncatingIfNeeded: nice_address_get_port(&address))
  }
}
