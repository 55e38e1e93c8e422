extension MediaTransport {
  /// Starts the SCTP association as soon as DTLS is connected (RFC 8841); call it when an `m=application` section has
  /// been negotiated. `remotePort` is the peer's `a=sctp-port`; ours is always 5000.
  public func startSCTP(remotePort: UInt16 = 5000) {
    if state != .closed { channels.start(remotePort: remotePort) }
  }

  /// Opens a data channel in-band (RFC 8832). Starts SCTP if need be. The stream id, or nil while the DTLS role is
  /// not known: then `channelOpened` tells it. Messages may be sent on the id at once. Nil also when the label is
  /// longer than 1024 bytes or 512 channels are open.
  @discardableResult
  public func openDataChannel(label: String, ordered: Bool = true, maxRetransmits: UInt16? = nil) -> UInt16? {
    guard state != .closed else { return nil }
    return channels.open(.init(label: label, ordered: ordered, maxRetransmits: maxRetransmits))
  }

  /// Sends a message of at most 65,536 bytes; before the channel is open it waits. False when it is too large, the
  /// channel is unknown, or more than 4 MiB are waiting.
  @discardableResult
  public func sendData(channel: UInt16, bytes: UnsafeRawBufferPointer, isText: Bool) -> Bool {
    channels.send(channel, bytes: bytes, isText: isText)
  }

  /// Closes a data channel (RFC 8831 section 6.7); the delegate hears `channelClosed`.
  public func closeDataChannel(_ id: UInt16) { channels.close(id) }
}
