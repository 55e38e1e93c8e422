extension MediaTransport {
  private static let maximumEarlyRecords = 16
  private static let livenessInterval: Int64 = 1_000_000_000
  // The peer's keepalives and the answers to ours come each 5 s or so.
  private static let silenceLimit: Int64 = 10_000_000_000
  // RFC 7675 section 5.1.
  private static let deathLimit: Int64 = 30_000_000_000

  /// Allows the handshake to begin when ICE is connected. The first call counts; later ones with the same
  /// fingerprint are ignored, another fingerprint means `.failed`.
  public func startDTLS(role: DTLSRole, fingerprint: Fingerprint) {
    guard state != .closed else { return }
    if let expectedFingerprint {
      if expectedFingerprint != fingerprint { failHandshake("the peer's fingerprint has changed") }
      return
    }
    expectedFingerprint = fingerprint
    dtlsRole = role == .auto ? (isControlling ? .server : .client) : role
    nextChannel = dtlsRole == .client ? 0 : 1
    let opens = queuedOpens
    queuedOpens = []
    beginHandshake()
    for open in opens {
      openDataChannel(label: open.label, ordered: open.ordered, maxRetransmits: open.maxRetransmits)
    }
  }

  func beginHandshake() {
    guard dtls == nil, !dtlsFailed, carrier.isConnected, let fingerprint = expectedFingerprint else { return }
    let connection: DTLSConnection
    do {
      connection = try DTLSConnection(
        certificate: certificate, isClient: dtlsRole == .client, expected: fingerprint, mtu: configuration.mtu,
        profiles: configuration.srtpProfiles
      ) { [weak self] record in _ = self?.send(record) }
    } catch {
      failHandshake(error.description)
      return
    }
    dtls = connection
    handshakeDeadline = HandshakeDeadline(began: MediaLoop.now())
    if connection.isClient { connection.start { handle($0) } }
    let early = earlyRecords
    earlyRecords = []
    for record in early where dtls != nil {
      record.withUnsafeBytes { bytes in connection.receive(bytes) { handle($0) } }
    }
    armDTLSTimer()
  }

  func receivedRecord(_ record: UnsafeRawBufferPointer, at now: Int64) {
    guard let dtls else {
      // The peer may be ahead of our signalling or of our ICE.
      if !dtlsFailed, earlyRecords.count < MediaTransport.maximumEarlyRecords {
        earlyRecords.append(Array(record))
      } else {
        counters.malformedDropped &+= 1
      }
      return
    }
    let dropped = dtls.droppedRecords
    dtls.receive(record) { handle($0) }
    counters.dtlsRecordsDropped &+= dtls.droppedRecords &- dropped
    armDTLSTimer()
  }

  private func handle(_ event: DTLSConnection.Event) {
    guard state != .closed else { return }
    switch event {
    case .connected(let keys):
      do {
        srtp = try SRTPSession(keys: keys, isClient: dtlsRole == .client)
      } catch {
        failHandshake(error.description)
        return
      }
      srtpProfile = keys.profile
      lastHeard = MediaLoop.now()
      beginSCTP()
      update()
    case .data(let packet):
      lastHeard = MediaLoop.now()
      receivedSCTP(packet)
    case .closed: failHandshake("the peer has closed the connection")
    case .failed(let reason): failHandshake("DTLS: \(reason)")
    }
  }

  private func failHandshake(_ reason: String) {
    guard !dtlsFailed else { return }
    dtlsFailed = true
    failureReason = reason
    dtlsTimer?.cancel()
    dtlsTimer = nil
    srtp = nil
    update()
  }

  private func armDTLSTimer() {
    dtlsTimer?.cancel()
    dtlsTimer = nil
    guard state != .closed, !dtlsFailed, let dtls else { return }
    var wait = dtls.timeout
    if !dtls.isConnected {
      let now = MediaLoop.now()
      if dtls.doubt != nil { handshakeDeadline.doubt(at: now) }
      wait = min(wait ?? .max, max(0, handshakeDeadline.due &- now))
    }
    guard let wait else { return }
    dtlsTimer = loop.timer(after: wait) { [weak self] in
      guard let self else { return }
      if MediaLoop.now() >= self.handshakeDeadline.due { self.dtls?.giveUp { self.handle($0) } }
      self.dtls?.handleTimeout { self.handle($0) }
      self.armDTLSTimer()
    }
  }

  // MARK: - Liveness

  /// Asks the peer whether it is there; the answer shows up in `heardAt`. At most a few times a second.
  public func probe() {
    guard state != .closed else { return }
    carrier.probe(tieBreaker: probeTieBreaker)
  }

  /// When the last datagram came in of which is known, at `now` (ns of the monotonic clock); as exact as it is asked
  /// often. Nil when that cannot be known, or nothing is connected.
  public func heardAt(now: Int64) -> Int64? {
    guard carrier.isConnected, let isNew = carrier.hasHeardSomething() else { return nil }
    if isNew { lastHeard = now }
    return lastHeard
  }

  /// Once a second: has anything come in? Packets that pass SRTP's or DTLS's check count, and any datagram at all on
  /// ICE's sockets, because libnice does not tell which checks are answered. (It gives the pair up by itself when no
  /// check has been answered for 50 s.)
  func watchLiveness() {
    guard livenessTimer == nil else { return }
    livenessTimer = loop.timer(after: MediaTransport.livenessInterval, repeats: true) { [weak self] in
      self?.checkLiveness(now: MediaLoop.now())
    }
  }

  func checkLiveness(now: Int64) {
    guard carrier.isConnected, !isDead else { return }
    // Nil: nothing can be known of the sockets, so that silence proves nothing.
    if carrier.hasHeardSomething() ?? true { lastHeard = now }
    let silence = now &- lastHeard
    isSilent = silence > MediaTransport.silenceLimit
    if silence > MediaTransport.deathLimit, ice === carrier {
      isDead = true
      failureReason = "nothing came from the peer for 30 s"
    }
    update()
  }
}
