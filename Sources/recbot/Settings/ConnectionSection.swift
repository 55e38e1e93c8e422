import MediaCore
import PeerConnection
import Session
import Settings

/// The section `connection`: when to wait, to come back and to give up, and what is received.
extension Setting {
  static var allowReconnect: Setting<Bool> {
    .init(
      "connection.allow-reconnect", "Come back when the connection is lost", flag: "--no-reconnect", default: "true",
      parse: Values.boolean)
  }
  static var numberOfAttempts: Setting<Int?> {
    .init(
      "connection.number-of-attempts",
      "At most so many attempts to come back after a loss, with a fixed interval between them",
      flag: "--reconnect-attempts", placeholder: "n", otherwise: "no limit, and growing pauses; 3 with an interval",
      example: "3", parse: Values.attempts)
  }
  static var timeoutInterval: Setting<Duration?> {
    .init(
      "connection.timeout-interval", "The fixed interval between attempts", flag: "--reconnect-interval",
      placeholder: "time", otherwise: "growing pauses; 10s with a number of attempts", example: "10s",
      parse: Values.duration)
  }
  static var reconnectTimeout: Setting<Duration?> {
    .init(
      "connection.reconnect-timeout", "Give up when the connection has been down for so long",
      flag: "--reconnect-timeout", placeholder: "time", otherwise: "as long as the recording may last", example: "5m",
      parse: Values.duration)
  }
  static var waitForRoom: Setting<Duration?> {
    .init(
      "connection.wait-for-room", "Keep trying for so long while there is no such room, no place in it, or no server",
      flag: "--wait-for-room", placeholder: "time", otherwise: "fail at once", example: "10m", parse: Values.duration)
  }
  static var waitForAdmission: Setting<Duration?> {
    .init(
      "connection.wait-for-admission", "Stay in the room for so long until somebody lets the bot receive",
      flag: "--wait-for-admission", placeholder: "time", otherwise: "fail at once", example: "10m",
      parse: Values.duration)
  }
  static var forceTurn: Setting<Bool> {
    .init(
      "connection.force-turn", "Send and receive media over TURN relays only", flag: "--force-turn", default: "false",
      parse: Values.boolean)
  }
  static var turnServer: Setting<String?> {
    .init(
      "connection.turn-server",
      "A TURN server beside those that the room server names, turn:host:port?transport=udp or tcp, or turns:host:port",
      flag: "--turn-server", placeholder: "url", example: "turn:host:3478", parse: Values.url("turn:", "turns:"))
  }
  static var turnUsername: Setting<String?> {
    .init(
      "connection.turn-username", "The user name for the TURN server", flag: "--turn-username", placeholder: "text",
      example: "…",
      parse: Values.text)
  }
  static var turnCredential: Setting<String?> {
    .init(
      "connection.turn-credential", "The credential for the TURN server", flag: "--turn-credential",
      placeholder: "text", example: "…",
      isSecret: true, parse: Values.text)
  }
  static var keyFile: Setting<String?> {
    .init(
      "connection.e2ee-key-file",
      "The keys of a room that is encrypted end to end: a file with one passphrase in one line, or a .yaml file (shared:, "
        + "participants:); - for standard input", flag: "--e2ee-key-file", placeholder: "file", example: "room.key",
      parse: Values.text)
  }
  static var keysDir: Setting<String?> {
    .init(
      "connection.e2ee-keys-dir", "A worker's folder of key files, which jobs name (e2ee_key)", example: "…",
      parse: Values.text)
  }
  static var receive: Setting<ReceptionPolicy.Mode> {
    .init(
      "connection.receive", "How much video is received: best, or for-layout: the smallest layer that fills the tile",
      flag: "--receive", placeholder: "mode", default: "best", parse: Values.word("way to receive"))
  }
  static var maxTalkers: Setting<Int?> {
    .init(
      "connection.max-talkers", "Show at most so many people: those who talked last", flag: "--max-talkers",
      placeholder: "n", otherwise: "all", example: "9", parse: Values.whole(in: 1...100))
  }
  static var activeViews: Setting<ActiveViews?> {
    .init(
      "connection.activeviews",
      "EnableX's name for what is shown: list (the active talkers, at most 12 or --max-talkers) or view (the grid)",
      flag: "--activeviews", placeholder: "view", example: "view", parse: Values.word("view"))
  }
  static var chatOnly: Setting<Bool> {
    .init(
      "connection.chat-only", "Write the transcript only: no media is received, no WebM written", flag: "--chat-only",
      default: "false", parse: Values.boolean)
  }
  static var bandwidthFeedback: Setting<RTCPeerConnection.BandwidthFeedback> {
    .init(
      "connection.bandwidth-feedback", "Feedback on bandwidth that the server gets: none, remb or transport-cc",
      flag: "--bandwidth-feedback", placeholder: "kind", default: "none"
    ) { text throws(ValueError) in
      switch text {
      case "none": return []
      case "remb": return [.maximumBitrate]
      case "transport-cc": return [.transportWide]
      default: throw Values.noWord(text, "bandwidth feedback", among: ["none", "remb", "transport-cc"])
      }
    }
  }
  static var notifyResolution: Setting<Bool> {
    .init(
      "connection.notify-video-resolution-change", "A new size of somebody's picture is told as an event",
      default: "true", parse: Values.boolean)
  }
  static var connectOptions: Setting<String?> {
    .init(
      "connection.connect-options",
      "Connect options as EnableX's SDKs take them (JSON); they go before environment and configuration",
      flag: "--connect-options", placeholder: "file", example: "enablex.json", parse: Values.text)
  }
}

extension SettingSection {
  static var connection: SettingSection {
    SettingSection(
      "connection",
      [
        .of(.allowReconnect), .of(.numberOfAttempts), .of(.timeoutInterval), .of(.reconnectTimeout), .of(.waitForRoom),
        .of(.waitForAdmission), .of(.forceTurn), .of(.turnServer), .of(.turnUsername), .of(.turnCredential),
        .of(.keyFile), .of(.keysDir), .of(.receive), .of(.maxTalkers), .of(.activeViews), .of(.chatOnly),
        .of(.bandwidthFeedback), .of(.notifyResolution), .of(.connectOptions),
      ])
  }
}

/// EnableX's `activeviews`.
enum ActiveViews: String, CaseIterable {
  /// One's own view of the active talkers.
  case list
  /// A ready-made grid of everybody.
  case view

  /// The most talkers that EnableX lists.
  static let talkers = 12
}
