import MediaCore

/// The readers of attribute values: nil when the text does not have the form that its RFC gives.
extension PayloadType {
  init?(sdp text: Substring) {
    guard let number = UInt8(text), number < 128 else { return nil }
    self.init(number)
  }
}

extension RTPMap {
  init?(value: Substring) {
    let fields = SDPText.fields(value)
    guard fields.count == 2, let type = PayloadType(sdp: fields[0]) else { return nil }
    let parts = fields[1].utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    guard parts.count == 2 || parts.count == 3, let clock = Int32(parts[1]), clock > 0 else { return nil }
    var channels: Int?
    if parts.count == 3 {
      guard let count = UInt8(parts[2]), count > 0 else { return nil }
      channels = Int(count)
    }
    self.init(payloadType: type, name: String(parts[0]), clockRate: Int(clock), channels: channels)
  }
}

extension FormatParameters {
  init?(value: Substring) {
    guard let (head, text) = SDPText.halves(value, at: " "), let type = PayloadType(sdp: head) else { return nil }
    self.init(payloadType: type, text: String(SDPText.trimmed(text)))
  }
}

extension RTCPFeedback {
  init?(value: Substring) {
    guard let (head, text) = SDPText.halves(value, at: " ") else { return nil }
    let kind = String(SDPText.trimmed(text))
    if head == "*" {
      self.init(payloadType: nil, value: kind)
    } else {
      guard let type = PayloadType(sdp: head) else { return nil }
      self.init(payloadType: type, value: kind)
    }
  }
}

extension ExtensionMapping {
  init?(value: Substring) {
    let fields = SDPText.fields(value)
    guard fields.count >= 2 else { return nil }
    var direction: Direction?
    var number = fields[0]
    if let (before, after) = SDPText.halves(fields[0], at: "/") {
      guard let known = Direction(rawValue: String(after)) else { return nil }
      direction = known
      number = before
    }
    guard let id = UInt8(number), id != 0, id != 15 else { return nil }
    self.init(
      id: id, direction: direction, uri: String(fields[1]), attributes: fields[2...].joined(separator: " "))
  }
}

extension MediaStreamTrack {
  init?(value: Substring) {
    let fields = SDPText.fields(value)
    guard let stream = fields.first else { return nil }
    self.init(stream: String(stream), track: fields.count > 1 ? String(fields[1]) : nil)
  }
}

extension SSRCAttribute {
  init?(value: Substring) {
    guard let (head, text) = SDPText.halves(value, at: " "), let number = UInt32(head) else { return nil }
    let rest = SDPText.trimmed(text)
    guard !rest.isEmpty else { return nil }
    if let (name, value) = SDPText.halves(rest, at: ":") {
      self.init(ssrc: SSRC(number), name: String(name), value: String(value))
    } else {
      self.init(ssrc: SSRC(number), name: String(rest), value: nil)
    }
  }
}

extension SSRCGroup {
  init?(value: Substring) {
    let fields = SDPText.fields(value)
    guard let semantics = fields.first else { return nil }
    let numbers = fields.dropFirst().compactMap { UInt32($0) }
    guard !numbers.isEmpty, numbers.count == fields.count - 1 else { return nil }
    self.init(semantics: String(semantics), ssrcs: numbers.map { SSRC($0) })
  }
}

extension RIDDescription {
  init?(value: Substring) {
    let fields = SDPText.fields(value)
    guard fields.count >= 2, fields[1] == "send" || fields[1] == "recv", Self.isIdentifier(fields[0]) else {
      return nil
    }
    self.init(
      id: RID(String(fields[0])), sends: fields[1] == "send", restrictions: fields[2...].joined(separator: " "))
  }

  /// RFC 8851 section 10 allows letters, digits, `-` and `_`.
  static func isIdentifier(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.count <= 255
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

extension SimulcastDescription {
  init?(value: Substring) {
    let fields = SDPText.fields(value)
    guard fields.count == 2 || fields.count == 4 else { return nil }
    self.init()
    for index in stride(from: 0, to: fields.count, by: 2) {
      guard let streams = Self.streams(fields[index + 1]) else { return nil }
      switch fields[index] {
      case "send" where send.isEmpty: send = streams
      case "recv" where receive.isEmpty: receive = streams
      default: return nil
      }
    }
  }

  private static func streams(_ text: Substring) -> [[Alternative]]? {
    var result: [[Alternative]] = []
    for stream in text.utf8.split(separator: UInt8(ascii: ";")) {
      var alternatives: [Alternative] = []
      for part in stream.split(separator: UInt8(ascii: ",")) {
        var name = Substring(part)
        let isPaused = name.utf8.first == UInt8(ascii: "~")
        if isPaused { name = name.dropFirst() }
        guard RIDDescription.isIdentifier(name) else { return nil }
        alternatives.append(.init(rid: RID(String(name)), isPaused: isPaused))
      }
      guard !alternatives.isEmpty else { return nil }
      result.append(alternatives)
    }
    return result.isEmpty ? nil : result
  }
}
