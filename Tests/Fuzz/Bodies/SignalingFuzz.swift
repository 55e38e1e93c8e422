import Rooms
import Signaling

/// Everything of signalling that reads bytes from the network: messages of both sides in both forms, tokens,
/// candidates, queries and addresses. The first byte chooses.
public func fuzzSignaling(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let rest = Array(bytes.dropFirst())
  let text = String(decoding: rest, as: UTF8.self)
  switch choice % 8 {
  case 0, 1:
    if let message = SignalCoding.response(rest, isText: choice & 8 != 0) {
      _ = SignalCoding.encode(message, asText: choice & 16 != 0)
    }
  case 2:
    if let message = SignalCoding.request(rest, isText: choice & 8 != 0) {
      _ = SignalCoding.encode(message, asText: choice & 16 != 0)
    }
  case 3:
    _ = try? AccessToken(reading: text)
    _ = try? AccessToken(verifying: text, now: 1_800_000_000) { $0 == "devkey" ? "secret" : nil }
  case 4:
    if let candidate = TrickleCandidate(json: text) { _ = TrickleCandidate(json: candidate.json) }
  case 5:
    let query = SignalQuery(parsing: text)
    _ = SignalQuery(parsing: query.text)
  case 6:
    if let url = try? SignalURL(text) { _ = url.target(SignalQuery(parsing: text)) }
  default:
    _ = RoomError.refusedUpgrade(status: rest.count, text: text).description
  }
}
