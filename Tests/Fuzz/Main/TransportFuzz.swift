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
  for framing in [StreamFraming.length, .turn] { read(bytes, framed: framing) }
}

/// Reads a stream to its end: each datagram lies within it, after the one before, and comes back when it is framed again.
private func read(_ stream: UnsafeRawBufferPointer, framed framing: StreamFraming) {
  var offset = 0
  while case .datagram(let range, let next) = framing.next(in: stream, from: offset) {
    precondition(offset <= range.lowerBound && range.upperBound <= next && next <= stream.count && offset < next)
    let datagram = UnsafeRawBufferPointer(rebasing: stream[range])
    if let ufrag = BindingRequest.localUfrag(datagram) { precondition(ufrag.utf8.count < 512 && !ufrag.contains(":")) }
    var again: [UInt8] = []
    if framing.append(datagram, to: &again) {
      again.withUnsafeBytes { bytes in
        guard case .datagram(let same, _) = framing.next(in: bytes, from: 0) else {
          preconditionFailure("a datagram does not come back")
        }
        precondition(bytes[same].elementsEqual(datagram))
      }
    }
    offset = next
  }
}
