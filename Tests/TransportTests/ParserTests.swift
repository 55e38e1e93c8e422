import MediaCore
import Testing

@testable import Transport

@Suite struct ParserTests {
  private func kind(_ bytes: [UInt8]) -> PacketKind { bytes.withUnsafeBytes { PacketKind($0) } }

  @Test func tellsProtocolsByTheirFirstBytes() {
    let rest = [UInt8](repeating: 0, count: 30)
    #expect(kind([]) == .unknown)
    #expect(kind([0]) == .unknown)
    #expect(kind([0, 1] + rest) == .stun)
    #expect(kind([3, 1] + rest) == .stun)
    #expect(kind([4] + rest) == .unknown)
    #expect(kind([16] + rest) == .zrtp)
    #expect(kind([20] + rest) == .dtls)
    #expect(kind([63] + rest) == .dtls)
    #expect(kind([22, 254, 253]) == .unknown)
    #expect(kind([64] + rest) == .turnChannel)
    #expect(kind([80] + rest) == .unknown)
    #expect(kind([128, 96] + rest) == .rtp)
    #expect(kind([0x80, 111 | 0x80] + rest) == .rtp)
    #expect(kind([0x80, 200] + rest) == .rtcp)
    #expect(kind([0x81, 206] + rest) == .rtcp)
    #expect(kind([0x80, 63] + rest) == .rtp)
    #expect(kind([0x80, 64] + rest) == .rtcp)
    #expect(kind([0x80, 201, 0, 1, 0, 0, 0, 1]) == .rtcp)
    #expect(kind([0x80, 96, 0, 1, 0, 0, 0, 1]) == .unknown)
    #expect(kind([192] + rest) == .unknown)
    #expect(kind([255] + rest) == .unknown)
  }

  @Test func everyStartHasAKind() {
    for first in UInt8.min...UInt8.max {
      for second in [0, 63, 64, 95, 96, 127, 128, 192, 223, 224, 255] as [UInt8] {
        for count in 0...14 { _ = kind(Array(([first, second] + [UInt8](repeating: 7, count: 14)).prefix(count))) }
      }
    }
  }

  @Test func readsCandidates() throws {
    let host = try #require(ICECandidate(line: "candidate:1 1 UDP 2130706431 10.0.0.1 5000 typ host"))
    #expect(host.address == "10.0.0.1")
    #expect(host.port == 5000)
    #expect(host.kind == .host)
    #expect(host.line == "candidate:1 1 udp 2130706431 10.0.0.1 5000 typ host")
    let relay = try #require(
      ICECandidate(
        line: "a=candidate:842163049 1 udp 33562367 fd00::1 50000 typ relay raddr 0.0.0.0 rport 0 "
          + "generation 0 ufrag abcd network-id 1"))
    #expect(relay.kind == .relay)
    #expect(relay.address == "fd00::1")
    #expect(relay.ufrag == "abcd")
  }

  @Test(arguments: [
    "", "candidate:", "candidate:1 1 udp", "candidate:1 1 tcp 1518280447 10.0.0.1 9 typ host tcptype active",
    "candidate:1 1 tcp 1518280447 10.0.0.1 9 typ host", "candidate:1 1 sctp 1 10.0.0.1 9 typ host",
    "candidate:1 2 udp 1 10.0.0.1 5000 typ host", "candidate:1 1 udp 0 10.0.0.1 5000 typ host",
    "candidate:1 1 udp 99999999999 10.0.0.1 5000 typ host", "candidate:1 1 udp 1 10.0.0.1 0 typ host",
    "candidate:1 1 udp 1 10.0.0.1 70000 typ host", "candidate:1 1 udp 1 abc.local 5000 typ host",
    "candidate:1 1 udp 1 example.org 5000 typ host", "candidate:1 1 udp 1 10.0.0.1 5000 typ other",
    "candidate:1 1 udp 1 10.0.0.1 5000 host typ", "candidate:\u{0} 1 udp 1 ::%s 5000 typ host",
  ])
  func ignoresCandidatesThatItCannotUse(line: String) { #expect(ICECandidate(line: line) == nil) }

  @Test func readsAndWritesPortsThatListen() throws {
    let line = "candidate:1 1 tcp 1518280447 10.0.0.1 7881 typ host tcptype passive"
    let candidate = try #require(ICECandidate(line: line))
    #expect(candidate.transport == .tcp && candidate.port == 7881 && candidate.line == line)
  }

  @Test func readsServerURLs() {
    #expect(ICEServerAddress(url: "stun:stun.example.org")?.port == 3478)
    #expect(ICEServerAddress(url: "STUN:10.0.0.1:19302")?.port == 19302)
    #expect(ICEServerAddress(url: "turn:h:5349?transport=tcp")?.kind == .turnTCP)
    #expect(ICEServerAddress(url: "turn:h?transport=udp")?.kind == .turnUDP)
    #expect(ICEServerAddress(url: "turns:h") == ICEServerAddress(url: "turns:h:5349?transport=tcp"))
    #expect(ICEServerAddress(url: "turns:h:443")?.kind == .turnTLS)
    #expect(ICEServerAddress(url: "turn:[2001:db8::1]:99")?.host == "2001:db8::1")
    #expect(ICEServerAddress(url: "turn:[2001:db8::1]")?.port == 3478)
    for bad in [
      "", "stun", "stun:", "http://x",
      "turns:h?transport=udp", "stuns:h", "stun:h:", "stun:h:0", "stun:h:99999", "turn:[::1",
      "turn:h?transport=sctp", "turn::5", "stun:h:1:2",
    ] {
      #expect(ICEServerAddress(url: bad) == nil, "\(bad)")
    }
  }

  @Test func dataChannelMessagesRoundTrip() {
    for message in [
      DataChannelMessage.open(label: "_reliable", ordered: true, maxRetransmits: nil),
      .open(label: "_lossy", ordered: false, maxRetransmits: 0), .open(label: "", ordered: true, maxRetransmits: 300),
      .acknowledgement,
    ] {
      #expect(DataChannelMessage(message.bytes) == message)
    }
  }

  @Test func malformedDataChannelMessagesAreRefused() {
    let whole = DataChannelMessage.open(label: "label", ordered: true, maxRetransmits: nil).bytes
    for count in 0..<whole.count { #expect(DataChannelMessage(Array(whole.prefix(count))) == nil) }
    var random = SeededRandom(seed: 4)
    for _ in 0..<10_000 {
      var bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      if !bytes.isEmpty, Bool.random(using: &random) { bytes[0] = 3 }
      _ = DataChannelMessage(bytes)
    }
  }
}
