import MediaCore
import Rooms
import Signaling

/// Everything of signalling that reads bytes from the network, but tokens: messages of both sides in both forms, data
/// packets, candidates, queries, addresses, refusals and the mailbox's messages. The lower three bits of the first byte
/// choose, the next two say whether messages are read and written as text.
public func fuzzSignaling(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let rest = Array(bytes.dropFirst())
  let text = String(decoding: rest, as: UTF8.self)
  let isText = choice & 8 != 0
  let writesText = choice & 16 != 0
  switch choice % 8 {
  case 0, 1:
    if let message = SignalCoding.response(rest, isText: isText) {
      _ = SignalCoding.encode(message, asText: writesText)
    }
  case 2:
    if let message = SignalCoding.request(rest, isText: isText) {
      _ = SignalCoding.encode(message, asText: writesText)
    }
  case 3:
    if let packet = SignalCoding.packet(rest) {
      _ = SignalCoding.encode(packet, asText: writesText)
    }
    precondition(Base64URL.decode(Base64URL.encode(rest, padding: isText)) == rest, "base64 does not come back")
    _ = Base64URL.decode(rest)
  case 4:
    if let candidate = TrickleCandidate(json: text) {
      precondition(TrickleCandidate(json: candidate.json)?.candidate == candidate.candidate)
    }
  case 5:
    let query = SignalQuery(parsing: text)
    precondition(SignalQuery(parsing: query.text).text == query.text, "a query does not come back")
  case 6:
    if let url = try? SignalURL(text) {
      _ = url.target(SignalQuery(parsing: text))
      precondition((try? SignalURL(url.description)) == url, "an address does not come back")
    }
  case 7 where isText:
    fuzzMailbox(rest)
  default:
    _ = RoomError.refusedUpgrade(status: rest.count, text: text).description
  }
}

/// Messages of the mailbox and of its peers: what can be read can be written and read again.
private func fuzzMailbox(_ bytes: [UInt8]) {
  func check<Message: Codable & Equatable>(_ type: Message.Type) {
    guard let message = MailboxCoding.decode(type, from: bytes) else { return }
    precondition(MailboxCoding.decode(type, from: MailboxCoding.encode(message)) == message, "it does not come back")
  }
  check(SeatRequest.self)
  check(MailboxDescription.self)
  check(MailboxCandidates.self)
  check(MailboxView.self)
  check(PeerMessage.self)
}
