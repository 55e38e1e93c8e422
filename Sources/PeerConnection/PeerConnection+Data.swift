import Transport

/// The data channels of a connection by label.
struct DataChannels {
  private struct Wanted {
    var label: String
    var ordered: Bool
    var maxRetransmits: UInt16?
  }

  private var waiting: [Wanted] = []
  private var ids: [String: UInt16] = [:]
  private var labels: [UInt16: String] = [:]
  private var isUp = false

  mutating func open(_ label: String, _ ordered: Bool, _ maxRetransmits: UInt16?, on transport: MediaTransport?) {
    if isUp, let transport {
      transport.openDataChannel(label: label, ordered: ordered, maxRetransmits: maxRetransmits)
    } else {
      waiting.append(Wanted(label: label, ordered: ordered, maxRetransmits: maxRetransmits))
    }
  }

  mutating func openWaiting(on transport: MediaTransport) {
    isUp = true
    for wanted in waiting {
      transport.openDataChannel(label: wanted.label, ordered: wanted.ordered, maxRetransmits: wanted.maxRetransmits)
    }
    waiting = []
  }

  /// The channel of a label; the one opened last when there are several.
  func id(of label: String) -> UInt16? { ids[label] }
  func label(of id: UInt16) -> String? { labels[id] }

  mutating func opened(_ id: UInt16, label: String) {
    ids[label] = id
    labels[id] = label
  }

  mutating func closed(_ id: UInt16) -> String? {
    guard let label = labels.removeValue(forKey: id) else { return nil }
    if ids[label] == id { ids[label] = nil }
    return label
  }
}

extension PeerConnection {
  /// Opens a data channel (RFC 8832), at once or when the transport is there. When no section for data was
  /// negotiated, the next offer has one. `maxRetransmits` makes it unreliable.
  public func openDataChannel(label: String, ordered: Bool = true, maxRetransmits: UInt16? = nil) {
    negotiation.wantsData = true
    data.open(label, ordered, maxRetransmits, on: transport)
  }

  /// Sends a message on the open channel of a label; false when there is none, when the message is too large, or
  /// when too much waits to be sent.
  @discardableResult
  public func sendData(label: String, _ bytes: UnsafeRawBufferPointer, isText: Bool = false) -> Bool {
    guard let id = data.id(of: label), let transport,
      UInt64(bytes.count) <= negotiation.remoteMaximumMessageSize
    else { return false }
    return transport.sendData(channel: id, bytes: bytes, isText: isText)
  }

  /// Whether a channel of this label can be used now.
  public func isDataChannelOpen(label: String) -> Bool { data.id(of: label) != nil }

  func channelOpened(_ id: UInt16, label: String) {
    data.opened(id, label: label)
    delegate?.peerConnection(self, dataChannelOpened: label)
  }

  func channel(_ id: UInt16, received bytes: UnsafeRawBufferPointer, isText: Bool) {
    guard let label = data.label(of: id) else { return }
    delegate?.peerConnection(self, dataChannel: label, received: bytes, isText: isText)
  }

  func channelClosed(_ id: UInt16) {
    guard let label = data.closed(id) else { return }
    delegate?.peerConnection(self, dataChannelClosed: label)
  }
}
