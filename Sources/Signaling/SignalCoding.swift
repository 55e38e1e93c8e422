import SwiftProtobuf

/// Signalling messages to and from WebSocket messages: binary ones hold protobuf, text ones proto3 JSON.
public enum SignalCoding {
  /// A message of a server; nil when the bytes are malformed. Unknown fields are no error.
  public static func response(_ bytes: [UInt8], isText: Bool) -> Livekit_SignalResponse? {
    decode(bytes, isText: isText)
  }

  /// A message of a client; nil when the bytes are malformed. Unknown fields are no error.
  public static func request(_ bytes: [UInt8], isText: Bool) -> Livekit_SignalRequest? {
    decode(bytes, isText: isText)
  }

  /// The bytes of a message for a binary, or for a text WebSocket message; empty when it can't be written.
  public static func encode(_ message: some Message, asText: Bool) -> [UInt8] {
    if asText { return (try? message.jsonUTF8Bytes()) ?? [] }
    return (try? message.serializedBytes()) ?? []
  }

  private static func decode<M: Message>(_ bytes: [UInt8], isText: Bool) -> M? {
    if isText {
      var options = JSONDecodingOptions()
      options.ignoreUnknownFields = true
      options.messageDepthLimit = 32
      return try? M(jsonUTF8Bytes: bytes, options: options)
    }
    var options = BinaryDecodingOptions()
    options.messageDepthLimit = 32
    return try? M(serializedBytes: bytes, options: options)
  }
}
