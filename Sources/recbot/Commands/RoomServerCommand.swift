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

  @Option(help: ArgumentHelp("Address to listen on (default: 127.0.0.1).", valueName: "address"))
  var bind: String?

  @Option(help: ArgumentHelp("Port for signalling; 0 takes any free one (default: 7880).", valueName: "port"))
  var port: String?

  @Option(
    help: ArgumentHelp(
      "TCP port for media of clients that UDP does not reach; 0 takes any free one (default: 0).", valueName: "port"))
  var iceTcpPort: String?

  @Option(
    help: ArgumentHelp(
      "A STUN or TURN server for clients, such as turn:host:3478?transport=udp; may be repeated.",
      valueName: "url"))
  var iceServer: [String] = []

  @Option(help: ArgumentHelp("User name at the TURN servers.", valueName: "name"))
  var iceUsername: String?

  @Option(help: ArgumentHelp("Password at the TURN servers.", valueName: "password"))
  var iceCredential: String?

  @Option(help: ArgumentHelp("Who receives events, http:// or https://; may be repeated.", valueName: "url"))
  var webhook: [String] = []

  @Flag(help: "Let faults be commanded: POST /test/<verb> with a token that has the grant roomAdmin.")
  var testApi = false

  @Flag(help: "Refuse joins of rooms that do not exist; they are made by the API, or by tokens that may.")
  var noAutoCreate = false

  @OptionGroup var credentials: ServerCredentials

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let logger = try shared.logger("room-server", configuration)
    let bind = try configuration.value(
      flag: bind, "--bind", .bind, default: "127.0.0.1", parse: Values.listenAddress)
    let isLocal = bind == "127.0.0.1" || bind == "localhost" || bind == "::1"
    let (key, secret) = try credentials.resolve(configuration, allowsDefault: isLocal)
    var server = RoomServer.Configuration(apiKeys: [key: secret])
    server.bind = bind
    server.port = try configuration.value(flag: port, "--port", .port, default: 7880, parse: Values.port)
    server.mediaTCPPort = try configuration.value(
      flag: iceTcpPort, "--ice-tcp-port", .iceTCPPort, default: 0, parse: Values.port)
    if !isLocal { server.mediaAddresses = bind == "0.0.0.0" || bind == "::" ? [] : [bind] }
    server.hasTestAPI = try testApi || configuration.value(.testAPI, default: false, parse: Values.boolean)
    server.createsRooms = try !noAutoCreate && configuration.value(.autoCreate, default: true, parse: Values.boolean)
    server.limits.connectionsPerAddress = try configuration.value(.connectionsPerAddress, default: 64) {
      text throws(ValueError) in try Values.whole(text, in: 1...100_000)
    }
    let iceURLs = Self.list(iceServer, configuration[.iceServers]?.text)
    if !iceURLs.isEmpty {
      let schemes = ["stun:", "stuns:", "turn:", "turns:"]
      for url in iceURLs where !schemes.contains(where: url.hasPrefix) {
        throw Failure(.usage, "--ice-server: '\(url)' is no URL of a STUN or TURN server")
      }
      server.iceServers = [
        ICEServer(
          urls: iceURLs, username: configuration.text(flag: iceUsername, .iceUsername) ?? "",
          credential: configuration.text(flag: iceCredential, .iceCredential) ?? "")
      ]
    }
    for text in Self.list(webhook, configuration[.webhooks]?.text) {
      do throws(WebhookURL.Fault) {
        server.webhooks.append(try WebhookURL(text))
      } catch {
        throw Failure(.usage, "--webhook: \(error)")
      }
    }
    DescriptorLimit.raise()
    let running = RoomServer(configuration: server, logger: logger)
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
