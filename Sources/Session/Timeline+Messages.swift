import MediaCore

extension TimelineEvent {
  /// True for what people and applications sent: it goes into the transcript, not into the timeline.
  public var isMessage: Bool {
    switch self {
    case .data, .chat, .caption: true
    default: false
    }
  }
}

extension TimelineEvent {
  /// True for messages that count as one: captions only when they are complete.
  public var isWhole: Bool {
    if case .caption(let caption, _) = self { return caption.isFinal }
    return isMessage
  }
}

extension TimelineEntry {
  /// A message as one line of JSON, without the newline: as `json(startDate:)`, and for captions also when the speech
  /// began.
  public func json(startDate: Int64, begins: SessionTime) -> String {
    guard begins != time else { return json(startDate: startDate) }
    return json(startDate: startDate).dropLast() + ",\"begins_ms\":\(begins.milliseconds)}"
  }
}

extension BandwidthAlert {
  /// The alert as a JSON object.
  public var json: String {
    "{" + MessageFields.of(self).map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
  }
}

/// The fields of messages and of alerts.
enum MessageFields {
  typealias Fields = [(key: String, value: String)]

  static func of(_ message: DataMessage, name: String) -> Fields {
    let text = String(validating: message.payload, as: UTF8.self)
    let isReadable = text?.unicodeScalars.allSatisfy(isReadable) ?? false
    let body = text.flatMap { isReadable ? ("text", JSONText.quoted($0)) : nil }
    return sender(message.participant, name) + [
      ("topic", JSONText.quoted(message.topic)), body ?? ("base64", "\"\(base64(message.payload))\""),
    ]
  }

  static func of(_ chat: ChatMessage, name: String) -> Fields {
    var fields = sender(chat.participant, name)
    fields.append(("id", JSONText.quoted(chat.id)))
    fields.append(("action", "\"\(chat.action.rawValue)\""))
    if chat.action != .deleted { fields.append(("text", JSONText.quoted(chat.text))) }
    if chat.timestamp != 0 { fields.append(("sent_ms", "\(chat.timestamp)")) }
    if chat.isCut { fields.append(("cut", "true")) }
    return fields
  }

  static func of(_ caption: Caption, name: String) -> Fields {
    var fields = sender(caption.participant, name)
    fields.append(("id", JSONText.quoted(caption.id)))
    fields.append(("text", JSONText.quoted(caption.text)))
    if !caption.language.isEmpty { fields.append(("language", JSONText.quoted(caption.language))) }
    return fields
  }

  static func of(_ alert: BandwidthAlert) -> Fields {
    [
      ("bandwidth", "\(alert.bandwidth)"), ("stream_bandwidth", "\(alert.streamBandwidth)"),
      ("number_of_videos", "\(alert.numberOfVideos)"), ("limited", "\(alert.isLimited)"),
    ]
  }

  private static func sender(_ identity: ParticipantIdentity?, _ name: String) -> Fields {
    guard let identity else { return [("participant", "null")] }
    return [("participant", JSONText.quoted(identity.rawValue)), ("name", JSONText.quoted(name))]
  }

  private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\n" || scalar == "\r" || scalar == "\t" || scalar.properties.generalCategory != .control
  }

  /// RFC 4648 section 4.
  static func base64(_ bytes: [UInt8]) -> String {
    let signs = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var result: [UInt8] = []
    result.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let part = bytes[start..<min(start + 3, bytes.count)]
      let bits = part.enumerated().reduce(0) { $0 | Int($1.element) << (16 - 8 * $1.offset) }
      for index in 0..<4 {
        result.append(index <= part.count ? signs[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
