import MediaCore
import Session
import Signaling

@testable import Rooms

/// Feeds a row of data packets of several senders to the receiver of messages: each begins with a byte that says who
/// sends it and on which channel, and two bytes of length. The last one's bytes are unpacked as well.
public func fuzzData(_ bytes: UnsafeRawBufferPointer) {
  var receiver = DataReceiver()
  var roster = LiveKitRoster()
  let track = Livekit_TrackInfo.with { ($0.sid, $0.type) = ("TR_1", .audio) }
  roster.reset(
    own: .with { ($0.sid, $0.identity) = ("PA_me", "bot") },
    others: [.with { ($0.sid, $0.identity, $0.tracks) = ("PA_1", "ann", [track]) }])
  var rest = bytes[...]
  var now = Instant(nanoseconds: 0)
  while rest.count >= 3 {
    let (flags, length) = (rest[rest.startIndex], Int(rest[rest.startIndex + 1]) << 8 | Int(rest[rest.startIndex + 2]))
    let packet = Array(rest.dropFirst(3).prefix(length))
    rest = rest.dropFirst(3 + length)
    now += .milliseconds(Int(flags >> 3) * 50)
    guard var message = try? Livekit_DataPacket(serializedBytes: packet) else { continue }
    if flags & 1 != 0 { message.participantIdentity = flags & 2 != 0 ? "ann" : "ben" }
    for event in receiver.receive(message, isReliable: flags & 4 != 0, roster: roster, at: now) {
      switch event {
      case .data(let data): precondition(data.payload.count <= 65_536 && data.topic.utf8.count <= 1024)
      case .chat(let chat): precondition(chat.text.utf8.count <= 3 * 65_536 && chat.id.utf8.count <= 1024)
      case .caption(let caption): precondition(caption.text.utf8.count <= 3 * 65_536)
      default: preconditionFailure("an event that is no message")
      }
    }
    precondition(receiver.openStreams <= 64, "too many streams are open")
    if rest.count < 3 { precondition(Inflate.unpack(packet, limit: 4096)?.bytes.count ?? 0 <= 4096) }
  }
}
