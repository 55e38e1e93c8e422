import ArgumentParser
import MediaCore
import RecbotKit
import Settings
import Transport

/// The flags that say when to wait, to come back and to give up, and which way media may take.
struct ConnectionOptions: ParsableArguments {
  @Flag(help: "End the recording when the connection is lost, instead of coming back.")
  var noReconnect = false

  @Option(help: .setting(.numberOfAttempts))
  var reconnectAttempts: String?

  @Option(help: .setting(.timeoutInterval))
  var reconnectInterval: String?

  @Option(help: .setting(.reconnectTimeout))
  var reconnectTimeout: String?

  @Option(help: .setting(.waitForRoom))
  var waitForRoom: String?

  @Option(help: .setting(.waitForAdmission))
  var waitForAdmission: String?

  @Flag(help: .setting(.forceTurn))
  var forceTurn = false

  @Option(help: .setting(.turnServer))
  var turnServer: String?

  @Option(help: .setting(.turnUsername))
  var turnUsername: String?

  @Option(help: .setting(.turnCredential))
  var turnCredential: String?

  @Option(help: .setting(.keyFile))
  var e2eeKeyFile: String?

  /// Puts what is set into the options of a room connection. The key file and the credential of a job go before.
  func apply(
    _ configuration: Configuration, to options: inout RoomOptions, keyFile: String? = nil, turnCredential: String? = nil
  ) throws {
    options.reconnect.allowsReconnect = try !noReconnect && configuration.value(.allowReconnect)
    let attempts = try configuration.value(.numberOfAttempts, flag: reconnectAttempts)
    let interval = try configuration.value(.timeoutInterval, flag: reconnectInterval)
    if attempts != nil || interval != nil {
      options.reconnect.rule = .fixed(attempts: attempts ?? 3, interval: interval ?? .seconds(10))
    }
    options.reconnect.limit = try configuration.value(.reconnectTimeout, flag: reconnectTimeout)
    options.reconnect.waitForRoom = try configuration.value(.waitForRoom, flag: waitForRoom) ?? .zero
    options.reconnect.waitForAdmission = try configuration.value(.waitForAdmission, flag: waitForAdmission)
    options.reconnect.relayOnly = try forceTurn || configuration.value(.forceTurn)
    if let file = keyFile ?? configuration.text(.keyFile, flag: e2eeKeyFile) {
      guard options.kind == .liveKit else {
        throw Failure(.usage, "--e2ee-key-file: two-party rooms are not encrypted beyond WebRTC's own encryption")
      }
      options.keys = try KeyFile.read(file)
    }
    guard let server = configuration.text(.turnServer, flag: turnServer) else { return }
    guard server.hasPrefix("turn:") || server.hasPrefix("turns:") else {
      throw Failure(.usage, "--turn-server: '\(server)' is not a TURN address; write for example turn:host:3478")
    }
    options.iceServers = [
      ICEServer(
        urls: [server], username: configuration.text(.turnUsername, flag: turnUsername) ?? "",
        credential: turnCredential ?? configuration.text(.turnCredential, flag: self.turnCredential) ?? "")
    ]
  }
}
