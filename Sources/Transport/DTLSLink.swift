import MediaCore

/// DTLS of one transport: the roles, the peer's fingerprint, the connection and its timers. Confined to the transport's
/// loop; times are `MonotonicClock.now`. What comes of it the owner hears (`MediaTransport.handle`, `handshakeFailed`).
///
/// | state | leaves it |
/// | --- | --- |
/// | waiting: no fingerprint, or no path yet; records are kept | `begin` → handshaking |
/// | handshaking | keys → connected; an error, 30 s, or 10 s after a doubt → failed |
/// | connected | the peer's farewell → failed |
/// | failed, for good | |
final class DTLSLink {
  private static let maximumEarlyRecords = 16

  /// Which part is played; `.auto` until it is known.
  private(set) var role = DTLSRole.auto
  /// True for good when the handshake failed, or the peer has closed the connection.
  private(set) var hasFailed = false
  weak var owner: MediaTransport?
  private var connection: DTLSConnection?
  private var expected: Fingerprint?
  private var early: [[UInt8]] = []
  private var deadline = HandshakeDeadline(began: .distantPast)
  private var timer: LoopTimer?
  private let loop: MediaLoop
  private let certificate: DTLSCertificate
  private let mtu: Int
  private let profiles: [SRTPProfile]

  init(loop: MediaLoop, certificate: DTLSCertificate, configuration: MediaTransport.Configuration) {
    self.loop = loop
    self.certificate = certificate
    mtu = configuration.mtu
    profiles = configuration.srtpProfiles
  }

  /// Whether the handshake has begun.
  var hasBegun: Bool { connection != nil }

  /// Whether keys are agreed on.
  var isConnected: Bool { connection?.isConnected == true }

  /// Whether records came for which it is too early.
  var hasEarlyRecords: Bool { !early.isEmpty }

  /// Sets whom to expect, and the own part. The first call counts: false from then on, and another fingerprint is a
  /// failure.
  func expect(_ fingerprint: Fingerprint, as role: DTLSRole) -> Bool {
    if let expected {
      if expected != fingerprint { fail("the peer's fingerprint has changed") }
      return false
    }
    (expected, self.role) = (fingerprint, role)
    return true
  }

  /// There is a path: begins as soon as it is known whom to expect. Harmless when called again.
  func begin(at now: Instant) {
    guard connection == nil, !hasFailed, let expected else { return }
    let made: DTLSConnection
    do {
      made = try DTLSConnection(
        certificate: certificate, isClient: role == .client, expected: expected, mtu: mtu, profiles: profiles
      ) { [weak self] record in _ = self?.owner?.send(record) }
    } catch {
      return fail(error.description)
    }
    connection = made
    deadline = HandshakeDeadline(began: now)
    if made.isClient { made.start { owner?.handle($0) } }
    let waiting = early
    early = []
    for record in waiting where connection != nil {
      record.withUnsafeBytes { bytes in made.receive(bytes) { owner?.handle($0) } }
    }
    setTimer(at: now)
  }

  /// Takes a datagram of records. How many of them were dropped; nil when it came too early and there is no place for it.
  func receive(_ datagram: UnsafeRawBufferPointer, at now: Instant) -> UInt64? {
    guard let connection else {
      // The peer may be ahead of our signalling or of our ICE.
      guard !hasFailed, early.count < Self.maximumEarlyRecords else { return nil }
      early.append(Array(datagram))
      return 0
    }
    let before = connection.droppedRecords
    connection.receive(datagram) { owner?.handle($0) }
    setTimer(at: now)
    return connection.droppedRecords &- before
  }

  /// Sends application data (SCTP). False when it did not leave.
  @discardableResult
  func send(_ bytes: UnsafeRawBufferPointer) -> Bool { connection?.send(bytes) ?? false }

  /// It is over for this reason; the owner hears it once.
  func fail(_ reason: String) {
    guard !hasFailed else { return }
    hasFailed = true
    timer?.cancel()
    timer = nil
    owner?.handshakeFailed(reason)
  }

  /// Says goodbye and lets everything go. Harmless when called again.
  func close() {
    timer?.cancel()
    timer = nil
    connection?.close()
    connection = nil
    early = []
  }

  /// Its timer fired: sends again what got lost, or gives up.
  func timerFired(at now: Instant) {
    if now >= deadline.due { connection?.giveUp { owner?.handle($0) } }
    connection?.handleTimeout { owner?.handle($0) }
    setTimer(at: now)
  }

  private func setTimer(at now: Instant) {
    timer?.cancel()
    timer = nil
    guard !hasFailed, let connection else { return }
    var wait = connection.timeout
    if !connection.isConnected {
      if connection.doubt != nil { deadline.doubt(at: now) }
      wait = min(wait ?? .forever, max(.zero, deadline.due - now))
    }
    guard let wait else { return }
    timer = loop.timer(after: wait) { [weak self] in self?.owner?.dtlsTimerFired() }
  }
}
