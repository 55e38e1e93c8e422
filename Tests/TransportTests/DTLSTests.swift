import Testing

@testable import Transport

@Suite struct DTLSTests {
  @Test(arguments: ["sha-1", "sha-224", "sha-256", "sha-384", "sha-512"])
  func acceptsEveryHashFunction(algorithm: String) throws {
    #expect(try Handshake(algorithm: algorithm).run())
  }

  @Test(arguments: [false, true])
  func acceptsAClientHelloInSeveralDatagrams(reversed: Bool) throws {
    let handshake = try Handshake()
    handshake.helloFragment = 40
    handshake.reversesHello = reversed
    #expect(handshake.run())
    #expect(handshake.helloDatagrams > 3)
  }

  @Test func keepsToTheMTU() throws {
    let handshake = try Handshake(mtu: 400)
    #expect(handshake.run())
    #expect(handshake.largestDatagram <= 400)
    #expect(handshake.datagrams > 4)
  }

  @Test func retransmitsALostFlight() throws {
    let handshake = try Handshake()
    handshake.losesFirstFlight = true
    #expect(!handshake.run())
    // The clock is OpenSSL's own: 200 ms.
    #expect(handshake.client?.timeout ?? 0 > 0)
    #expect(handshake.client?.timeout ?? .max <= 200_000_000)
  }

  @Test func certificatesDiffer() throws {
    let first = try DTLSCertificate()
    let second = try DTLSCertificate()
    #expect(first.fingerprint != second.fingerprint)
    #expect(first.fingerprint.algorithm == "sha-256")
    #expect(first.fingerprint.value.split(separator: ":").count == 32)
    #expect(first.fingerprint.value == first.fingerprint.value.uppercased())
  }

  @Test func survivesDamagedRecords() throws {
    let handshake = try Handshake()
    #expect(handshake.run())
    var damaged: [UInt8] = [23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 9, 0, 4, 1, 2, 3, 4]
    for position in damaged.indices {
      damaged[position] ^= 0x55
      damaged.withUnsafeBytes { handshake.server?.receive($0) { _ in Issue.record("an event came") } }
      damaged[position] ^= 0x55
    }
    #expect(handshake.server?.isConnected == true)
    let message: [UInt8] = Array("still here".utf8)
    #expect(handshake.send(fromClient: message) == message)
  }
}

/// Two DTLS ends without a network.
private final class Handshake {
  var helloFragment: Int?
  var reversesHello = false
  var losesFirstFlight = false
  private(set) var client: DTLSConnection?
  private(set) var server: DTLSConnection?
  private(set) var datagrams = 0
  private(set) var largestDatagram = 0
  private(set) var helloDatagrams = 0
  private var toServer: [[UInt8]] = []
  private var toClient: [[UInt8]] = []
  private var clientKeys: SRTPKeys?
  private var serverKeys: SRTPKeys?

  init(algorithm: String = "sha-256", mtu: Int = 1200) throws {
    let certificates = (client: try DTLSCertificate(), server: try DTLSCertificate())
    client = try DTLSConnection(
      certificate: certificates.client, isClient: true, expected: try certificates.server.hash(algorithm), mtu: mtu,
      profiles: SRTPProfile.allCases
    ) { [unowned self] in
      self.count($0)
      self.toServer.append(Array($0))
    }
    server = try DTLSConnection(
      certificate: certificates.server, isClient: false, expected: try certificates.client.hash(algorithm), mtu: mtu,
      profiles: SRTPProfile.allCases
    ) { [unowned self] in
      self.count($0)
      self.toClient.append(Array($0))
    }
  }

  /// True when both ends are connected with the same keys.
  func run() -> Bool {
    client?.start { _ in }
    if let helloFragment { toServer = toServer.flatMap { Handshake.fragments($0, size: helloFragment) } }
    if reversesHello { toServer.reverse() }
    if losesFirstFlight { toServer = [] }
    helloDatagrams = toServer.count
    for _ in 0..<20 {
      let (forServer, forClient) = (toServer, toClient)
      toServer = []
      toClient = []
      for datagram in forServer {
        datagram.withUnsafeBytes { server?.receive($0) { if case .connected(let keys) = $0 { serverKeys = keys } } }
      }
      for datagram in forClient {
        datagram.withUnsafeBytes { client?.receive($0) { if case .connected(let keys) = $0 { clientKeys = keys } } }
      }
      if let clientKeys, let serverKeys {
        return clientKeys.client == serverKeys.client && clientKeys.server == serverKeys.server
          && clientKeys.client != clientKeys.server
      }
    }
    return false
  }

  /// What the server reads of a message that the client sends.
  func send(fromClient bytes: [UInt8]) -> [UInt8]? {
    toServer = []
    guard bytes.withUnsafeBytes({ client?.send($0) }) == true else { return nil }
    var result: [UInt8]?
    for datagram in toServer {
      datagram.withUnsafeBytes { server?.receive($0) { if case .data(let data) = $0 { result = Array(data) } } }
    }
    return result
  }

  private func count(_ datagram: UnsafeRawBufferPointer) {
    datagrams += 1
    largestDatagram = max(largestDatagram, datagram.count)
  }

  /// One unencrypted handshake record cut into fragments of its message (RFC 6347 section 4.2.3).
  private static func fragments(_ record: [UInt8], size: Int) -> [[UInt8]] {
    let header = Array(record[0..<13])
    let message = Array(record[13..<25])
    let body = Array(record[25...])
    return stride(from: 0, to: body.count, by: size).enumerated().map { number, offset in
      let part = Array(body[offset..<min(offset + size, body.count)])
      var fragmentHeader = message
      fragmentHeader.replaceSubrange(6..<9, with: [0, UInt8(offset >> 8), UInt8(offset & 0xff)])
      fragmentHeader.replaceSubrange(9..<12, with: [0, UInt8(part.count >> 8), UInt8(part.count & 0xff)])
      var recordHeader = header
      // Numbers that the client does not come to, but near enough for the window against replays.
      recordHeader[10] = UInt8(20 + number)
      let length = part.count + 12
      recordHeader.replaceSubrange(11..<13, with: [UInt8(length >> 8), UInt8(length & 0xff)])
      return recordHeader + fragmentHeader + part
    }
  }
}
