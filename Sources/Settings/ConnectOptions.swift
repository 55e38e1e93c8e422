import Yams

/// Connect options as EnableX's SDKs take them (`roomInfo`, `advanceOptions`, `playerConfiguration`), as JSON: read into
/// recbot's own settings. Unknown keys and impossible values are refused with file and line.
public struct ConnectOptions: Sendable, Equatable {
  /// What they set: by the names of settings, in their words, with the place where it stands.
  public private(set) var values: [String: (text: String, origin: String)] = [:]
  /// Keys that are understood, but mean nothing to a recording.
  public private(set) var ignored: [String] = []

  private let file: String

  /// Compares what is set, not where it stands.
  public static func == (a: ConnectOptions, b: ConnectOptions) -> Bool {
    a.ignored == b.ignored && a.values.mapValues(\.text) == b.values.mapValues(\.text)
  }

  /// Reads `source`, the JSON text of `file`: the keys of `roomInfo`, either at the top or in an object of that name, and beside
  /// them `token`, `advanceOptions` and `publishStreamInfo`.
  public init(json source: String, file: String) throws(ConfigurationError) {
    self.file = file
    let root: Node?
    do {
      root = try YAMLText.compose(source)
    } catch {
      throw ConfigurationError(description: "\(file): \(error)")
    }
    guard let root, let entries = root.mapping else {
      throw ConfigurationError(description: "\(file): an object with connect options is expected")
    }
    for (key, value) in entries {
      switch key.string ?? "?" {
      case "roomInfo":
        for (key, value) in try object(value, "roomInfo") { try readRoomInfo(key, value) }
      case "token": set("livekit.token", try text(value, "token"), at: value)
      case "advanceOptions": try readAdvanceOptions(value)
      case "publishStreamInfo": try readStreamInfo(value)
      default: try readRoomInfo(key, value, isTop: true)
      }
    }
  }

  // MARK: roomInfo

  private static let roomInfoKeys = [
    "allow_reconnect", "number_of_attempts", "timeout_interval", "activeviews", "forceTurn", "chat_only",
    "playerConfiguration",
  ]

  private mutating func readRoomInfo(_ key: Node, _ value: Node, isTop: Bool = false) throws(ConfigurationError) {
    switch key.string ?? "?" {
    case "allow_reconnect": set("connection.allow-reconnect", "\(try bool(value, "allow_reconnect"))", at: value)
    case "number_of_attempts":
      set("connection.number-of-attempts", "\(try number(value, "number_of_attempts", 1...1_000_000))", at: value)
    case "timeout_interval":
      set("connection.timeout-interval", "\(try number(value, "timeout_interval", 0...86_400_000))ms", at: value)
    case "forceTurn", "force_turn": set("connection.force-turn", "\(try bool(value, "forceTurn"))", at: value)
    case "chat_only": set("connection.chat-only", "\(try bool(value, "chat_only"))", at: value)
    case "activeviews":
      let view = try text(value, "activeviews")
      guard view == "list" || view == "view" else {
        throw ConfigurationError(description: "\(place(value)): activeviews: 'list' or 'view', not '\(view)'")
      }
      set("connection.activeviews", view, at: value)
    case "playerConfiguration": try readPlayer(value)
    default:
      let known = Self.roomInfoKeys + (isTop ? ["token", "roomInfo", "advanceOptions", "publishStreamInfo"] : [])
      throw unknown(key, "connect option", among: known)
    }
  }

  private static let playerKeys = [
    "audiomute", "videomute", "bandwidth", "screenshot", "avatar", "pinned", "iconColor", "iconHeight", "iconWidth",
    "avatarHeight", "avatarWidth",
  ]

  private mutating func readPlayer(_ node: Node) throws(ConfigurationError) {
    var showsMarks: [Bool] = []
    for (key, value) in try object(node, "playerConfiguration") {
      let name = key.string ?? "?"
      switch name {
      case "audiomute": set("recording.mute-icons", "\(try bool(value, name))", at: value)
      case "bandwidth", "pinned": showsMarks.append(try bool(value, name))
      case "avatar":
        // An application may do without people's images; where they may come from is the operator's to say.
        if try !bool(value, name) {
          set("recording.avatars", "off", at: value)
        } else {
          ignored.append("playerConfiguration.\(name)")
        }
      case "videomute", "screenshot":
        _ = try bool(value, name)
        ignored.append("playerConfiguration.\(name)")
      case "iconColor":
        let colour = try text(value, name)
        let digits = colour.hasPrefix("#") ? colour.dropFirst() : colour[...]
        guard digits.count == 6 || digits.count == 3, digits.allSatisfy(\.isHexDigit) else {
          throw ConfigurationError(description: "\(place(value)): iconColor: write for example #ff8800")
        }
        ignored.append("playerConfiguration.\(name)")
      case "iconHeight", "iconWidth", "avatarHeight", "avatarWidth":
        _ = try number(value, name, 1...4096)
        ignored.append("playerConfiguration.\(name)")
      default: throw unknown(key, "player option", among: Self.playerKeys)
      }
    }
    if !showsMarks.isEmpty { set("recording.marks", "\(showsMarks.contains(true))", at: node) }
  }

  // MARK: Beside roomInfo

  private mutating func readAdvanceOptions(_ node: Node) throws(ConfigurationError) {
    guard let list = node.sequence else {
      throw ConfigurationError(description: "\(place(node)): advanceOptions: a list of objects is expected")
    }
    for entry in list {
      var id: String?
      var isEnabled: Bool?
      for (key, value) in try object(entry, "advanceOptions") {
        switch key.string ?? "?" {
        case "id": id = try text(value, "id")
        case "enable": isEnabled = try bool(value, "enable")
        default: throw unknown(key, "key", among: ["id", "enable"])
        }
      }
      guard let id, let isEnabled else {
        throw ConfigurationError(description: "\(place(entry)): advanceOptions: 'id' and 'enable' are expected")
      }
      switch id {
      case "notify-video-resolution-change": set("connection.notify-video-resolution-change", "\(isEnabled)", at: entry)
      case "battery_updates": ignored.append("advanceOptions.\(id)")
      default:
        let known = ["battery_updates", "notify-video-resolution-change"]
        throw ConfigurationError(
          description: "\(place(entry)): there is no advance option '\(id)'; known: \(known.joined(separator: ", "))")
      }
    }
  }

  private mutating func readStreamInfo(_ node: Node) throws(ConfigurationError) {
    for (key, value) in try object(node, "publishStreamInfo") {
      let name = key.string ?? "?"
      switch name {
      case "video", "audio", "data":
        // The bot publishes nothing, whatever is asked for.
        _ = try bool(value, name)
        ignored.append("publishStreamInfo.\(name)")
      case "attributes":
        for (key, value) in try object(value, "attributes") where key.string == "name" {
          set("recording.name", try text(value, "name"), at: value)
        }
      default: throw unknown(key, "key", among: ["video", "audio", "data", "attributes"])
      }
    }
  }

  // MARK: Values

  private mutating func set(_ setting: String, _ text: String, at node: Node) {
    values[setting] = (text, place(node))
  }

  private func object(_ node: Node, _ name: String) throws(ConfigurationError) -> Node.Mapping {
    guard let mapping = node.mapping else {
      throw ConfigurationError(description: "\(place(node)): \(name): an object is expected")
    }
    return mapping
  }

  private func text(_ node: Node, _ name: String) throws(ConfigurationError) -> String {
    guard let text = node.scalar?.string, !text.isEmpty, text.utf8.count <= 16_384 else {
      throw ConfigurationError(description: "\(place(node)): \(name): a text is expected")
    }
    return text
  }

  private func bool(_ node: Node, _ name: String) throws(ConfigurationError) -> Bool {
    switch node.scalar?.string {
    case "true": return true
    case "false": return false
    default: throw ConfigurationError(description: "\(place(node)): \(name): true or false is expected")
    }
  }

  private func number(
    _ node: Node, _ name: String, _ limits: ClosedRange<Int>
  ) throws(ConfigurationError) -> Int {
    guard let value = node.scalar.flatMap({ Int($0.string) }), limits.contains(value) else {
      throw ConfigurationError(
        description:
          "\(place(node)): \(name): a whole number from \(limits.lowerBound) to \(limits.upperBound) is expected")
    }
    return value
  }

  private func unknown(_ key: Node, _ what: String, among known: [String]) -> ConfigurationError {
    let word = key.string ?? "?"
    let hint = Values.suggestion(for: word, among: known).map { "; did you mean '\($0)'?" }
    return ConfigurationError(
      description: "\(place(key)): there is no \(what) '\(word)'"
        + (hint ?? "; known: \(known.joined(separator: ", "))"))
  }

  private func place(_ node: Node) -> String { node.mark.map { "\(file):\($0.line)" } ?? file }
}
