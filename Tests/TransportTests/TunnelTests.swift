import CNice
import Glibc
import MediaCore
import Testing

@testable import Transport

/// Ways over TCP: datagrams in a stream, and the port that many agents share.
struct TunnelTests {
  private func steps(_ framing: StreamFraming, _ stream: [UInt8]) -> (datagrams: [[UInt8]], rest: StreamFraming.Step) {
    stream.withUnsafeBytes { stream in
      var found: [[UInt8]] = []
      var offset = 0
      while true {
        switch framing.next(in: stream, from: offset) {
        case .datagram(let range, let next):
          found.append(Array(stream[range]))
          offset = next
        case let rest: return (found, rest)
        }
      }
    }
  }

  /// A Binding request with these attributes.
  private func request(_ attributes: [(type: UInt8, value: [UInt8])]) -> [UInt8] {
    let body = attributes.flatMap { entry in
      [0, entry.type, 0, UInt8(entry.value.count)] + entry.value
        + [UInt8](repeating: 0, count: -entry.value.count & 3)
    }
    return [0, 1, 0, UInt8(body.count), 0x21, 0x12, 0xa4, 0x42] + [UInt8](repeating: 9, count: 12) + body
  }

  @Test func datagramsBehindTheirLengthsComeOutAsTheyWentIn() {
    var stream: [UInt8] = []
    let datagrams: [[UInt8]] = [[1], Array(repeating: 7, count: 300), [2, 3, 4]]
    for datagram in datagrams { #expect(datagram.withUnsafeBytes { StreamFraming.length.append($0, to: &stream) }) }
    #expect(steps(.length, stream) == (datagrams, .incomplete))
    for cut in 0..<stream.count {
      let (found, rest) = steps(.length, Array(stream.prefix(cut)))
      #expect(found == Array(datagrams.prefix(found.count)) && found.count < 3 && rest == .incomplete)
    }
  }

  @Test func turnMessagesKnowTheirLengths() {
    let check = request([(6, [1, 2, 3])])
    let data: [UInt8] = [0x40, 1, 0, 5, 1, 2, 3, 4, 5]
    var stream: [UInt8] = []
    for datagram in [data, check, data] {
      #expect(datagram.withUnsafeBytes { StreamFraming.turn.append($0, to: &stream) })
    }
    #expect(stream.count == 12 + check.count + 12)
    #expect(steps(.turn, stream) == ([data, check, data], .incomplete))
  }

  @Test(arguments: [
    [0x80, 0, 0, 0] as [UInt8], [0xc0, 0, 0, 0], [0, 1, 0, 3, 0x21, 0x12, 0xa4, 0x42], [0, 1, 0, 4, 1, 2, 3, 4],
  ])
  func whatIsNeitherStunNorChannelDataEndsTheStream(_ bytes: [UInt8]) {
    #expect(steps(.turn, bytes).rest == .malformed)
  }

  @Test func datagramsThatCannotBeFramedAreRefused() {
    var stream: [UInt8] = []
    let large = [UInt8](repeating: 0, count: StreamFraming.maximumDatagram + 1)
    #expect(!large.withUnsafeBytes { StreamFraming.length.append($0, to: &stream) })
    #expect(!StreamFraming.length.append(UnsafeRawBufferPointer(start: nil, count: 0), to: &stream))
    #expect(stream.isEmpty)
  }

  @Test func aCheckSaysWhichAgentIsMeant() {
    func ufrag(_ bytes: [UInt8]) -> String? { bytes.withUnsafeBytes { BindingRequest.localUfrag($0) } }
    let good = request([(0x24, [1, 2, 3, 4]), (6, Array("ours:theirs".utf8))])
    #expect(ufrag(good) == "ours")
    for cut in 0..<good.count { #expect(ufrag(Array(good.prefix(cut))) == nil) }
    #expect(ufrag(request([(6, Array("ours".utf8))])) == nil)
    #expect(ufrag(request([(6, [0xff, 0x3a])])) == nil)
    #expect(ufrag([1] + good.dropFirst()) == nil)
    var lying = good
    lying[23] = 250
    #expect(ufrag(lying) == nil)
  }

  /// One side listens, and the other knows of nothing but that port.
  @Test func mediaConnectOverTCPWhenNothingElseIsKnown() throws {
    let loop = MediaLoop(name: "listener")
    let listener = try #require(ICEListener(loop: loop, address: "127.0.0.1", port: 0))
    let pair = try TestPair(listener: listener)
    pair.a.loop.sync { pair.a.peer = nil }
    pair.b.loop.sync { pair.b.tellsOnly = " tcp " }
    defer {
      pair.a.end()
      pair.b.end()
      listener.close()
      loop.stop()
    }
    pair.exchangeCredentials()
    pair.startDTLS()
    #expect(pair.a.wait { $0.state == .connected } && pair.b.wait { $0.state == .connected })
    #expect(pair.a.on { $0.path } == NetworkPath(.tcp, host: "127.0.0.1", port: listener.port))
    #expect(pair.b.heard.read { $0.candidates.contains { $0.contains(" \(listener.port) typ host tcptype passive") } })
  }

  /// Nobody listens at the only address that is known: the reason is told once, and in the end.
  @Test func aPortWhereNobodyListensIsNamed() throws {
    let end = try TestEnd("alone", .init(isControlling: true, localAddresses: ["127.0.0.1"]))
    defer { end.end() }
    let free = try #require(SocketAddress("127.0.0.1", port: 0))
    let taken = try #require(free.makeSocket(isStream: true))
    defer { close(taken) }
    #expect(free.with { bind(taken, $0, $1) } == 0)
    let port = try #require(SocketAddress(of: taken)).port
    end.run {
      $0.gather()
      $0.setRemote(ufrag: "theirs", password: "0123456789abcdefghijkl", isLite: true)
      $0.addRemoteCandidate("candidate:1 1 tcp 1 127.0.0.1 \(port) typ host tcptype passive")
    }
    #expect(end.heard.wait { !$0.failedPaths.isEmpty })
    #expect(end.heard.read { $0.failedPaths } == ["TCP, 127.0.0.1:\(port): Connection refused"])
  }

  /// A port of a peer that takes connections and says nothing; and how many have come until now.
  private func waitingPort() throws -> (descriptor: Int32, port: UInt16) {
    let free = try #require(SocketAddress("127.0.0.1", port: 0))
    let descriptor = try #require(free.makeSocket(isStream: true))
    #expect(free.with { bind(descriptor, $0, $1) } == 0 && listen(descriptor, 8) == 0)
    return (descriptor, try #require(SocketAddress(of: descriptor)).port)
  }

  /// libnice takes a tunnel for UDP, and the peer would take its check for UDP's too and stay with TCP for good.
  @Test func aCheckOverTCPSaysThatItsWayIsWorseThanUDP() throws {
    let end = try TestEnd("alone", .init(isControlling: false, localAddresses: ["127.0.0.1"]))
    defer { end.end() }
    let (descriptor, port) = try waitingPort()
    defer { close(descriptor) }
    end.run {
      $0.gather()
      $0.setRemote(ufrag: "theirs", password: "0123456789abcdefghijkl", isLite: false)
      $0.addRemoteCandidate("candidate:1 1 tcp 1 127.0.0.1 \(port) typ host tcptype passive")
    }
    #expect(poll(descriptor, milliseconds: 10_000))
    let taken = accept(descriptor, nil, nil)
    defer { close(taken) }
    #expect(poll(taken, milliseconds: 10_000))
    var frame = [UInt8](repeating: 0, count: 2048)
    let count = recv(taken, &frame, frame.count, 0)
    try #require(count > 22 && count >= 2 + (Int(frame[0]) << 8 | Int(frame[1])))
    let check = Array(frame[2..<2 + (Int(frame[0]) << 8 | Int(frame[1]))])
    #expect(check.withUnsafeBytes { BindingRequest.localUfrag($0) } == "theirs")
    // PRIORITY and its length.
    let found = (20..<check.count - 8).first { Array(check[$0..<$0 + 4]) == [0, 0x24, 0, 4] }
    let at = try #require(found) + 4
    let priority = check[at..<at + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    // The type preference (RFC 8445 section 5.1.2.1): what UDP has without a relay is 100 or more.
    #expect(priority >> 24 == 80)
  }

  @Test func aCheckKeepsEverythingButItsPriority() {
    let check = request([(6, Array("theirs:ours1".utf8)), (0x24, [110, 0, 0, 255]), (0x25, [])])
    func ranked(_ check: [UInt8], room: Int = 1024) -> [UInt8] {
      var out = [UInt8](repeating: 0, count: room)
      let length = cnice_ranked(check, check.count, "password", 0x5000_00ff, &out, room)
      return Array(out.prefix(length))
    }
    let made = ranked(check)
    // The message's length grows by MESSAGE-INTEGRITY (24 bytes) and FINGERPRINT (8).
    #expect(made.count == check.count + 32 && Int(made[3]) == made.count - 20)
    let expected = request([(6, Array("theirs:ours1".utf8)), (0x24, [0x50, 0, 0, 255]), (0x25, [])])
    #expect(made[4..<check.count] == expected[4...])
    #expect(ranked(made) == made)
    for cut in 0..<made.count { #expect(ranked(Array(made.prefix(cut))).isEmpty) }
    #expect(ranked(check, room: check.count).isEmpty)
    var lying = check
    lying[23] = 250
    #expect(ranked(lying).isEmpty)
  }

  /// Where datagrams come but checks are lost, a connection would lose its packets too, and wait for each.
  @Test(arguments: [true, false])
  func connectionsAreOpenedSoonerWhenNothingIsHeard(_ hears: Bool) throws {
    let end = try TestEnd("alone", .init(isControlling: false, localAddresses: ["127.0.0.1"]))
    defer { end.end() }
    let (descriptor, port) = try waitingPort()
    defer { close(descriptor) }
    let socket = try DatagramSocket()
    end.run {
      $0.gather()
      $0.setRemote(ufrag: "theirs", password: "0123456789abcdefghijkl", isLite: false)
      $0.addRemoteCandidate("candidate:1 1 tcp 1 127.0.0.1 \(port) typ host tcptype passive")
    }
    #expect(end.heard.wait { !$0.candidates.isEmpty })
    let fields = end.heard.read { $0.candidates[0] }.split(separator: " ")
    let target = try #require(UInt16(fields[5]))
    if hears {
      // More than one, over half a second: what comes while candidates are gathered does not count.
      for _ in 0..<5 {
        socket.send([UInt8](repeating: 0x80, count: 20), to: target)
        usleep(100_000)
      }
    }
    #expect(poll(descriptor, milliseconds: hears ? 2_000 : 10_000) != hears)
  }
}

/// Waits until there is something to read or to accept; false when there is not.
private func poll(_ descriptor: Int32, milliseconds: Int32) -> Bool {
  var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return Glibc.poll(&entry, 1, milliseconds) == 1
}
