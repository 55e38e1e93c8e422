import MediaCore

/// The query of a `/rtc` request: how a client wants to join. Written by the client, read by the room server.
public struct SignalQuery: Hashable, Sendable {
  /// Version of the signalling protocol; 16 is what recbot's client speaks.
  public var protocolVersion: Int = 0
  /// Subscribe to every track.
  public var autoSubscribe = true
  /// Start with the lowest layer, until the client says what it shows.
  public var adaptiveStream = false
  /// Whether the server may pause video when bandwidth is short; nil leaves that to the server.
  public var subscriberAllowPause: Bool?
  /// Asks the server to go on with an earlier session (`sid`).
  public var reconnect = false
  /// The participant's `PA_…` of the session to go on with.
  public var participantSID: String?
  /// Why it comes back.
  public var reconnectReason = Livekit_ReconnectReason.rrUnknown
  /// The token, when it isn't in the `Authorization` header.
  @Redacted public var accessToken: String? = nil
  /// The client library's name; it switches server behaviour, so recbot leaves it out.
  public var sdk: String?
  /// The single-connection form of joining: base64url of a `WrappedJoinRequest`.
  public var joinRequest: String?
  /// Opens a second, publish-only connection of the same identity.
  public var publish: String?
  /// Base64url of a JSON object of participant attributes.
  public var attributes: String?

  /// A query with the server's defaults.
  public init() {}

  /// Reads a query (the part of a request target behind `?`). Unknown names are ignored, values that are no number
  /// count as 0; flags are true only for `1` and `true`.
  public init(parsing query: some StringProtocol) {
    for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
      let halves = pair.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let first = halves.first else { continue }
      let value = halves.count > 1 ? Self.decode(halves[1]) : ""
      let flag = value == "1" || value == "true"
      switch Self.decode(first) {
      case "protocol": protocolVersion = Int(value) ?? 0
      case "auto_subscribe": autoSubscribe = flag
      case "adaptive_stream": adaptiveStream = flag
      case "subscriber_allow_pause": subscriberAllowPause = flag
      case "reconnect": reconnect = flag
      case "sid": participantSID = value
      case "reconnect_reason":
        reconnectReason = Int(value).flatMap { .init(rawValue: $0) } ?? .rrUnknown
      case "access_token": accessToken = value
      case "sdk": sdk = value
      case "join_request": joinRequest = value
      case "publish": publish = value
      case "attributes": attributes = value
      default: break
      }
    }
  }

  /// The query text, with `protocol`, `auto_subscribe` and `adaptive_stream` always and the rest where set.
  public var text: String {
    var pairs = [
      ("protocol", String(protocolVersion)), ("auto_subscribe", autoSubscribe ? "1" : "0"),
      ("adaptive_stream", adaptiveStream ? "1" : "0"),
    ]
    if reconnect {
      pairs.append(("reconnect", "1"))
      if let participantSID { pairs.append(("sid", participantSID)) }
      pairs.append(("reconnect_reason", String(reconnectReason.rawValue)))
    }
    for (name, value) in [
      ("access_token", accessToken), ("sdk", sdk), ("join_request", joinRequest),
      ("publish", publish),
      ("attributes", attributes),
    ] {
      if let value { pairs.append((name, value)) }
    }
    if let subscriberAllowPause { pairs.append(("subscriber_allow_pause", subscriberAllowPause ? "1" : "0")) }
    return pairs.map { "\($0.0)=\(PercentCoding.encode($0.1))" }.joined(separator: "&")
  }

  /// Undoes percent-encoding and `+` for space; what isn't two hexadecimal digits stays as it is.
  static func decode(_ text: some Collection<UInt8>) -> String {
    var result: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(PercentCoding.digit),
        let low = rest.dropFirst().first.flatMap(PercentCoding.digit)
      {
        result.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        result.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
