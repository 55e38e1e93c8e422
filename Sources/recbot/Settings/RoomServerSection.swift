import Logging
import Settings
import WebClient

/// The sections `network`, `peer`, `room-server` and `log`.
extension Setting {
  static var privateAddresses: Setting<PrivateAddresses> {
    .init(
      "network.private-addresses",
      "Whether addresses that others name may lead into private networks: refuse or allow", default: "refuse",
      parse: Values.word("rule for private addresses"))
  }
  static var peerRole: Setting<String?> {
    .init(
      "peer.as", "In a two-party room: host, guest, or auto for the free seat", flag: "--as", placeholder: "role",
      variables: ["RECBOT_PEER_AS"], default: "auto", parse: Values.peerRole)
  }
  static var logLevel: Setting<Logger.Level> {
    .init(
      "log.level", "Log level: trace, debug, info, notice, warning, error; a worker's is info where nobody says",
      flag: "--log-level", placeholder: "level",
      variables: ["RECBOT_LOG_LEVEL"], default: "warning", parse: Values.word("log level"))
  }

  static var bind: Setting<String> {
    .init(
      "room-server.bind", "Address to listen on", flag: "--bind", placeholder: "address", default: "127.0.0.1",
      parse: Values.listenAddress)
  }
  static var port: Setting<Int> {
    .init(
      "room-server.port", "Port for signalling; 0 takes any free one", flag: "--port", placeholder: "port",
      default: "7880", parse: Values.port)
  }
  static var iceTCPPort: Setting<Int> {
    .init(
      "room-server.ice-tcp-port", "TCP port for media of clients that UDP does not reach; 0 takes any free one",
      flag: "--ice-tcp-port", placeholder: "port", default: "0", parse: Values.port)
  }
  static var testAPI: Setting<Bool> {
    .init(
      "room-server.test-api",
      "Let faults be commanded: POST /test/<verb> with a token that has the grant roomAdmin", flag: "--test-api",
      default: "false", parse: Values.boolean)
  }
  static var connectionsPerAddress: Setting<Int> {
    .init(
      "room-server.connections-per-address", "Connections that have shown no token yet; a proxy is one address",
      default: "64", parse: Values.whole(in: 1...100_000))
  }
  static var autoCreate: Setting<Bool> {
    .init(
      "room-server.auto-create", "Joining makes the room", flag: "--no-auto-create", default: "true",
      parse: Values.boolean)
  }
  static var webhooks: Setting<String?> {
    .init(
      "room-server.webhooks", "Who receives events, http:// or https://; several with commas, or the flag repeated",
      flag: "--webhook", placeholder: "url", example: "http://…", parse: Values.urls("http://", "https://"))
  }
  static var iceServers: Setting<String?> {
    .init(
      "room-server.ice-servers",
      "A STUN or TURN server for clients, such as turn:host:3478?transport=udp; several with commas, or the flag repeated",
      flag: "--ice-server", placeholder: "url", example: "turn:host:3478",
      parse: Values.urls("stun:", "stuns:", "turn:", "turns:"))
  }
  static var iceUsername: Setting<String?> {
    .init(
      "room-server.ice-username", "User name at the TURN servers", flag: "--ice-username", placeholder: "name",
      example: "…", parse: Values.text)
  }
  static var iceCredential: Setting<String?> {
    .init(
      "room-server.ice-credential", "Password at the TURN servers", flag: "--ice-credential", placeholder: "password",
      example: "…", isSecret: true, parse: Values.text)
  }
}

extension SettingSection {
  static var network: SettingSection { SettingSection("network", [.of(.privateAddresses)]) }
  static var peer: SettingSection { SettingSection("peer", [.of(.peerRole)]) }
  static var log: SettingSection { SettingSection("log", [.of(.logLevel)]) }
  static var roomServer: SettingSection {
    SettingSection(
      "room-server",
      [
        .of(.bind), .of(.port), .of(.iceTCPPort), .of(.testAPI), .of(.connectionsPerAddress), .of(.autoCreate),
        .of(.webhooks), .of(.iceServers), .of(.iceUsername), .of(.iceCredential),
      ])
  }
}
