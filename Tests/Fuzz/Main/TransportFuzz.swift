@testable import Transport

/// Feeds bytes to everything of the transport that looks at packets and texts before a library does.
public func fuzzTransport(_ bytes: UnsafeRawBufferPointer) {
  switch PacketKind(bytes) {
  case .rtp: precondition(bytes.count >= 12)
  case .rtcp: precondition(bytes.count >= 8)
  case .stun, .zrtp, .dtls, .turnChannel, .unknown: break
  }
  if let message = DataChannelMessage(Array(bytes)) {
    precondition(DataChannelMessage(message.bytes) == message, "a data channel message does not come back")
  }
  let text = String(decoding: bytes, as: UTF8.self)
  if let candidate = ICECandidate(line: text) {
    precondition(ICECandidate(line: candidate.line)?.address == candidate.address, "a candidate does not come back")
  }
  _ = ICEServerAddress(url: text)
}
