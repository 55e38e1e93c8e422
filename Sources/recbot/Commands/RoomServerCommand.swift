import ArgumentParser
import RoomServer
import Settings
import Transport
import UnixSignals

/// `recbot room-server`: the embedded room server on its own.
struct RoomServerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "room-server", abstract: "Runs a small room server that LiveKit clients can join.",
    discussion: """
      For demos, tests and small private rooms. It listens on the loopback interface unless --bind says otherwise.

        recbot room-server --api-key devkey --api-secret a-long-random-secret
      """)

  @Option(help: .setting(.bind))
  var bind: String?

  @Option(help: .setting(.port))
  var port: String?

  @Option(help: .setting(.iceTCPPort))
  var iceTcpPort: String?

  @Option(help: .setting(.iceServers))
  var iceServer: [String] = []

  @Option(help: .setting(.iceUsername))
  var iceUsername: String?

  @Option(help: .setting(.iceCredential))
  var iceCredential: String?

  @Option(help: .setting(.webhooks))
  var webhook: [String] = []

  @Flag(help: .setting(.testAPI))
  var testApi = false

  @Flag(help: "Refuse joins of rooms that do not exist; they are made by the API, or by tokens that may.")
  var noAutoCreate = false

  @OptionGroup var credentials: ServerCredentials

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let logger = try shared.logger("room-server", configuration)
    let bind = try configuration.value(.bind, flag: bind)
    let isLocal = bind == "127.0.0.1" || bind == "localhost" || bind == "::1"
    let (key, secret) = try credentials.resolve(configuration, allowsDefault: isLocal)
    var server = EmbeddedRoomServer.Configuration(apiKeys: [key: secret])
    server.bind = bind
    server.port = try configuration.value(.port, flag: port)
    server.mediaTCPPort = try configuration.value(.iceTCPPort, flag: iceTcpPort)
    if !isLocal { server.mediaAddresses = bind == "0.0.0.0" || bind == "::" ? [] : [bind] }
    server.hasTestAPI = try testApi || configuration.value(.testAPI)
    server.createsRooms = try !noAutoCreate && configuration.value(.autoCreate)
    server.limits.connectionsPerAddress = try configuration.value(.connectionsPerAddress)
    let iceURLs = Self.list(iceServer, configuration.text(.iceServers))
    if !iceURLs.isEmpty {
      let schemes = ["stun:", "stuns:", "turn:", "turns:"]
      for url in iceURLs where !schemes.contains(where: url.hasPrefix) {
        throw Failure(.usage, "--ice-server: '\(url)' is no URL of a STUN or TURN server")
      }
      server.iceServers = [
        ICEServer(
          urls: iceURLs, username: configuration.text(.iceUsername, flag: iceUsername) ?? "",
          credential: configuration.text(.iceCredential, flag: iceCredential) ?? "")
      ]
    }
    for text in Self.list(webhook, configuration.text(.webhooks)) {
      do throws(WebhookURL.Fault) {
        server.webhooks.append(try WebhookURL(text))
      } catch {
        throw Failure(.usage, "--webhook: \(error)")
      }
    }
    DescriptorLimit.raise()
    let running = EmbeddedRoomServer(configuration: server, logger: logger)
    do {
      let port = try running.start()
      if server.hasTestAPI, !isLocal { logger.warning("the test API can be reached from other machines") }
      let host = bind.contains(":") ? "[\(bind)]" : bind
      Console.print("Room server on ws://\(host):\(port) (API key \(key)); Ctrl-C ends it.")
    } catch {
      throw Failure(error)
    }
    for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { break }
    running.stop()
  }

  /// The flag's values, else those of the setting, between commas.
  private static func list(_ flag: [String], _ setting: String?) -> [String] {
    guard flag.isEmpty, let setting else { return flag }
    return setting.split(separator: ",").map { String($0.drop { $0 == " " }) }
  }
}
