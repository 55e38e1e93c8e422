import Glibc
import MediaCore

@testable import Transport

// Sendable: everything is behind the lock.
/// What one end of a test has heard, and waiting for it.
final class Heard: @unchecked Sendable {
  struct Log {
    var states: [TransportState] = []
    var candidates: [String] = []
    var failedPaths: [String] = []
    var gatheringDone = 0
    var rtp: [[UInt8]] = []
    var rtcp: [[UInt8]] = []
    var opened: [UInt16: String] = [:]
    var messages: [(id: UInt16, bytes: [UInt8], isText: Bool)] = []
    var closed: [UInt16] = []
  }

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var log = Log()

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  func add(_ change: (inout Log) -> Void) {
    pthread_mutex_lock(mutex)
    change(&log)
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }

  func read<T>(_ body: (Log) -> T) -> T {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(log)
  }

  /// Waits until the condition holds; false when it does not within so many seconds.
  func wait(seconds: Int = 30, until holds: (Log) -> Bool) -> Bool {
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += seconds
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while !holds(log) {
      if pthread_cond_timedwait(condition, mutex, &deadline) != 0 { return holds(log) }
    }
    return true
  }
}

// Sendable: `transport` and `peer` are used on the loop only.
/// One transport on a loop of its own, with a delegate that writes everything down.
final class TestEnd: MediaTransportDelegate, @unchecked Sendable {
  let loop: MediaLoop
  let heard = Heard()
  let certificate: DTLSCertificate
  private(set) var transport: MediaTransport?
  /// Where candidates go; set on the loop.
  weak var peer: TestEnd?
  var closesOnConnect = false
  /// What stands in the candidates that the peer is told; nil: all. Set on the loop.
  var tellsOnly: String?

  init(_ name: String, _ configuration: MediaTransport.Configuration) throws {
    loop = MediaLoop(name: name)
    certificate = try DTLSCertificate()
    try loop.sync { [self] () throws(TransportError) in
      let transport = try MediaTransport(loop: loop, certificate: certificate, configuration: configuration)
      transport.delegate = self
      self.transport = transport
    }
  }

  func on<T: Sendable>(_ work: @escaping @Sendable (MediaTransport) -> T) -> T? {
    loop.sync { self.transport.map(work) }
  }

  func run(_ work: @escaping @Sendable (MediaTransport) -> Void) {
    loop.sync { if let transport = self.transport { work(transport) } }
  }

  /// Waits until something holds of the transport, looking every 2 ms on its loop; false after so many seconds.
  func wait(seconds: Int = 30, until holds: @escaping @Sendable (MediaTransport) -> Bool) -> Bool {
    let done = Heard()
    loop.post { [loop] in
      var timer: LoopTimer?
      timer = loop.timer(after: .milliseconds(2), repeats: true) { [weak self] in
        guard let transport = self?.transport, !holds(transport) else {
          timer?.cancel()
          done.add { $0.gatheringDone = 1 }
          return
        }
      }
    }
    return done.wait(seconds: seconds) { $0.gatheringDone == 1 } && on(holds) == true
  }

  /// Drops the transport as it is.
  func letGo() { loop.sync { self.transport = nil } }

  /// Closes the transport, then the loop.
  func end() {
    loop.sync {
      self.transport?.close()
      self.transport = nil
    }
    loop.stop()
  }

  func transport(_ transport: MediaTransport, didGather candidateLine: String) {
    heard.add { $0.candidates.append(candidateLine) }
    guard let peer, tellsOnly.map(candidateLine.contains) != false else { return }
    peer.loop.post { peer.transport?.addRemoteCandidate(candidateLine) }
  }

  func transportDidFinishGathering(_ transport: MediaTransport) { heard.add { $0.gatheringDone += 1 } }

  func transport(_ transport: MediaTransport, pathFailed reason: String) { heard.add { $0.failedPaths.append(reason) } }

  func transport(_ transport: MediaTransport, stateChanged state: TransportState) {
    heard.add { $0.states.append(state) }
    if closesOnConnect, state == .connected { transport.close() }
  }

  func transport(_ transport: MediaTransport, receivedRTP buffer: MediaBuffer, at now: Instant) {
    let bytes = Array(buffer.bytes)
    heard.add { $0.rtp.append(bytes) }
  }

  func transport(_ transport: MediaTransport, receivedRTCP bytes: UnsafeRawBufferPointer, at now: Instant) {
    let copy = Array(bytes)
    heard.add { $0.rtcp.append(copy) }
  }

  func transport(_ transport: MediaTransport, channelOpened id: UInt16, label: String) {
    heard.add { $0.opened[id] = label }
  }

  func transport(
    _ transport: MediaTransport, channel id: UInt16, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    let copy = Array(bytes)
    heard.add { $0.messages.append((id, copy, isText)) }
  }

  func transport(_ transport: MediaTransport, channelClosed id: UInt16) { heard.add { $0.closed.append(id) } }
}

/// Two ends on loopback that know each other.
struct TestPair {
  let a: TestEnd
  let b: TestEnd

  init(
    profiles: [SRTPProfile] = SRTPProfile.allCases, iceServers: [ICEServer] = [],
    policy: ICETransportPolicy = .all, mtu: Int = 1200, listener: ICEListener? = nil
  ) throws {
    a = try TestEnd(
      "a",
      .init(
        iceServers: iceServers, policy: policy, isControlling: true, localAddresses: ["127.0.0.1"], mtu: mtu,
        srtpProfiles: profiles))
    b = try TestEnd(
      "b",
      .init(
        iceServers: iceServers, policy: policy, isControlling: false, localAddresses: ["127.0.0.1"],
        listener: listener, mtu: mtu, srtpProfiles: profiles))
    let (a, b) = (a, b)
    a.loop.sync { a.peer = b }
    b.loop.sync { b.peer = a }
  }

  /// Gives each the other's credentials and gathers.
  func exchangeCredentials() {
    for (from, to) in [(a, b), (b, a)] {
      let credentials = from.on { ($0.localUfrag, $0.localPassword) }
      guard let credentials else { continue }
      to.run { $0.setRemote(ufrag: credentials.0, password: credentials.1, isLite: false) }
    }
    a.run { $0.gather() }
    b.run { $0.gather() }
  }

  func startDTLS(aRole: DTLSRole = .server, aExpects: Fingerprint? = nil) {
    let (forA, forB) = (aExpects ?? b.certificate.fingerprint, a.certificate.fingerprint)
    a.run { $0.startDTLS(role: aRole, fingerprint: forA) }
    b.run { $0.startDTLS(role: aRole == .client ? .server : .client, fingerprint: forB) }
  }

  /// True when both ends are connected within 10 s.
  func connect(aRole: DTLSRole = .server) -> Bool {
    exchangeCredentials()
    startDTLS(aRole: aRole)
    return isConnected
  }

  var isConnected: Bool {
    a.heard.wait { $0.states.last == .connected } && b.heard.wait { $0.states.last == .connected }
  }

  func end() {
    a.end()
    b.end()
  }
}

/// A plain RTP packet with a payload of so many bytes that depend on the sequence number.
func rtpPacket(sequence: UInt16, ssrc: UInt32 = 0x1234_5678, payload: Int = 160) -> [UInt8] {
  var bytes: [UInt8] = [0x80, 96, UInt8(sequence >> 8), UInt8(sequence & 0xff), 0, 0, 0, 1]
  bytes += [UInt8(ssrc >> 24), UInt8(ssrc >> 16 & 0xff), UInt8(ssrc >> 8 & 0xff), UInt8(ssrc & 0xff)]
  return bytes + (0..<payload).map { UInt8(truncatingIfNeeded: $0 &+ Int(sequence)) }
}

/// A receiver report without blocks.
let receiverReport: [UInt8] = [0x80, 201, 0, 1, 0x12, 0x34, 0x56, 0x78]
