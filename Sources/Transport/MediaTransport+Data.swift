// Sendable: only carried by the SCTP thread; read on the transport's loop.
private final class WeakTransport: @unchecked Sendable {
  weak var transport: MediaTransport?
  init(_ transport: MediaTransport) { self.transport = transport }
}

extension MediaTransport {
  private static let maximumChannels = 512
  private static let maximumLabel = 1024
  // A DTLS 1.2 record around an SCTP packet: header 13, explicit nonce 8, tag 16; rounded up.
  private static let recordOverhead = 40

  /// Starts the SCTP association as soon as DTLS is connected (RFC 8841); call it when an `m=application` section has
  /// been negotiated. `remotePort` is the peer's `a=sctp-port`; ours is always 5000.
  public func startSCTP(remotePort: UInt16 = 5000) {
    guard state != .closed, !wantsSCTP else { return }
    wantsSCTP = true
    remoteSCTPPort = remotePort
    beginSCTP()
  }

  /// Opens a data channel in-band (RFC 8832). Starts SCTP if need be. The stream id, or nil while the DTLS role is
  /// not known: then `channelOpened` tells it. Messages may be sent on the id at once. Nil also when the label is
  /// longer than 1024 bytes or 512 channels are open.
  @discardableResult
  public func openDataChannel(label: String, ordered: Bool = true, maxRetransmits: UInt16? = nil) -> UInt16? {
    guard state != .closed, label.utf8.count <= MediaTransport.maximumLabel,
      channels.count + queuedOpens.count < MediaTransport.maximumChannels
    else { return nil }
    guard dtlsRole != .auto else {
      queuedOpens.append(QueuedOpen(label: label, ordered: ordered, maxRetransmits: maxRetransmits))
      return nil
    }
    let id = nextChannel
    guard id < 65_534 else { return nil }
    nextChannel += 2
    channels.insert(id)
    startSCTP(remotePort: remoteSCTPPort)
    association().open(id, label: label, ordered: ordered, maxRetransmits: maxRetransmits)
    return id
  }

  /// Sends a message of at most 65,536 bytes; before the channel is open it waits. False when it is too large, the
  /// channel is unknown, or more than 4 MiB are waiting.
  @discardableResult
  public func sendData(channel: UInt16, bytes: UnsafeRawBufferPointer, isText: Bool) -> Bool {
    guard let sctp, channels.contains(channel), bytes.count <= SCTPAssociation.maximumOutgoing else { return false }
    return sctp.send(channel, bytes: Array(bytes), isText: isText)
  }

  /// Closes a data channel (RFC 8831 section 6.7); the delegate hears `channelClosed`.
  public func closeDataChannel(_ id: UInt16) {
    guard channels.contains(id) else { return }
    sctp?.closeChannel(id)
  }

  func beginSCTP() {
    guard wantsSCTP, dtls?.isConnected == true else { return }
    association().start(remotePort: remoteSCTPPort, mtu: configuration.mtu - MediaTransport.recordOverhead)
  }

  func receivedSCTP(_ packet: UnsafeRawBufferPointer) {
    // SCTP's common header.
    guard packet.count >= 12 else {
      counters.malformedDropped &+= 1
      return
    }
    // A peer that begins before `startSCTP` is answered all the same.
    startSCTP(remotePort: remoteSCTPPort)
    sctp?.receive(packet: Array(packet))
  }

  private func association() -> SCTPAssociation {
    if let sctp { return sctp }
    let box = WeakTransport(self)
    let loop = loop
    let made = SCTPAssociation(isDTLSClient: dtlsRole == .client) { event in
      loop.post { box.transport?.handle(event) }
    }
    sctp = made
    return made
  }

  private func handle(_ event: SCTPAssociation.Event) {
    guard state != .closed else { return }
    switch event {
    case .packet(let packet): packet.withUnsafeBytes { _ = dtls?.send($0) }
    case .opened(let id, let label):
      channels.insert(id)
      delegate?.transport(self, channelOpened: id, label: label)
    case .message(let id, let bytes, let isText):
      bytes.withUnsafeBytes { delegate?.transport(self, channel: id, received: $0, isText: isText) }
    case .closed(let id):
      guard channels.remove(id) != nil else { return }
      delegate?.transport(self, channelClosed: id)
    case .dropped: counters.dataMessagesDropped &+= 1
    }
  }
}
