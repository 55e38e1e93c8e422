import MediaCore

/// A chat message as older web clients send it: JSON in a data packet on the topic `lk-chat-topic`.
public struct LegacyChatMessage: Hashable, Sendable, Decodable {
  /// The sender's name of the message.
  public var id: String
  /// What was written.
  public var message: String
  /// When it was written, milliseconds since 1970 by the sender's clock.
  public var timestamp: Int64?
  /// When it was changed; nil for a new message.
  public var editTimestamp: Int64?
  private var ignoreLegacy: Bool?
  private var ignore: Bool?

  /// True when the sender sends the same message in the new form as well.
  public var isDuplicate: Bool { ignoreLegacy == true || ignore == true }

  /// Reads the JSON; nil when it is no chat message, or longer than 64 KiB.
  public init?(json: some Collection<UInt8>) {
    guard json.count <= 65_536,
      let value = try? BoundedJSON.decode(LegacyChatMessage.self, from: Array(json), limits: JSONLimits(bytes: 65_536))
    else { return nil }
    self = value
  }
}
