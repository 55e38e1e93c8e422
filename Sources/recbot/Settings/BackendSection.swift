import MediaCore
import Settings

/// The sections `data`, `backend` and `client`.
extension Setting {
  /// Where nobody says, it is what `DataFolder` finds.
  static var dataDirectory: Setting<String> {
    .init(
      "data.dir", "Folder of everything that is kept, made with mode 0700; as a service: /var/lib/recbot",
      flag: "--data-dir", placeholder: "folder", variables: ["RECBOT_DATA_DIR"], default: "recbot-data",
      parse: Values.text)
  }

  static var backendBind: Setting<String> {
    .init(
      "backend.bind", "Address to listen on", flag: "--bind", placeholder: "address",
      variables: ["RECBOT_BACKEND_BIND"], default: "127.0.0.1", parse: Values.listenAddress)
  }
  static var backendPort: Setting<Int> {
    .init(
      "backend.port", "Port; 0 takes any free one", flag: "--port", placeholder: "port",
      variables: ["RECBOT_BACKEND_PORT"], default: "8080", parse: Values.port)
  }
  static var database: Setting<String?> {
    .init(
      "backend.database", "The backend's database, sqlite:PATH or postgres://USER@HOST/NAME", flag: "--database",
      placeholder: "database", otherwise: "recbot.sqlite in the data folder", example: "sqlite:…",
      parse: Values.url("sqlite:", "postgres://", "postgresql://"))
  }
  static var withWorker: Setting<Bool> {
    .init(
      "backend.with-worker", "Also be a worker: carry the jobs out on this machine", flag: "--with-worker",
      default: "false", parse: Values.boolean)
  }
  static var publicRoomURL: Setting<String?> {
    .init(
      "backend.public-room-url", "The room server's address that participants get with a token",
      otherwise: "livekit.url", example: "wss://…", parse: Values.url("ws://", "wss://"))
  }
  static var callerSecret: Setting<String?> {
    .init(
      "backend.caller-secret", "Signs callers' JWTs, 32 bytes or more", variables: ["RECBOT_API_SECRET"],
      otherwise: "none: API keys only", example: "…", isSecret: true, parse: Values.secret(bytes: 32))
  }
  // It lets read what is not worth much.
  static var metricsSecret: Setting<String?> {
    .init(
      "backend.metrics-secret", "What Prometheus shows for /metrics", otherwise: "none: it is open", example: "…",
      isSecret: true, parse: Values.secret(bytes: 16))
  }
  static var backendConnectionsPerAddress: Setting<Int> {
    .init(
      "backend.connections-per-address", "Connections that have shown no credential yet; a proxy is one address",
      default: "64", parse: Values.whole(in: 1...100_000))
  }
  static var keepJobs: Setting<Duration> {
    .init(
      "backend.keep-jobs", "Final jobs and their events are forgotten after so long", default: "30d",
      parse: Values.duration)
  }

  static var backendURL: Setting<String> {
    .init(
      "client.backend", "The backend's address", flag: "--backend", placeholder: "url", variables: ["RECBOT_BACKEND"],
      default: "http://127.0.0.1:8080", parse: Values.url("http://", "https://"))
  }
  static var clientKey: Setting<String?> {
    .init(
      "client.api-key", "A key that `recbot keys add` made, or a JWT", flag: "--backend-key", placeholder: "key",
      example: "rbk_…", isSecret: true, parse: Values.text)
  }
}

extension SettingSection {
  static var data: SettingSection {
    SettingSection(
      "data",
      comment:
        "The data of `recbot serve` and `recbot worker`: the database, recordings that are being made, finished ones.",
      [.of(.dataDirectory)])
  }
  static var backend: SettingSection {
    SettingSection(
      "backend",
      comment: "`recbot serve`. It takes the room service from the section livekit, and alone needs its secret.",
      [
        .of(.backendBind), .of(.backendPort), .of(.database), .of(.withWorker), .of(.publicRoomURL), .of(.callerSecret),
        .of(.metricsSecret), .of(.backendConnectionsPerAddress), .of(.keepJobs),
      ])
  }
  static var client: SettingSection {
    SettingSection(
      "client", comment: "`recbot jobs` and `recbot schedule`; the backend's address is the workers' too.",
      [.of(.backendURL), .of(.clientKey)])
  }
}
