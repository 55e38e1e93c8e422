@testable import Transport

/// Two DTLS ends without a network.
final class Handshake {
  var helloFragment: Int?
  var reversesHello = false
  var losesFirstFlight = false
  private(set) var client: DTLSConnection?
  private(set) var server: DTLSConnection?
  private(set) var datagrams = 0
  private(set) var largestDatagram = 0
  private(set) var helloDatagrams = 0
  /// Datagrams that an attacker sends before each genuine one; the argument says to whom.
  var forgeries: ((_ toServer: Bool) -> [[UInt8]])?
  /// Takes a genuine datagram away.
  var loses: ((_ datagram: [UInt8], _ toServer: Bool) -> Bool)?
  private(set) var ends: [String] = []
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
        guard loses?(datagram, true) != true else { continue }
        for forged in forgeries?(true) ?? [] { give(forged, toServer: true) }
        give(datagram, toServer: true)
      }
      for datagram in forClient {
        guard loses?(datagram, false) != true else { continue }
        for forged in forgeries?(false) ?? [] { give(forged, toServer: false) }
        give(datagram, toServer: false)
      }
      if let clientKeys, let serverKeys {
        return clientKeys.client == serverKeys.client && clientKeys.server == serverKeys.server
          && clientKeys.client != clientKeys.server
      }
    }
    return false
  }

  /// One end takes a datagram.
  func give(_ datagram: [UInt8], toServer: Bool) {
    datagram.withUnsafeBytes { (toServer ? server : client)?.receive($0) { heard($0, atServer: toServer) } }
  }

  /// One end gives up.
  func giveUp(server isServer: Bool) {
    (isServer ? server : client)?.giveUp { heard($0, atServer: isServer) }
  }

  private func heard(_ event: DTLSConnection.Event, atServer: Bool) {
    switch event {
    case .connected(let keys): if atServer { serverKeys = keys } else { clientKeys = keys }
    case .data: break
    case .closed: ends.append((atServer ? "server" : "client") + " closed")
    case .failed(let reason): ends.append((atServer ? "server" : "client") + " failed: " + reason)
    }
  }

  /// What the server reads of a message that the client sends.
  func send(fromClient bytes: [UInt8]) -> [UInt8]? {
    toServer = []
    guard bytes.withUnsafeBytes({ client?.send($0) }) == true else { return nil }
    return read(toServer, by: server)
  }

  /// What the client reads of a message that the server sends.
  func send(fromServer bytes: [UInt8]) -> [UInt8]? {
    toClient = []
    guard bytes.withUnsafeBytes({ server?.send($0) }) == true else { return nil }
    return read(toClient, by: client)
  }

  /// The datagrams that one end has sent and nobody has taken; gone afterwards.
  func takeSent(byServer: Bool) -> [[UInt8]] {
    defer { if byServer { toClient = [] } else { toServer = [] } }
    return byServer ? toClient : toServer
  }

  private func read(_ datagrams: [[UInt8]], by end: DTLSConnection?) -> [UInt8]? {
    var result: [UInt8]?
    for datagram in datagrams {
      datagram.withUnsafeBytes { end?.receive($0) { if case .data(let data) = $0 { result = Array(data) } } }
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
