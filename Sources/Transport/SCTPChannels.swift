// Sendable: only carried by the SCTP thread; read on the transport's loop.
private final class WeakChannels: @unchecked Sendable {
  weak var channels: SCTPChannels?
  init(_ channels: SCTPChannels) { self.channels = channels }
}

/// The data channels of one transport, and the SCTP association below them (RFC 8831). Confined to the transport's loop.
///
/// | state | leaves it |
/// | --- | --- |
/// | idle | `start`, `open`, or a packet of the peer → wanted |
/// | wanted | DTLS is connected: `begin` → running |
/// | running | |
///
/// Channels that are opened before the DTLS role is known wait: the role decides whether their ids are even or odd (RFC
/// 8832 section 6).
final class SCTPChannels {
  /// A channel that is to be opened.
  struct Request {
    var label: String
    var ordered: Bool
    var maxRetransmits: UInt16?
  }

  private static let maximumChannels = 512
  private static let maximumLabel = 1024
  // A DTLS 1.2 record around an SCTP packet: header 13, explicit nonce 8, tag 16; rounded up.
  private static let recordOverhead = 40

  weak var owner: MediaTransport?
  private var association: SCTPAssociation?
  private var isWanted = false
  private var remotePort: UInt16 = 5000
  private var ids: Set<UInt16> = []
  private var next: UInt16 = 0
  private var waiting: [Request] = []
  private let mtu: Int

  /// `mtu`: bytes of the largest datagram that may be sent.
  init(mtu: Int) { self.mtu = mtu - Self.recordOverhead }

  /// SCTP is wanted. Later calls change nothing.
  func start(remotePort: UInt16? = nil) {
    guard !isWanted else { return }
    isWanted = true
    self.remotePort = remotePort ?? self.remotePort
    begin()
  }

  /// Begins when SCTP is wanted and DTLS connected.
  func begin() {
    guard isWanted, let dtls = owner?.dtls, dtls.isConnected else { return }
    made(dtls.role).start(remotePort: remotePort, mtu: mtu)
  }

  /// The DTLS role is known: what waited for it is opened by the caller now.
  func takeWaiting(as role: DTLSRole) -> [Request] {
    next = role == .client ? 0 : 1
    defer { waiting = [] }
    return waiting
  }

  /// Opens a channel. Its id; nil when it waits for the role, or is one too many.
  func open(_ request: Request) -> UInt16? {
    guard let role = owner?.dtls.role, request.label.utf8.count <= Self.maximumLabel,
      ids.count + waiting.count < Self.maximumChannels
    else { return nil }
    guard role != .auto else {
      waiting.append(request)
      return nil
    }
    let id = next
    guard id < 65_534 else { return nil }
    next += 2
    ids.insert(id)
    start()
    made(role).open(id, label: request.label, ordered: request.ordered, maxRetransmits: request.maxRetransmits)
    return id
  }

  /// Sends a message. False when it is too large, the channel is unknown, or too much is waiting.
  func send(_ channel: UInt16, bytes: UnsafeRawBufferPointer, isText: Bool) -> Bool {
    guard let association, ids.contains(channel), bytes.count <= SCTPAssociation.maximumOutgoing else { return false }
    return association.send(channel, bytes: Array(bytes), isText: isText)
  }

  /// Closes a channel.
  func close(_ channel: UInt16) {
    if ids.contains(channel) { association?.closeChannel(channel) }
  }

  /// Takes a packet that DTLS has decrypted. False when it is none.
  func receive(_ packet: UnsafeRawBufferPointer) -> Bool {
    // SCTP's common header.
    guard packet.count >= 12 else { return false }
    // A peer that begins before `start` is answered all the same.
    start()
    association?.receive(packet: Array(packet))
    return true
  }

  /// Ends the association. Harmless when called again.
  func close() {
    association?.close()
    association = nil
  }

  private func made(_ role: DTLSRole) -> SCTPAssociation {
    if let association { return association }
    let (box, loop) = (WeakChannels(self), owner?.loop)
    let made = SCTPAssociation(isDTLSClient: role == .client) { event in
      loop?.post { box.channels?.handle(event) }
    }
    association = made
    return made
  }

  private func handle(_ event: SCTPAssociation.Event) {
    guard let owner, owner.state != .closed else { return }
    switch event {
    case .packet(let packet): packet.withUnsafeBytes { _ = owner.dtls.send($0) }
    case .opened(let id, let label):
      ids.insert(id)
      owner.delegate?.transport(owner, channelOpened: id, label: label)
    case .message(let id, let bytes, let isText):
      bytes.withUnsafeBytes { owner.delegate?.transport(owner, channel: id, received: $0, isText: isText) }
    case .closed(let id):
      guard ids.remove(id) != nil else { return }
      owner.delegate?.transport(owner, channelClosed: id)
    case .dropped: owner.counters.dataMessagesDropped &+= 1
    }
  }
}
