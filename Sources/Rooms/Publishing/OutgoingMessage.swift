import MediaCore
import Signaling

/// What an application sends through a LiveKit room.
public struct OutgoingMessage: Sendable {
  /// What is sent.
  public enum Content: Sendable {
    /// Bytes that the others' applications understand: one data packet, at most `packetLimit`.
    case data([UInt8])
    /// Text: a text stream of the protocol, in pieces, at most `textLimit` bytes of UTF-8.
    case text(String)
  }

  /// The most bytes of one data packet; larger ones are not delivered everywhere (SCTP's usual message size).
  public static let packetLimit = 15_000
  /// The most bytes of a text.
  public static let textLimit = 65_536
  /// The topic of chat.
  public static let chatTopic = DataReceiver.chatTopic

  /// What is sent.
  public var content: Content
  /// The application's name for this kind of message; may be empty.
  public var topic: String
  /// Whether lost packets are sent again, in order; text always is.
  public var isReliable: Bool
  /// Who gets it; nobody named: all others.
  public var recipients: [ParticipantIdentity]

  /// Makes a message; see the properties.
  public init(
    _ content: Content, topic: String = "", isReliable: Bool = true, recipients: [ParticipantIdentity] = []
  ) {
    (self.content, self.topic, self.recipients) = (content, topic, recipients)
    if case .text = content { self.isReliable = true } else { self.isReliable = isReliable }
  }

  /// What is too large of it, in words; nil: it can be sent.
  var fault: String? {
    switch content {
    case .data(let bytes) where bytes.count > Self.packetLimit:
      "a data message of \(bytes.count) bytes; at most \(Self.packetLimit) are sent"
    case .text(let text) where text.utf8.count > Self.textLimit:
      "a text of \(text.utf8.count) bytes; at most \(Self.textLimit) are sent"
    default: nil
    }
  }

  /// The packets that carry it, in order, as they go over a data channel. `id` names the message, `milliseconds` are since
  /// 1970.
  func packets(id: String, at milliseconds: Int64) -> [Livekit_DataPacket] {
    switch content {
    case .data(let bytes):
      return [
        packet(
          .user(
            .with {
              $0.payload = .init(bytes)
              if !topic.isEmpty { $0.topic = topic }
              $0.id = id
            }))
      ]
    case .text(let text):
      let bytes = Array(text.utf8)
      let header = Livekit_DataStream.Header.with {
        ($0.streamID, $0.timestamp, $0.topic, $0.mimeType) = (id, milliseconds, topic, "text/plain")
        $0.totalLength = UInt64(bytes.count)
        $0.textHeader = .with { $0.operationType = .create }
      }
      let pieces = stride(from: 0, to: bytes.count, by: Self.packetLimit).enumerated().map { index, start in
        packet(
          .streamChunk(
            .with {
              ($0.streamID, $0.chunkIndex) = (id, UInt64(index))
              $0.content = .init(bytes[start..<min(bytes.count, start + Self.packetLimit)])
            }))
      }
      return [packet(.streamHeader(header))] + pieces + [packet(.streamTrailer(.with { $0.streamID = id }))]
    }
  }

  private func packet(_ value: Livekit_DataPacket.OneOf_Value) -> Livekit_DataPacket {
    .with {
      $0.kind = isReliable ? .reliable : .lossy
      $0.destinationIdentities = recipients.map(\.rawValue)
      $0.value = value
    }
  }
}
