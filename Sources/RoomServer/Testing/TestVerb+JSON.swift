import MediaCore
import Signaling

extension TestVerb {
  /// Reads a verb as it comes over HTTP: its name and a JSON object. Times are in milliseconds.
  init(name: String, json: [UInt8]) throws(TestVerbError) {
    var fields = try TestFields(json)
    self = try Self.read(name, &fields)
    try fields.finish()
  }

  private static func read(_ name: String, _ fields: inout TestFields) throws(TestVerbError) -> TestVerb {
    switch name {
    case "cut-signal":
      let mode = SignalCut(rawValue: try fields.text("mode") ?? "close")
      guard let mode else { throw .badRequest("mode must be close or silent") }
      return .cutSignal(try fields.target(), mode: mode, lasting: try fields.duration("for"))
    case "cut-media": return .cutMedia(try fields.target(), lasting: try fields.duration("for"))
    case "drop-updates": return .dropUpdates(try fields.target(), lasting: try fields.duration("for"))
    case "delay-answers":
      guard let delay = try fields.duration("by") else { throw .badRequest("by (milliseconds) is missing") }
      return .delayAnswers(try fields.target(), by: delay, lasting: try fields.duration("for"))
    case "restart": return .restart(wipes: try fields.flag("wipe") ?? true)
    case "migrate":
      let action: Livekit_LeaveRequest.Action
      switch try fields.text("action")?.uppercased() ?? "RECONNECT" {
      case "RECONNECT": action = .reconnect
      case "RESUME": action = .resume
      default: throw .badRequest("action must be RECONNECT or RESUME")
      }
      return .migrate(try fields.target(), action: action)
    case "kick": return .kick(try fields.target(), reason: try fields.reason() ?? .participantRemoved)
    case "duplicate": return .duplicate(try fields.target())
    case "end-room": return .endRoom(try fields.room(), reason: try fields.reason() ?? .roomDeleted)
    case "fill": return .fill(try fields.room(), limit: try fields.number("limit", 0...1_000_000))
    case "busy":
      return .busy(
        status: try fields.number("status", 400...599) ?? 503, room: try fields.text("room"),
        lasting: try fields.duration("for"))
    case "expire-token": return .expireToken(try fields.target())
    case "pause-streams":
      return .pauseStreams(
        try fields.target(), tracks: try fields.texts("tracks"), paused: try fields.flag("paused") ?? true)
    case "permit": return .permit(try fields.target(), canSubscribe: try fields.flag("canSubscribe") ?? true)
    case "limit-bandwidth":
      return .limitBandwidth(
        try fields.target(), bitsPerSecond: try fields.number("bps", 0...1_000_000_000),
        lasting: try fields.duration("for"))
    case "restore": return .restore
    default: throw .unknownVerb(name)
    }
  }
}

/// The fields of a verb's JSON object. What is taken is struck off, so that misspelt names are found at the end.
private struct TestFields {
  private var values: [String: JSONValue]

  init(_ json: [UInt8]) throws(TestVerbError) {
    let bytes = json.isEmpty ? Array("{}".utf8) : json
    guard let object = try? JSONDocument(bytes, limits: JSONLimits(bytes: bytes.count, depth: 8)).root.fields else {
      throw .badRequest("the body must be a JSON object")
    }
    values = object
  }

  func finish() throws(TestVerbError) {
    // Common to all verbs, whether they need them or not.
    let common: Set = ["room", "identity", "for"]
    guard let name = values.keys.filter({ !common.contains($0) }).min() else { return }
    throw .badRequest("there is no field '\(name)' in this verb")
  }

  private mutating func take(_ name: String) -> JSONValue? {
    guard let value = values.removeValue(forKey: name), !value.isNull else { return nil }
    return value
  }

  mutating func text(_ name: String) throws(TestVerbError) -> String? {
    guard let value = take(name) else { return nil }
    guard let text = value.text else { throw .badRequest("\(name) must be a text") }
    return text
  }

  mutating func texts(_ name: String) throws(TestVerbError) -> [String] {
    guard let value = take(name) else { return [] }
    let texts = value.elements?.compactMap(\.text)
    guard let texts, texts.count == value.elements?.count else {
      throw .badRequest("\(name) must be a list of texts")
    }
    return texts
  }

  mutating func flag(_ name: String) throws(TestVerbError) -> Bool? {
    guard let value = take(name) else { return nil }
    guard let flag = value.bool else { throw .badRequest("\(name) must be true or false") }
    return flag
  }

  mutating func number(_ name: String, _ range: ClosedRange<Int>) throws(TestVerbError) -> Int? {
    guard let value = take(name) else { return nil }
    guard let whole = value.integer(Int.self), range.contains(whole) else {
      throw .badRequest("\(name) must be a whole number, \(range.lowerBound) to \(range.upperBound)")
    }
    return whole
  }

  mutating func duration(_ name: String) throws(TestVerbError) -> Duration? {
    try number(name, 0...86_400_000).map { .milliseconds($0) }
  }

  mutating func room() throws(TestVerbError) -> String {
    guard let room = try text("room"), !room.isEmpty else { throw .badRequest("room is missing") }
    return room
  }

  mutating func target() throws(TestVerbError) -> TestTarget {
    TestTarget(room: try room(), identity: try text("identity"))
  }

  /// A disconnect reason by the name that the protocol gives it.
  mutating func reason() throws(TestVerbError) -> Livekit_DisconnectReason? {
    guard let name = try text("reason") else { return nil }
    // The names are those of the protocol's JSON form.
    let json = Array("{\"reason\":\(JSONText.quoted(name.uppercased()))}".utf8)
    let leave = SignalCoding.decode(Livekit_LeaveRequest.self, json, isText: true, takesUnknownFields: false)
    guard let leave else {
      throw .badRequest("there is no disconnect reason '\(name)'")
    }
    return leave.reason
  }
}
