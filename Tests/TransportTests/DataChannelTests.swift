import MediaCore
import Testing

@testable import Transport

@Suite(.serialized) struct DataChannelTests {
  @Test(arguments: [DTLSRole.client, .server])
  func carriesMessagesBothWays(role: DTLSRole) throws {
    let pair = try TestPair()
    defer { pair.end() }
    // Asked for before the roles are known.
    #expect(pair.a.on { $0.openDataChannel(label: "_reliable") } == .some(nil))
    #expect(pair.b.on { $0.openDataChannel(label: "_lossy", ordered: false, maxRetransmits: 0) } == .some(nil))
    try #require(pair.connect(aRole: role))
    let first: UInt16 = role == .client ? 0 : 1
    let second: UInt16 = role == .client ? 1 : 0
    for end in [pair.a, pair.b] {
      #expect(end.heard.wait { $0.opened.count == 2 })
      #expect(end.heard.read { $0.opened } == [first: "_reliable", second: "_lossy"])
    }
    for (from, to) in [(pair.a, pair.b), (pair.b, pair.a)] {
      let sizes = [1, 1200, 60_000, 65_536, 0, 7]
      from.run { transport in
        for size in sizes {
          let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
          bytes.withUnsafeBytes { #expect(transport.sendData(channel: first, bytes: $0, isText: size == 7) as Bool) }
        }
        [9, 9].withUnsafeBytes { #expect(transport.sendData(channel: second, bytes: $0, isText: false) as Bool) }
      }
      #expect(to.heard.wait { $0.messages.count == 7 })
      to.heard.read { log in
        let reliable = log.messages.filter { $0.id == first }
        #expect(reliable.map(\.bytes.count) == sizes)
        #expect(reliable.map(\.isText) == [false, false, false, false, false, true])
        #expect(reliable[2].bytes == (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      }
    }
  }

  @Test func messagesSentBeforeTheConnectionArriveInOrder() throws {
    let pair = try TestPair()
    defer { pair.end() }
    pair.startDTLS()
    let id = try #require(pair.a.on { $0.openDataChannel(label: "early") })
    let channel = try #require(id)
    pair.a.run { transport in
      for number in 0..<100 {
        [UInt8(number)].withUnsafeBytes { _ = transport.sendData(channel: channel, bytes: $0, isText: false) }
      }
    }
    pair.exchangeCredentials()
    #expect(pair.b.heard.wait { $0.messages.count == 100 })
    let first: [UInt8] = pair.b.heard.read { $0.messages.map { $0.bytes[0] } }
    #expect(first == Array(0..<100))
  }

  @Test func startsWithoutAChannel() throws {
    let pair = try TestPair()
    defer { pair.end() }
    pair.a.run { $0.startSCTP() }
    pair.b.run { $0.startSCTP() }
    try #require(pair.connect())
    pair.b.run { $0.openDataChannel(label: "later") }
    #expect(pair.a.heard.wait { $0.opened.values.contains("later") })
  }

  @Test func refusesWhatItCannotSend() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let channel = try #require(pair.a.on { $0.openDataChannel(label: "limits") } ?? nil)
    pair.a.run { transport in
      let large = [UInt8](repeating: 1, count: 65_537)
      large.withUnsafeBytes { #expect(transport.sendData(channel: channel, bytes: $0, isText: false) == false) }
      [1].withUnsafeBytes { #expect(transport.sendData(channel: 999, bytes: $0, isText: false) == false) }
      #expect(transport.openDataChannel(label: String(repeating: "x", count: 2000)) == nil)
    }
  }

  @Test func slowlyDrainingMessagesAreBoundedAndAllArrive() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let channel = try #require(pair.a.on { $0.openDataChannel(label: "bulk") } ?? nil)
    let accepted = pair.a.on { transport -> Int in
      let block = [UInt8](repeating: 5, count: 60_000)
      var count = 0
      while count < 1000, block.withUnsafeBytes({ transport.sendData(channel: channel, bytes: $0, isText: false) }) {
        count += 1
      }
      return count
    }
    let count = try #require(accepted)
    #expect((60...200).contains(count))
    #expect(pair.b.heard.wait(seconds: 20) { $0.messages.count == count })
  }

  @Test func closingAChannelIsHeardOnBothSides() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let channel = try #require(pair.a.on { $0.openDataChannel(label: "short") } ?? nil)
    #expect(pair.b.heard.wait { $0.opened[channel] == "short" })
    #expect(pair.a.heard.wait { $0.opened[channel] == "short" })
    pair.a.run { $0.closeDataChannel(channel) }
    #expect(pair.a.heard.wait { $0.closed == [channel] })
    #expect(pair.b.heard.wait { $0.closed == [channel] })
  }

  /// A peer that has the keys ends what it has keys for: its association, and neither the media nor the connection.
  @Test func anAbortEndsTheChannelsAndNotTheMedia() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let channel = try #require(pair.a.on { $0.openDataChannel(label: "brief") } ?? nil)
    #expect(pair.b.heard.wait { $0.opened[channel] == "brief" })
    // Closing aborts (RFC 9260 section 9.1).
    pair.a.run { $0.channels.close() }
    #expect(pair.b.heard.wait { $0.closed == [channel] })
    let packet = rtpPacket(sequence: 3)
    for (from, to) in [(pair.a, pair.b), (pair.b, pair.a)] {
      from.run { _ = $0.sendRTP(MediaBuffer(packet)) }
      #expect(to.heard.wait { $0.rtp == [packet] })
    }
    #expect(pair.a.on { $0.state } == .connected && pair.b.on { $0.state } == .connected)
  }

  /// Chunks with wrong tags, an INIT in mid-association with another tag, and SCTP outside of DTLS.
  @Test func strayChunksEndNoAssociation() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let channel = try #require(pair.a.on { $0.openDataChannel(label: "steady") } ?? nil)
    #expect(pair.b.heard.wait { $0.opened[channel] == "steady" })
    var packets: [[UInt8]] = []
    for tag in [UInt32(0), 1, 0xdead_beef] {
      packets.append(sctpPacket(tag: tag, chunk: [6, 0, 0, 4]))  // ABORT
      packets.append(sctpPacket(tag: tag, chunk: [6, 1, 0, 4]))  // ABORT with the T bit
      packets.append(sctpPacket(tag: tag, chunk: [7, 0, 0, 8, 0, 0, 0, 0]))  // SHUTDOWN
      packets.append(sctpPacket(tag: tag, chunk: [8, 0, 0, 4]))  // SHUTDOWN ACK
      packets.append(sctpPacket(tag: tag, chunk: [14, 1, 0, 4]))  // SHUTDOWN COMPLETE
      packets.append(sctpPacket(tag: tag, chunk: [9, 0, 0, 4]))  // ERROR
      packets.append(sctpPacket(tag: tag, chunk: [10, 0, 0, 8, 1, 2, 3, 4]))  // COOKIE ECHO
      // INIT: another tag, window, streams, TSN.
      packets.append(
        sctpPacket(tag: tag, chunk: [1, 0, 0, 20, 9, 9, 9, 9, 0, 1, 0, 0, 0, 4, 0, 4, 0, 0, 0, 1]))
    }
    let stray = packets
    pair.b.run { transport in
      for _ in 0..<50 {
        for packet in stray {
          packet.withUnsafeBytes { _ = transport.channels.receive($0) }
          packet.withUnsafeBytes { transport.received($0) }
        }
      }
    }
    let text = Array("still here".utf8)
    pair.a.run { transport in
      text.withUnsafeBytes { _ = transport.sendData(channel: channel, bytes: $0, isText: true) }
    }
    #expect(pair.b.heard.wait { $0.messages.last?.bytes == text })
    pair.b.run { transport in
      text.withUnsafeBytes { _ = transport.sendData(channel: channel, bytes: $0, isText: true) }
    }
    #expect(pair.a.heard.wait { $0.messages.last?.bytes == text })
    #expect(pair.b.heard.read { $0.closed } == [] && pair.a.heard.read { $0.closed } == [])
  }

  private func sctpPacket(tag: UInt32, chunk: [UInt8]) -> [UInt8] {
    // Port 5000 twice.
    var packet: [UInt8] = [0x13, 0x88, 0x13, 0x88]
    packet += (0..<4).map { UInt8(truncatingIfNeeded: tag >> (24 - 8 * $0)) } + [0, 0, 0, 0] + chunk
    // CRC32c (RFC 9260 appendix A), in place with its low byte first.
    var sum: UInt32 = .max
    for byte in packet {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0x82f6_3b78 : sum >> 1 }
    }
    for index in 0..<4 { packet[8 + index] = UInt8(truncatingIfNeeded: ~sum >> (8 * index)) }
    return packet
  }

  @Test func junkDoesNoHarm() throws {
    let pair = try TestPair()
    defer { pair.end() }
    try #require(pair.connect())
    let channel = try #require(pair.a.on { $0.openDataChannel(label: "tough") } ?? nil)
    #expect(pair.b.heard.wait { $0.opened[channel] == "tough" })
    pair.b.run { transport in
      var random = SeededRandomBytes(seed: 5)
      for _ in 0..<2000 {
        let bytes = random.next(upTo: 200)
        bytes.withUnsafeBytes { _ = transport.channels.receive($0) }
      }
    }
    let text = Array("hello".utf8)
    pair.a.run { transport in
      text.withUnsafeBytes { _ = transport.sendData(channel: channel, bytes: $0, isText: true) }
    }
    #expect(pair.b.heard.wait { $0.messages.last?.bytes == text })
  }
}
