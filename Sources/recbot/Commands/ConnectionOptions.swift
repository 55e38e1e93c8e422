import ArgumentParser
import MediaCore
import Rooms
import Settings
import Transport

/// The flags that say when to wait, to come back and to give up, and which way media may take.
struct ConnectionOptions: ParsableArguments {
  @Flag(help: "End the recording when the connection is lost, instead of coming back.")
  var noReconnect = false

  @Option(
    help: ArgumentHelp(
      "At most so many attempts to come back after a loss, with a fixed interval between them (default: no limit, and "
        + "growing pauses).", valueName: "n"))
  var reconnectAttempts: String?

  @Option(
    help: ArgumentHelp(
      "The fixed interval between attempts (default with --reconnect-attempts: 10s).", valueName: "time"))
  var reconnectInterval: String?

  @Option(
    help: ArgumentHelp(
      "Give up when the connection has been down for so long (default: as long as the recording may last).",
      valueName: "time"))
  var reconnectTimeout: String?

  @Option(
    help: ArgumentHelp(
      "Keep trying for so long while there is no such room, no place in it, or no server (default: fail at once).",
      valueName: "time"))
  var waitForRoom: String?

  @Option(
    help: ArgumentHelp(
      "Stay in the room for so long until somebody lets the bot receive (default: fail at once).", valueName: "time"))
  var waitForAdmission: String?

  @Flag(help: "Send and receive media over TURN relays only.")
  var forceTurn = false

  @Option(
    help: ArgumentHelp(
      "A TURN server beside those that the room server names, turn:host:port?transport=udp or tcp, or turns:host:port.",
      valueName: "url"))
  var turnServer: String?

  @Option(help: ArgumentHelp("The user name for it.", valueName: "text"))
  var turnUsername: String?

  @Option(help: ArgumentHelp("The credential for it (better in RECBOT_TURN_CREDENTIAL than here).", valueName: "text"))
  var turnCredential: String?

  @Option(
    help: ArgumentHelp(
      "The keys of a room that is encrypted end to end: a file with one passphrase in one line, or a .yaml file (shared:, "
        + "participants:); - for standard input.", valueName: "file"))
  var e2eeKeyFile: String?

  /// Puts what is set into the options of a room connection.
  func apply(_ configuration: Configuration, to options: inout RoomOptions) throws {
    func time(_ flag: String?, _ name: String, _ setting: Setting) throws -> Int64? {
      try configuration.value(flag: flag, name, setting, parse: Values.duration)?.nanoseconds
    }
    func isOn(_ flag: Bool, _ setting: Setting, default fallback: Bool) throws -> Bool {
      try flag ? true : configuration.value(flag: nil, "", setting, parse: Values.boolean) ?? fallback
    }
    options.reconnect.allowsReconnect =
      try !noReconnect && isOn(false, .allowReconnect, default: true)
    let attempts = try configuration.value(
      flag: reconnectAttempts, "--reconnect-attempts", .numberOfAttempts, parse: Values.attempts)
    let interval = try time(reconnectInterval, "--reconnect-interval", .timeoutInterval)
    if attempts != nil || interval != nil {
      options.reconnect.rule = .fixed(attempts: attempts ?? 3, interval: interval ?? 10_000_000_000)
    }
    options.reconnect.limit = try time(reconnectTimeout, "--reconnect-timeout", .reconnectTimeout)
    options.reconnect.waitForRoom = try time(waitForRoom, "--wait-for-room", .waitForRoom) ?? 0
    options.reconnect.waitForAdmission = try time(waitForAdmission, "--wait-for-admission", .waitForAdmission)
    options.reconnect.relayOnly = try isOn(forceTurn, .forceTurn, default: false)
    if let file = configuration.text(flag: e2eeKeyFile, .keyFile) {
      guard options.kind == .liveKit else {
        throw Failure(.usage, "--e2ee-key-file: two-party rooms are not encrypted beyond WebRTC's own encryption")
      }
      options.keys = try KeyFile.read(file)
    }
    guard let server = configuration.text(flag: turnServer, .turnServer) else { return }
    guard server.hasPrefix("turn:") || server.hasPrefix("turns:") else {
      throw Failure(.usage, "--turn-server: '\(server)' is not a TURN address; write for example turn:host:3478")
    }
    options.iceServers = [
      ICEServer(
        urls: [server], username: configuration.text(flag: turnUsername, .turnUsername) ?? "",
        credential: configuration.text(flag: turnCredential, .turnCredential) ?? "")
    ]
  }
}
