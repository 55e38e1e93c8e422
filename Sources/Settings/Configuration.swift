import Glibc
import Yams

/// A configuration file that cannot be used: one clear line with file and line number.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line.
  public let description: String
}

/// Every setting, by its place in `recbot.yaml`. `Config/recbot.yaml` documents them with their defaults.
public enum Setting: String, CaseIterable, Sendable {
  // One case a setting; the raw value is section and key in the file.
  case url = "livekit.url"
  case apiKey = "livekit.api-key"
  case apiSecret = "livekit.api-secret"
  case token = "livekit.token"
  case tlsCA = "livekit.tls-ca"
  case allowReconnect = "connection.allow-reconnect"
  case numberOfAttempts = "connection.number-of-attempts"
  case timeoutInterval = "connection.timeout-interval"
  case reconnectTimeout = "connection.reconnect-timeout"
  case waitForRoom = "connection.wait-for-room"
  case waitForAdmission = "connection.wait-for-admission"
  case forceTurn = "connection.force-turn"
  case turnServer = "connection.turn-server"
  case turnUsername = "connection.turn-username"
  case turnCredential = "connection.turn-credential"
  case receive = "connection.receive"
  case maxTalkers = "connection.max-talkers"
  case activeViews = "connection.activeviews"
  case chatOnly = "connection.chat-only"
  case bandwidthFeedback = "connection.bandwidth-feedback"
  case notifyResolution = "connection.notify-video-resolution-change"
  case connectOptions = "connection.connect-options"
  case identity = "recording.identity"
  case name = "recording.name"
  case transcript = "recording.transcript"
  case muteIcons = "recording.mute-icons"
  case marks = "recording.marks"
  case layout = "recording.layout"
  case layoutsDir = "recording.layouts-dir"
  case theme = "recording.theme"
  case size = "recording.size"
  case framesPerSecond = "recording.fps"
  case videoBitrate = "recording.video-bitrate"
  case audioBitrate = "recording.audio-bitrate"
  case maxDuration = "recording.max-duration"
  case stopWhenEmpty = "recording.stop-when-empty"
  case avatars = "recording.avatars"
  case avatarFolder = "recording.avatar-folder"
  case progress = "recording.progress"
  case job = "recording.job"
  case timeline = "recording.timeline"
  case pausePolicy = "recording.pause-policy"
  case control = "recording.control"
  case runDirectory = "recording.run-dir"
  case talkerLevels = "talker.levels"
  case talkerMinimumHold = "talker.minimum-hold"
  case talkerTakeoverDelay = "talker.takeover-delay"
  case talkerTakeoverMargin = "talker.takeover-margin"
  case talkerOverlapDelay = "talker.overlap-delay"
  case talkerThreshold = "talker.threshold"
  case talkerNoiseMargin = "talker.noise-margin"
  case talkerActivityShare = "talker.activity-share"
  case talkerPause = "talker.pause"
  case talkerPresenterBonus = "talker.presenter-bonus"
  case talkerPresenterReturn = "talker.presenter-return"
  case talkerAtMost = "talker.at-most"
  case privateAddresses = "network.private-addresses"
  case peerRole = "peer.as"
  case bind = "room-server.bind"
  case port = "room-server.port"
  case testAPI = "room-server.test-api"
  case autoCreate = "room-server.auto-create"
  case webhooks = "room-server.webhooks"
  case iceServers = "room-server.ice-servers"
  case iceUsername = "room-server.ice-username"
  case iceCredential = "room-server.ice-credential"
  case logLevel = "log.level"

  /// The environment variables that set it, the strongest first: `RECBOT_` and the key, and for the room service
  /// also LiveKit's own names.
  public var environmentNames: [String] {
    let key = rawValue.split(separator: ".").last.map(String.init) ?? rawValue
    let section = rawValue.split(separator: ".").first.map(String.init) ?? ""
    let name = key.uppercased().replacing("-", with: "_")
    switch self {
    case .url, .apiKey, .apiSecret: return ["RECBOT_\(name)", "LIVEKIT_\(name)"]
    case .peerRole: return ["RECBOT_PEER_AS"]
    case .bind, .port, .testAPI, .autoCreate, .webhooks, .iceServers, .iceUsername, .iceCredential:
      return ["RECBOT_ROOM_SERVER_\(name)"]
    case .logLevel: return ["RECBOT_LOG_LEVEL"]
    default: return section == "talker" ? ["RECBOT_TALKER_\(name)"] : ["RECBOT_\(name)"]
    }
  }

  /// True for what must never be shown.
  public var isSecret: Bool {
    [.apiSecret, .token, .turnCredential, .iceCredential].contains(self)
  }
}

/// The settings in force below the flags: environment first, then the configuration file.
public struct Configuration: Sendable {
  private var values: [Setting: (text: String, origin: String)] = [:]

  /// Nothing set.
  public init() {}

  /// Reads the file and the environment.
  ///
  /// The file is `path`, or `RECBOT_CONFIG`, or the first that exists of `Config/recbot.yaml` and
  /// `/etc/recbot/recbot.yaml`. A file that was named must exist; unknown keys are refused.
  public static func load(
    path: String?, environment: [String: String]
  ) throws(ConfigurationError) -> Configuration {
    var result = Configuration()
    if let named = path ?? environment["RECBOT_CONFIG"].flatMap({ $0.isEmpty ? nil : $0 }) {
      guard let text = readFile(named) else {
        throw ConfigurationError(description: "configuration file \(named) cannot be read: \(systemMessage())")
      }
      try result.merge(yaml: text, file: named)
    } else {
      for candidate in ["Config/recbot.yaml", "/etc/recbot/recbot.yaml"] {
        if let text = readFile(candidate) {
          try result.merge(yaml: text, file: candidate)
          break
        }
      }
    }
    for setting in Setting.allCases {
      for name in setting.environmentNames.reversed() {
        if let value = environment[name], !value.isEmpty { result.values[setting] = (value, name) }
      }
    }
    return result
  }

  /// The text of a setting and where it comes from (a variable's name, or file and line), if it is set.
  public subscript(setting: Setting) -> (text: String, origin: String)? { values[setting] }

  /// Reads connect options from a JSON file; what they set goes before environment and file. Gives the keys that mean
  /// nothing to a recording.
  public mutating func merge(connectOptions path: String) throws(ConfigurationError) -> [String] {
    guard let text = Self.readFile(path) else {
      throw ConfigurationError(description: "connect options \(path) cannot be read: \(Self.systemMessage())")
    }
    let options = try ConnectOptions(json: text, file: path)
    values.merge(options.values) { $1 }
    return options.ignored
  }

  private mutating func merge(yaml text: String, file: String) throws(ConfigurationError) {
    let root: Node?
    do {
      root = try Yams.compose(yaml: text)
    } catch {
      throw ConfigurationError(description: "\(file): \(error)".replacing("\n", with: " "))
    }
    guard let root, root != Node("") else { return }
    guard let sections = root.mapping else {
      throw ConfigurationError(description: "\(file): a mapping of sections is expected, for example 'recording:'")
    }
    for (sectionNode, body) in sections {
      let section = sectionNode.string ?? "?"
      let known = Set(Setting.allCases.compactMap { $0.rawValue.split(separator: ".").first.map(String.init) })
      guard known.contains(section) else {
        throw unknown(section, "section", at: sectionNode, file: file, among: known.sorted())
      }
      if body.null != nil { continue }
      guard let entries = body.mapping else {
        throw ConfigurationError(description: "\(place(sectionNode, file)): '\(section)' must hold settings, indented")
      }
      for (keyNode, valueNode) in entries {
        // `allow_reconnect` is how other systems write `allow-reconnect`.
        let key = (keyNode.string ?? "?").replacing("_", with: "-")
        guard let setting = Setting(rawValue: "\(section).\(key)") else {
          let names = Setting.allCases.map(\.rawValue).filter { $0.hasPrefix("\(section).") }
            .map { String($0.dropFirst(section.count + 1)) }
          throw unknown(key, "setting", at: keyNode, file: file, among: names)
        }
        if valueNode.null != nil { continue }
        guard let value = valueNode.scalar?.string else {
          throw ConfigurationError(description: "\(place(valueNode, file)): '\(key)' must be a single value")
        }
        values[setting] = (value, place(valueNode, file))
      }
    }
  }

  private func unknown(
    _ word: String, _ what: String, at node: Node, file: String, among known: [String]
  ) -> ConfigurationError {
    let hint = Values.suggestion(for: word, among: known).map { "; did you mean '\($0)'?" }
    return ConfigurationError(
      description: "\(place(node, file)): there is no \(what) '\(word)'"
        + (hint ?? "; known: \(known.joined(separator: ", "))"))
  }

  private func place(_ node: Node, _ file: String) -> String {
    node.mark.map { "\(file):\($0.line)" } ?? file
  }

  private static func readFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    // A configuration is small: what is larger than 1 MiB is none.
    while bytes.count <= 1 << 20 {
      let count = read(descriptor, &chunk, chunk.count)
      if count <= 0 { return count == 0 ? String(validating: bytes, as: UTF8.self) : nil }
      bytes.append(contentsOf: chunk[..<count])
    }
    return nil
  }

  private static func systemMessage() -> String {
    errno == 0 ? "not a text file" : String(cString: strerror(errno))
  }
}
