import MediaCore
import SwiftProtobuf

/// Protobuf messages from outside and to the outside: binary, or as proto3 JSON. Signalling's WebSocket messages are
/// binary, or texts of JSON.
///
/// The one place where such bytes become messages: JSON goes through the door (`JSONDocument`) first, and messages
/// inside each other are bounded in both forms.
public enum SignalCoding {
  /// Messages inside each other, unless said otherwise.
  public static let depth = 32

  /// A message of a server; nil when the bytes are malformed. Unknown fields are no error.
  public static func response(_ bytes: [UInt8], isText: Bool) -> Livekit_SignalResponse? {
    decode(Livekit_SignalResponse.self, bytes, isText: isText)
  }

  /// A message of a client; nil when the bytes are malformed. Unknown fields are no error.
  public static func request(_ bytes: [UInt8], isText: Bool) -> Livekit_SignalRequest? {
    decode(Livekit_SignalRequest.self, bytes, isText: isText)
  }

  /// The packet that a data channel's message holds; nil when the bytes are malformed.
  public static func packet(_ bytes: [UInt8]) -> Livekit_DataPacket? {
    decode(Livekit_DataPacket.self, bytes, isText: false)
  }

  /// What an encrypted packet holds, decrypted, as a packet has it that is not encrypted; nil when the bytes are malformed.
  public static func encryptedPayload(_ bytes: [UInt8]) -> Livekit_DataPacket.OneOf_Value? {
    switch decode(Livekit_EncryptedPacketPayload.self, bytes, isText: false)?.value {
    case .user(let user): .user(user)
    case .chatMessage(let message): .chatMessage(message)
    case .rpcRequest(let request): .rpcRequest(request)
    case .rpcAck(let ack): .rpcAck(ack)
    case .rpcResponse(let response): .rpcResponse(response)
    case .streamHeader(let header): .streamHeader(header)
    case .streamChunk(let chunk): .streamChunk(chunk)
    case .streamTrailer(let trailer): .streamTrailer(trailer)
    case nil: nil
    }
  }

  /// Any message; nil when the bytes are malformed.
  ///
  /// - Parameters:
  ///   - bytes: as many as the caller was ready to take in; the limit of size is there.
  ///   - isText: true for proto3 JSON.
  ///   - depth: how many messages may be inside each other.
  ///   - takesUnknownFields: false when a field that nobody knows makes JSON malformed; in the binary form it never does.
  public static func decode<M: Message>(
    _ type: M.Type, _ bytes: [UInt8], isText: Bool, depth: Int = SignalCoding.depth, takesUnknownFields: Bool = true
  ) -> M? {
    if isText {
      guard (try? JSONDocument(bytes, limits: JSONLimits(bytes: bytes.count))) != nil else { return nil }
      var options = JSONDecodingOptions()
      options.ignoreUnknownFields = takesUnknownFields
      options.messageDepthLimit = depth
      return try? M(jsonUTF8Bytes: bytes, options: options)
    }
    var options = BinaryDecodingOptions()
    options.messageDepthLimit = depth
    return try? M(serializedBytes: bytes, options: options)
  }

  /// The bytes of a message for a binary, or for a text WebSocket message; empty when it can't be written.
  public static func encode(_ message: some Message, asText: Bool) -> [UInt8] {
    if asText { return (try? message.jsonUTF8Bytes()) ?? [] }
    return (try? message.serializedBytes()) ?? []
  }
}
