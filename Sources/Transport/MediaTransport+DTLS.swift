import MediaCore
import Platform

extension MediaTransport {
  private static let livenessInterval = Duration.seconds(1)

  /// Allows the handshake to begin when ICE is connected. The first call counts; later ones with the same
  /// fingerprint are ignored, another fingerprint means `.failed`.
  public func startDTLS(role: DTLSRole, fingerprint: Fingerprint) {
    guard state != .closed,
      dtls.expect(fingerprint, as: role == .auto ? (isControlling ? .server : .client) : role)
    else { return }
    let waiting = channels.takeWaiting(as: dtls.role)
    beginHandshake()
    for request in waiting where state != .closed { _ = channels.open(request) }
  }

  func beginHandshake() {
    if carrier.isConnected { dtls.begin(at: MonotonicClock.now) }
  }

  func receivedRecord(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
    if let dropped = dtls.receive(datagram, at: now) {
      counters.dtlsRecordsDropped &+= dropped
    } else {
      counters.malformedDropped &+= 1
    }
  }

  func dtlsTimerFired() { dtls.timerFired(at: MonotonicClock.now) }

  func handle(_ event: DTLSConnection.Event) {
    guard state != .closed else { return }
    switch event {
    case .connected(let keys):
      do {
        srtp = try SRTPSession(keys: keys, isClient: dtls.role == .client)
      } catch {
        return dtls.fail(error.description)
      }
      srtpProfile = keys.profile
      liveness.heard(at: MonotonicClock.now)
      channels.begin()
      update()
    case .data(let packet):
      liveness.heard(at: MonotonicClock.now)
      if !channels.receive(packet) { counters.malformedDropped &+= 1 }
    case .closed: dtls.fail("the peer has closed the connection")
    case .failed(let reason): dtls.fail("DTLS: \(reason)")
    }
  }

  func handshakeFailed(_ reason: String) {
    failureReason = reason
    srtp = nil
    update()
  }

  // MARK: - Liveness

  /// Asks the peer whether it is there; the answer shows up in `heardAt`. At most a few times a second.
  public func probe() {
    guard state != .closed else { return }
    carrier.probe(tieBreaker: probeTieBreaker)
  }

  /// When the last datagram came in of which is known, at `now`; as exact as it is asked often. Nil when that cannot be
  /// known, or nothing is connected.
  public func heardAt(now: Instant) -> Instant? {
    guard carrier.isConnected, let isNew = carrier.hasHeardSomething() else { return nil }
    if isNew { liveness.heard(at: now) }
    return liveness.heardAt
  }

  /// Once a second: has anything come in? Packets that pass SRTP's or DTLS's check count, and any datagram at all on
  /// ICE's sockets, because libnice does not tell which checks are answered. (It gives the pair up by itself when no
  /// check has been answered for 50 s.)
  func watchLiveness() {
    guard livenessTimer == nil else { return }
    livenessTimer = loop.timer(after: MediaTransport.livenessInterval, repeats: true) { [weak self] in
      self?.checkLiveness(now: MonotonicClock.now)
    }
  }

  func checkLiveness(now: Instant) {
    guard carrier.isConnected, !liveness.isDead else { return }
    // Nil: nothing can be known of the sockets, so that silence proves nothing.
    if carrier.hasHeardSomething() ?? true { liveness.heard(at: now) }
    if liveness.check(mayDie: ice === carrier, at: now) { failureReason = "nothing came from the peer for 30 s" }
    update()
  }
}
