import MediaCore
import Platform
import Testing

@testable import Transport

@Suite(.serialized) struct MediaTransportTests {
  @Test(arguments: [DTLSRole.client, .server], SRTPProfile.allCases)
  func connectsInBothRolesWithEveryProfile(role: DTLSRole, profile: SRTPProfile) throws {
    let pair = try TestPair(profiles: [profile])
    defer { pair.end() }
    try #require(pair.connect(aRole: role))
    #expect(pair.a.on { $0.srtpProfile } == profile)
    #expect(pair.b.on { $0.srtpProfile } == profile)
    expectMedia(pair)
  }

  /// RTP and RTCP pass both ways, unchanged.
  private func expectMedia(_ pair: TestPair, from first: UInt16 = 100) {
    for (from, to) in [(pair.a, pair.b), (pair.b, pair.a)] {
      let before = to.heard.read { $0.rtp.count }
      let beforeControl = to.heard.read { $0.rtcp.count }
      let sent = (0..<50).map { rtpPacket(sequence: first &+ UInt16($0)) }
      from.run { transport in
        for packet in sent { #expect(transport.sendRTP(MediaBuffer(packet))) }
        receiverReport.withUnsafeBytes { #expect(transport.sendRTCP($0) as Bool) }
      }
      #expect(to.heard.wait { $0.rtp.count >= before + 50 && $0.rtcp.count > beforeControl })
      #expect(to.heard.read { Array($0.rtp.suffix(50)) } == sent)
      #expect(to.heard.read { $0.rtcp.last } == receiverReport)
    }
  }

  @Test func connectsQuickly() throws {
    let pair = try TestPair()
    defer { pair.end() }
    let start = MonotonicClock.now
    try #require(pair.connect())
    let taken = MonotonicClock.now - start
    print("connected in \(taken.milliseconds) ms")
    #expect(taken < .seconds(3))
  }

  /// The other side's checks may come before its candidates. When they come to an address from which no answer can
  /// reach it, another of our addresses must be tried.
  @Test func aCandidateThatIsToldAfterItsChecksIsTriedFromEveryAddress() throws {
    guard let outside = NetworkInterfaces.addresses().first(where: { $0.contains(".") }) else {
      print("not run: this machine has no address besides loopback, so that no pair of addresses can fail")
      return
    }
    let a = try TestEnd("a", .init(isControlling: false, localAddresses: ["127.0.0.1"]))
    let b = try TestEnd("b", .init(isControlling: true, localAddresses: [outside, "127.0.0.1"]))
    defer {
      a.end()
      b.end()
    }
    for (from, to) in [(a, b), (b, a)] {
      let credentials = try #require(from.on { ($0.localUfrag, $0.localPassword) })
      to.run { $0.setRemote(ufrag: credentials.0, password: credentials.1, isLite: false) }
      to.run { $0.gather() }
    }
    #expect(a.heard.wait { !$0.candidates.isEmpty } && b.heard.wait { $0.candidates.count == 2 })
    let reachable = try #require(b.heard.read { $0.candidates.first { $0.contains(" \(outside) ") } })
    a.run { $0.addRemoteCandidate(reachable) }
    // Nothing tells of a check that came; the first one leaves within 20 ms.
    let due = MonotonicClock.now + .milliseconds(300)
    #expect(b.wait { _ in MonotonicClock.now > due })
    let late = try #require(a.heard.read { $0.candidates.first })
    b.run { $0.addRemoteCandidate(late) }
    let (ofA, ofB) = (a.certificate.fingerprint, b.certificate.fingerprint)
    a.run { $0.startDTLS(role: .client, fingerprint: ofB) }
    b.run { $0.startDTLS(role: .server, fingerprint: ofA) }
    #expect(a.heard.wait { $0.states.last == .connected } && b.heard.wait { $0.states.last == .connected })
  }

  @Test func aWrongFingerprintFailsBeforeAnythingPasses() throws {
    let pair = try TestPair()
    defer { pair.end() }
    let stranger = try DTLSCertificate()
    pair.exchangeCredentials()
    pair.startDTLS(aExpects: stranger.fingerprint)
    #expect(pair.a.heard.wait { $0.states.last == .failed })
    #expect(pair.b.heard.wait { $0.states.last == .failed })
    #expect(pair.a.heard.read { !$0.states.contains(.connected) })
    #expect(pair.a.on { $0.sendRTP(MediaBuffer(rtpPacket(sequence: 1))) } == false)
  }

  @Test func earlyRecordsWaitForTheSignalling() throws {
    let pair = try TestPair()
    defer { pair.end() }
    pair.exchangeCredentials()
    let fingerprint = pair.b.certificate.fingerprint
    // The client begins alone; the server learns its fingerprint only after ICE has connected.
    pair.a.run { $0.startDTLS(role: .client, fingerprint: fingerprint) }
    #expect(pair.b.wait { $0.dtls.hasEarlyRecords })
    let expected = pair.a.certificate.fingerprint
    pair.b.run { $0.startDTLS(role: .server, fingerprint: expected) }
    #expect(pair.isConnected)
  }

  @Test func tamperedAndReplayedPacketsAreDroppedAndCounted() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let packet = rtpPacket(sequence: 7)
    let protected = pair.a.on { transport -> [UInt8] in
      packet.withUnsafeBytes { transport.srtp?.protectRTP($0).map { Array($0) } ?? [] }
    }
    var tampered = try #require(protected)
    tampered[20] ^= 1
    let good = try #require(protected)
    let bad = tampered
    pair.b.run { transport in
      bad.withUnsafeBytes { transport.received($0) }
      good.withUnsafeBytes { transport.received($0) }
      good.withUnsafeBytes { transport.received($0) }
    }
    #expect(pair.b.heard.read { $0.rtp } == [packet])
    let counters = pair.b.on { $0.counters }
    #expect(counters?.srtpAuthenticationFailures == 1)
    #expect(counters?.srtpReplays == 1)
  }

  @Test func junkDoesNoHarm() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let line = try #require(pair.b.heard.read { $0.candidates.first })
    let candidate = try #require(ICECandidate(line: line))
    try UDPFlood(port: candidate.port).send(count: 10_000, seed: 1)
    // The same, past ICE's check of the source.
    pair.b.run { transport in
      var random = SeededRandom(seed: 2)
      for _ in 0..<10_000 {
        let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        bytes.withUnsafeBytes { transport.received($0) }
      }
    }
    #expect(pair.b.on { $0.state } == .connected)
    expectMedia(pair)
    let counters = pair.b.on { $0.counters }
    #expect((counters?.malformedDropped ?? 0) > 1000)
  }

  @Test func restartingICEKeepsMediaFlowing() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    for round in 1...3 {
      let old = pair.a.on { $0.localUfrag }
      let fresh = pair.a.on { transport -> (String, String) in
        let credentials = transport.restartICE()
        return (credentials.ufrag, credentials.password)
      }
      let offer = try #require(fresh)
      #expect(offer.0 != old)
      expectMedia(pair, from: UInt16(1000 * round))
      // The other side notices the new credentials by itself.
      let answer = pair.b.on { transport -> (String, String) in
        transport.setRemote(ufrag: offer.0, password: offer.1, isLite: false)
        return (transport.localUfrag, transport.localPassword)
      }
      let remote = try #require(answer)
      pair.a.run { $0.setRemote(ufrag: remote.0, password: remote.1, isLite: false) }
      expectMedia(pair, from: UInt16(1000 * round + 100))
      for end in [pair.a, pair.b] {
        #expect(end.wait { $0.carrier === $0.ice && $0.ice.isConnected })
      }
      expectMedia(pair, from: UInt16(1000 * round + 200))
    }
    #expect(pair.a.heard.read { $0.states } == [.connecting, .connected])
    #expect(pair.b.heard.read { $0.states } == [.connecting, .connected])
  }

  @Test func removedStreamsCanBeginAnew() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    expectMedia(pair, from: 40_000)
    for end in [pair.a, pair.b] { end.run { $0.removeStream(ssrc: SSRC(0x1234_5678)) } }
    // Without the removal this would be a replay.
    expectMedia(pair, from: 40_000)
  }

  @Test func closesInEveryState() throws {
    for step in 0..<6 {
      let pair = try TestPair()
      if step >= 1 { pair.a.run { $0.gather() } }
      if step >= 2 { pair.exchangeCredentials() }
      if step >= 3 { pair.startDTLS() }
      if step >= 4 { #expect(pair.isConnected) }
      if step >= 5 {
        pair.a.run { transport in
          transport.openDataChannel(label: "x")
          transport.restartICE()
        }
      }
      pair.a.run { $0.close() }
      #expect(pair.a.heard.read { $0.states.last } == .closed)
      let count = pair.a.heard.read { $0.states.count }
      pair.a.run { transport in
        transport.close()
        transport.gather()
        transport.setRemote(ufrag: "abcd", password: "abcdefghijklmnopqrstuvwx", isLite: false)
        transport.addRemoteCandidate("candidate:1 1 udp 1 127.0.0.1 9 typ host")
        transport.restartICE()
        #expect(transport.openDataChannel(label: "y") == nil)
      }
      #expect(pair.a.heard.read { $0.states.count } == count)
      pair.end()
    }
  }

  @Test func mayBeLetGoWithoutClosing() throws {
    let pair = try TestPair()
    pair.a.run { $0.openDataChannel(label: "x") }
    try #require(pair.connect())
    pair.a.letGo()
    pair.end()
  }

  @Test func mayBeClosedFromItsDelegate() throws {
    let pair = try TestPair()
    defer { pair.end() }
    let end = pair.a
    end.loop.sync { end.closesOnConnect = true }
    pair.exchangeCredentials()
    pair.startDTLS()
    #expect(pair.a.heard.wait { $0.states.last == .closed })
    // Its close_notify ends the other side.
    #expect(pair.b.heard.wait { $0.states.last == .failed })
  }

  @Test func aClosedPeerIsNoticedAtOnce() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    pair.a.run { $0.close() }
    #expect(pair.b.heard.wait(seconds: 2) { $0.states.last == .failed })
  }

  @Test func noticesSilenceAndThePeersReturn() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    // The time is ours to say; the sockets' stamps are real.
    func check(afterSeconds seconds: Int64) {
      pair.a.run { $0.checkLiveness(now: MonotonicClock.now + .seconds(seconds)) }
    }
    check(afterSeconds: 0)
    expectMedia(pair)
    #expect(pair.a.on { $0.carrier.hasHeardSomething() } == true)
    #expect(pair.a.on { $0.carrier.hasHeardSomething() } == false)
    check(afterSeconds: 9)
    #expect(pair.a.on { $0.state } == .connected)
    check(afterSeconds: 11)
    #expect(pair.a.on { $0.state } == .disconnected)
    expectMedia(pair, from: 1000)
    check(afterSeconds: 1)
    #expect(pair.a.on { $0.state } == .connected)
    _ = pair.a.on { $0.carrier.hasHeardSomething() }
    check(afterSeconds: 31)
    #expect(pair.a.on { $0.state } == .failed)
    #expect(pair.a.on { $0.failureReason } == "nothing came from the peer for 30 s")
  }

  @Test func aDescriptionFromBeforeOurRestartChangesNothing() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let remote = try #require(pair.b.on { ($0.localUfrag, $0.localPassword) })
    pair.a.run { transport in
      let fresh = transport.restartICE()
      transport.setRemote(ufrag: remote.0, password: remote.1, isLite: false)
      #expect(transport.localUfrag == fresh.ufrag)
      #expect(!transport.ice.hasRemoteCredentials)
    }
    expectMedia(pair)
  }

  @Test func anotherFingerprintEndsTheTransport() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let same = pair.b.certificate.fingerprint
    pair.a.run { $0.startDTLS(role: .server, fingerprint: same) }
    #expect(pair.a.on { $0.state } == .connected)
    pair.a.run { $0.startDTLS(role: .server, fingerprint: Fingerprint(algorithm: "sha-256", value: "00")) }
    #expect(pair.a.on { $0.state } == .failed)
  }

  @Test func gathersWithoutSignallingLoopbackWhenThereIsAnotherAddress() throws {
    let end = try TestEnd("all", .init(isControlling: true))
    defer { end.end() }
    end.run { $0.gather() }
    #expect(end.heard.wait { $0.gatheringDone == 1 })
    let candidates = end.heard.read { $0.candidates }.compactMap { ICECandidate(line: $0) }
    #expect(!candidates.isEmpty)
    if candidates.count > 1 { #expect(!candidates.contains { $0.isLoopback }) }
  }

  @Test func keepsToThePortRange() throws {
    let end = try TestEnd(
      "ports", .init(isControlling: true, localAddresses: ["127.0.0.1"], portRange: 42_000...42_009))
    defer { end.end() }
    end.run { $0.gather() }
    #expect(end.heard.wait { $0.gatheringDone == 1 })
    let ports = end.heard.read { $0.candidates }.compactMap { ICECandidate(line: $0)?.port }
    #expect(ports.count == 1)
    #expect(ports.allSatisfy { (42_000...42_009).contains($0) })
  }

  @Test func anUnknownServerNameDoesNotHoldUpGathering() throws {
    let end = try TestEnd(
      "dns",
      .init(
        iceServers: [ICEServer(urls: ["stun:no-such-host.invalid:3478"])], isControlling: true,
        localAddresses: ["127.0.0.1"]))
    defer { end.end() }
    end.run { $0.gather() }
    // Not by a moment: a description made now has them all.
    #expect(end.heard.read { $0.candidates.count } == 1)
  }
}
