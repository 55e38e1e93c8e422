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
    #expect(handshake.client?.timeout ?? .zero > .zero)
    #expect(handshake.client?.timeout ?? .forever <= .milliseconds(200))
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
