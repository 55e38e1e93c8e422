import MediaCore
import Platform
import Testing

@testable import Transport

@Suite(.serialized) struct RelayTests {
  /// coturn, or nil (with the reason printed) when it is not installed.
  private func relay() -> RelayServer? {
    guard RelayServer.isInstalled else {
      print("skipped: \(RelayServer.path) is not installed")
      return nil
    }
    guard let server = RelayServer() else {
      Issue.record("\(RelayServer.path) does not answer")
      return nil
    }
    return server
  }

  private func exchange(_ pair: TestPair, from first: UInt16) {
    for (from, to) in [(pair.a, pair.b), (pair.b, pair.a)] {
      let before = to.heard.read { $0.rtp.count }
      from.run { transport in
        for number in 0..<20 { transport.sendRTP(MediaBuffer(rtpPacket(sequence: first &+ UInt16(number)))) }
      }
      #expect(to.heard.wait { $0.rtp.count == before + 20 })
    }
  }

  @Test(arguments: ["udp", "tcp"])
  func connectsThroughARelayOnly(transport: String) throws {
    guard let relay = relay() else { return }
    defer { relay.stop() }
    let pair = try TestPair(iceServers: [relay.server(transport)], policy: .relay)
    defer { pair.end() }
    let start = MonotonicClock.now
    try #require(pair.connect())
    print("relayed over \(transport) in \((MonotonicClock.now - start).milliseconds) ms")
    for end in [pair.a, pair.b] {
      let candidates = end.heard.read { $0.candidates }.compactMap { ICECandidate(line: $0) }
      #expect(!candidates.isEmpty)
      #expect(candidates.allSatisfy { $0.kind == .relay && $0.relatedAddress == nil })
    }
    let carrier: NetworkPath.Carrier = transport == "udp" ? .relayUDP : .relayTCP
    #expect(pair.a.on { $0.path } == NetworkPath(carrier, host: "127.0.0.1", port: relay.port))
    exchange(pair, from: 1)
    pair.a.run { $0.openDataChannel(label: "relayed") }
    #expect(pair.b.heard.wait { $0.opened.values.contains("relayed") })
  }

  /// The peer's candidates are there before ours are gathered: the relay must hide us all the same.
  @Test func onlyTheRelayAsksThePeer() throws {
    guard let relay = relay() else { return }
    defer { relay.stop() }
    let end = try TestEnd(
      "hidden",
      .init(
        iceServers: [relay.server("udp")], policy: .relay, isControlling: true, localAddresses: ["127.0.0.1"]))
    defer { end.end() }
    let peer = try DatagramSocket()
    let candidate = "candidate:1 1 udp 2130706431 127.0.0.1 \(peer.port) typ host"
    end.run { transport in
      transport.setRemote(ufrag: "peer", password: "a-password-of-the-peer-1", isLite: false)
      transport.addRemoteCandidate(candidate)
      transport.gather()
    }
    #expect(end.heard.wait { !$0.candidates.isEmpty })
    let relayed = try #require(end.heard.read { $0.candidates.compactMap { ICECandidate(line: $0) }.first })
    // Direct checks would come first: their pairs have the higher priority.
    var senders: [UInt16] = []
    while senders.count(where: { $0 == relayed.port }) < 2, let sender = peer.nextSender() { senders.append(sender) }
    #expect(senders.count >= 2 && Set(senders) == [relayed.port])
  }

  @Test func switchesToTheRelayByARestart() throws {
    guard let relay = relay() else { return }
    defer { relay.stop() }
    let pair = try TestPair(iceServers: [relay.server("udp")])
    defer { pair.end() }
    try #require(pair.connect())
    exchange(pair, from: 1)
    pair.a.heard.add { $0.candidates = [] }
    let fresh = pair.a.on { transport -> (String, String) in
      transport.setRelayOnly(true)
      let credentials = transport.restartICE()
      return (credentials.ufrag, credentials.password)
    }
    let offer = try #require(fresh)
    let answer = pair.b.on { transport -> (String, String) in
      transport.setRemote(ufrag: offer.0, password: offer.1, isLite: false)
      return (transport.localUfrag, transport.localPassword)
    }
    let remote = try #require(answer)
    pair.a.run { $0.setRemote(ufrag: remote.0, password: remote.1, isLite: false) }
    for end in [pair.a, pair.b] { #expect(end.wait { $0.carrier === $0.ice && $0.ice.isConnected }) }
    exchange(pair, from: 100)
    let candidates = pair.a.heard.read { $0.candidates }.compactMap { ICECandidate(line: $0) }
    #expect(!candidates.isEmpty)
    #expect(candidates.allSatisfy { $0.kind == .relay })
  }

  @Test func learnsItsReflexiveAddress() throws {
    guard let relay = relay() else { return }
    defer { relay.stop() }
    let end = try TestEnd(
      "stun",
      .init(
        iceServers: [ICEServer(urls: ["stun:127.0.0.1:\(relay.port)"])], isControlling: true,
        localAddresses: ["127.0.0.1"]))
    defer { end.end() }
    end.run { $0.gather() }
    // On loopback the reflexive address is the host's own, so that it is redundant; gathering must end all the same.
    #expect(end.heard.wait { $0.gatheringDone == 1 })
  }

  @Test func survivesTheDeathOfTheRelay() throws {
    guard let relay = relay() else { return }
    let pair = try TestPair(iceServers: [relay.server("tcp")], policy: .relay)
    defer { pair.end() }
    guard pair.connect() else {
      relay.stop()
      Issue.record("not connected")
      return
    }
    relay.stop()
    let start = MonotonicClock.now
    for end in [pair.a, pair.b] { #expect(end.heard.wait(seconds: 5) { $0.states.last == .failed }) }
    print("noticed in \((MonotonicClock.now - start).milliseconds) ms")
  }
}
