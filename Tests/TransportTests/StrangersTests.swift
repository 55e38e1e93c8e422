import MediaCore
import Testing

@testable import Transport

/// Datagrams of others than the peer, at a connected transport's own sockets.
@Suite(.serialized) struct StrangersTests {
  /// A check of the peer's that somebody has seen is sent again from many addresses: its integrity is right.
  @Test func checksThatAreSentAgainFromManyAddressesPushNobodyOut() throws {
    let pair = try TestPair()
    defer { pair.end() }
    let lure = try DatagramSocket()
    let lurePort = lure.port
    pair.a.run { $0.addRemoteCandidate("candidate:7 1 udp 2130706431 127.0.0.1 \(lurePort) typ host") }
    try #require(pair.connect())
    let line = try #require(pair.b.heard.read { $0.candidates.first })
    let port = try #require(ICECandidate(line: line)).port
    let check = try #require(lure.next())
    try #require(PacketKind(check) == .stun)
    let strangers = try (0..<200).map { _ in try DatagramSocket() }
    // One by one: what comes at once is learned at once, before the kernel can be told.
    for (index, stranger) in strangers.prefix(30).enumerated() {
      stranger.send(check, to: port)
      #expect(pair.b.wait { $0.ice.learned >= min(index + 1, 24) })
    }
    for round in 0..<5 {
      for stranger in strangers { stranger.send(check, to: port) }
      // Behind what they sent in the same queue, and with nothing of the peer's in between.
      let packet = rtpPacket(sequence: UInt16(round))
      pair.a.run { _ = $0.sendRTP(MediaBuffer(packet)) }
      #expect(pair.b.heard.wait(seconds: 5) { $0.rtp.last == packet })
    }
    #expect((pair.b.on { $0.ice.learned } ?? .max) < 30)
    #expect(pair.b.on { $0.state } == .connected)
    // Who is told by the peer may still ask: a restart of the peer's candidates is nothing else.
    let told = strangers[199]
    let toldPort = told.port
    pair.b.run { $0.addRemoteCandidate("candidate:8 1 udp 99999 127.0.0.1 \(toldPort) typ host") }
    told.send(check, to: port)
    var answer = told.next()
    while let other = answer, other.prefix(2) != [1, 1] { answer = told.next() }
    #expect(answer != nil)
  }

  /// STUN without integrity, with a wrong one, errors and lying lengths, from strangers: nothing comes of them.
  @Test func messagesWithoutIntegrityAreNotHeeded() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let line = try #require(pair.b.heard.read { $0.candidates.first })
    let port = try #require(ICECandidate(line: line)).port
    let strangers = try (0..<60).map { _ in try DatagramSocket() }
    var random = SeededRandom(seed: 6)
    for stranger in strangers {
      for code in [300, 400, 401, 403, 420, 438, 487, 500] {
        var message: [UInt8] = [1, 0x11, 0, 8, 0x21, 0x12, 0xa4, 0x42]
        message += (0..<12).map { _ in UInt8.random(in: 0...255, using: &random) }
        message += [0, 9, 0, 4, 0, 0, UInt8(code / 100), UInt8(code % 100)]
        stranger.send(message, to: port)
        message[1] = 1
        message[0] = 0
        stranger.send(message, to: port)
        message[3] = UInt8.random(in: 0...255, using: &random)
        stranger.send(message, to: port)
      }
    }
    let packet = rtpPacket(sequence: 5)
    pair.a.run { _ = $0.sendRTP(MediaBuffer(packet)) }
    #expect(pair.b.heard.wait { $0.rtp == [packet] })
    #expect(pair.b.on { $0.ice.learned } == 0)
    #expect(pair.a.on { $0.state } == .connected && pair.b.on { $0.state } == .connected)
  }
}

extension PacketKind {
  /// Of an array.
  fileprivate init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { PacketKind($0) } }
}
