@testable import Transport

/// Feeds datagrams to DTLS as somebody without keys can: to both roles, at the beginning of the handshake and when it is
/// complete. Nothing may come of them. The first byte chooses; then come datagrams, each behind its length of two bytes.
func fuzzDTLS(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let isClient = choice & 1 == 1
  let expectsNothing: (DTLSConnection.Event) -> Void = { event in
    preconditionFailure("a forged record led to \(event)")
  }
  let target: DTLSConnection
  if choice & 2 == 0 {
    guard let fresh = DTLSPair.make(isClient: isClient, output: { _ in }) else { return }
    if isClient { fresh.start(expectsNothing) }
    target = fresh
  } else {
    target = isClient ? DTLSPair.connected.client : DTLSPair.connected.server
  }
  var offset = 1
  while offset + 2 <= bytes.count {
    let count = min(Int(bytes[offset]) << 8 | Int(bytes[offset + 1]), bytes.count - offset - 2)
    target.receive(UnsafeRawBufferPointer(rebasing: bytes[(offset + 2)..<(offset + 2 + count)]), expectsNothing)
    offset += 2 + count
  }
  guard choice & 2 != 0 else { return }
  DTLSPair.connected.check(fromClient: !isClient)
}

/// Two connected ends.
private final class DTLSPair {
  // The fuzzer runs one thread.
  nonisolated(unsafe) static let connected = DTLSPair()
  private(set) var client: DTLSConnection
  private(set) var server: DTLSConnection
  private final class Mail {
    var toServer: [[UInt8]] = []
    var toClient: [[UInt8]] = []
  }
  private let mail: Mail
  private static let certificate = try? DTLSCertificate()

  static func make(isClient: Bool, output: @escaping (UnsafeRawBufferPointer) -> Void) -> DTLSConnection? {
    guard let certificate else { return nil }
    return try? DTLSConnection(
      certificate: certificate, isClient: isClient, expected: certificate.fingerprint, mtu: 1200,
      profiles: SRTPProfile.allCases, output: output)
  }

  init() {
    let mail = Mail()
    guard let client = DTLSPair.make(isClient: true, output: { mail.toServer.append(Array($0)) }),
      let server = DTLSPair.make(isClient: false, output: { mail.toClient.append(Array($0)) })
    else { preconditionFailure("no connection") }
    (self.client, self.server, self.mail) = (client, server, mail)
    client.start { _ in }
    for _ in 0..<10 where !(client.isConnected && server.isConnected) { deliver { _ in } }
    precondition(client.isConnected && server.isConnected, "the handshake failed")
  }

  private func deliver(_ handler: (DTLSConnection.Event) -> Void) {
    let (forServer, forClient) = (mail.toServer, mail.toClient)
    (mail.toServer, mail.toClient) = ([], [])
    for datagram in forServer { datagram.withUnsafeBytes { server.receive($0, handler) } }
    for datagram in forClient { datagram.withUnsafeBytes { client.receive($0, handler) } }
  }

  /// A message passes.
  func check(fromClient: Bool) {
    var heard = false
    let sent = ([1, 2, 3] as [UInt8]).withUnsafeBytes { (fromClient ? client : server).send($0) }
    deliver { if case .data(let data) = $0 { heard = data.elementsEqual([1, 2, 3] as [UInt8]) } }
    precondition(sent && heard, "a message does not pass any more")
  }
}
