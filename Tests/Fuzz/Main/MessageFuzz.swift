import Signaling
import SwiftProtobuf

/// Protobuf messages of every API, as JSON through the door and in the binary form; what can be read can be written, and
/// read again. The lower bits of the first byte choose.
func fuzzMessages(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let rest = Array(bytes.dropFirst())
  let isText = choice & 1 == 0
  func check<M: Message & Equatable>(_ type: M.Type) {
    guard let message = SignalCoding.decode(type, rest, isText: isText, depth: 16) else { return }
    let written = SignalCoding.encode(message, asText: false)
    guard !written.isEmpty, let again = SignalCoding.decode(type, written, isText: false, depth: 32) else { return }
    // NaN is not equal to itself.
    let second = SignalCoding.encode(again, asText: false)
    precondition(second.count == written.count, "a message does not come back")
  }
  switch choice >> 1 & 15 {
  case 0: check(Livekit_SignalRequest.self)
  case 1: check(Livekit_SignalResponse.self)
  case 2: check(Livekit_DataPacket.self)
  case 3: check(Livekit_WebhookEvent.self)
  case 4: check(Livekit_RoomCompositeEgressRequest.self)
  case 5: check(Livekit_ParticipantEgressRequest.self)
  case 6: check(Livekit_TrackCompositeEgressRequest.self)
  case 7: check(Livekit_TrackEgressRequest.self)
  case 8: check(Livekit_ListEgressRequest.self)
  case 9: check(Livekit_CreateRoomRequest.self)
  case 10: check(Livekit_UpdateParticipantRequest.self)
  case 11: check(Livekit_SendDataRequest.self)
  case 12: check(Livekit_UpdateParticipantMetadata.self)
  case 13: check(Livekit_ListEgressResponse.self)
  case 14: check(Livekit_UpdateSubscriptionsRequest.self)
  default: check(Livekit_EgressInfo.self)
  }
}
