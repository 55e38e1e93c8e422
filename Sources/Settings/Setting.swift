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
  case keyFile = "connection.e2ee-key-file"
  case keysDir = "connection.e2ee-keys-dir"
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
  case codec = "recording.codec"
  case videoBitrate = "recording.video-bitrate"
  case audioBitrate = "recording.audio-bitrate"
  case maxDuration = "recording.max-duration"
  case stopWhenEmpty = "recording.stop-when-empty"
  case avatars = "recording.avatars"
  case avatarFolder = "recording.avatar-folder"
  case progress = "recording.progress"
  case job = "recording.job"
  case timeline = "recording.timeline"
  case log = "recording.log"
  case logKeep = "recording.log-keep"
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
  case iceTCPPort = "room-server.ice-tcp-port"
  case testAPI = "room-server.test-api"
  case connectionsPerAddress = "room-server.connections-per-address"
  case autoCreate = "room-server.auto-create"
  case webhooks = "room-server.webhooks"
  case iceServers = "room-server.ice-servers"
  case iceUsername = "room-server.ice-username"
  case iceCredential = "room-server.ice-credential"
  case logLevel = "log.level"
  // What the backend, its workers and its clients share.
  case dataDirectory = "data.dir"
  case backendBind = "backend.bind"
  case backendPort = "backend.port"
  case database = "backend.database"
  case withWorker = "backend.with-worker"
  case publicRoomURL = "backend.public-room-url"
  case callerSecret = "backend.caller-secret"
  case metricsSecret = "backend.metrics-secret"
  case backendConnectionsPerAddress = "backend.connections-per-address"
  case keepJobs = "backend.keep-jobs"
  case backendURL = "client.backend"
  case clientKey = "client.api-key"
  case workerSecret = "worker.secret"
  case workerSecretFile = "worker.secret-file"
  case workerName = "worker.name"
  case workerCapacity = "worker.capacity"
  case workerDrainTimeout = "worker.drain-timeout"
  case workerKeepParts = "worker.keep-parts"
  case workerBind = "worker.bind"
  case workerFilesURL = "worker.files-url"
  case workerAfter = "worker.after"
  case workerAfterTimeout = "worker.after-timeout"
  case upload = "delivery.upload"
  case s3Endpoint = "delivery.s3-endpoint"
  case s3Region = "delivery.s3-region"
  case s3Bucket = "delivery.s3-bucket"
  case s3PathStyle = "delivery.s3-path-style"
  case s3Prefix = "delivery.s3-prefix"
  case s3AccessKey = "delivery.s3-access-key-id"
  case s3SecretKey = "delivery.s3-secret-access-key"
  case s3SessionToken = "delivery.s3-session-token"
  case keyTemplate = "delivery.key-template"
  case backupDirectory = "delivery.backup-dir"
  case webhookURLs = "webhooks.urls"
  case webhookSecret = "webhooks.secret"
  case webhookForm = "webhooks.form"
  case webhookGiveUpAfter = "webhooks.give-up-after"

  /// The section of the file that it stands in.
  public var section: String { String(rawValue.prefix { $0 != "." }) }
  /// Its key in the section.
  public var key: String { String(rawValue.dropFirst(section.count + 1)) }

  /// The environment variables that set it, the strongest first: `RECBOT_` and the key, and where other programs have
  /// names for it, also theirs.
  public var environmentNames: [String] {
    let name = key.uppercased().replacing("-", with: "_")
    switch self {
    case .url: return ["RECBOT_URL", "LIVEKIT_URL"]
    // RECBOT_API_KEY is a caller's key for the backend.
    case .apiKey, .apiSecret: return ["LIVEKIT_\(name)"]
    case .callerSecret: return ["RECBOT_API_SECRET"]
    case .dataDirectory: return ["RECBOT_DATA_DIR"]
    case .backendURL: return ["RECBOT_BACKEND"]
    case .s3Region: return ["RECBOT_S3_REGION", "AWS_REGION"]
    case .s3AccessKey: return ["AWS_ACCESS_KEY_ID"]
    case .s3SecretKey: return ["AWS_SECRET_ACCESS_KEY"]
    case .s3SessionToken: return ["AWS_SESSION_TOKEN"]
    case .webhookURLs, .webhookSecret, .webhookForm, .webhookGiveUpAfter: return ["RECBOT_WEBHOOK_\(name)"]
    case .backendBind, .backendPort, .peerRole, .logLevel: break
    default:
      guard ["talker", "room-server", "worker"].contains(section) else { return ["RECBOT_\(name)"] }
    }
    return ["RECBOT_\(section.uppercased().replacing("-", with: "_"))_\(name)"]
  }

  /// True for what must never be shown.
  public var isSecret: Bool {
    [
      .apiSecret, .token, .turnCredential, .iceCredential, .callerSecret, .metricsSecret, .clientKey, .workerSecret,
      .s3SecretKey, .s3SessionToken, .webhookSecret,
    ].contains(self)
  }
}

extension Setting {
  /// A value as it may be shown: secrets as `****`, and the password in a URL too.
  public func shown(_ text: String) -> String { isSecret ? "****" : Setting.masked(text) }

  /// A text without the passwords of the URLs in it: `postgres://user:****@host/name`, `…?password=****`.
  public static func masked(_ text: String) -> String {
    text.split(separator: ",", omittingEmptySubsequences: false).map { maskedURL(String($0)) }.joined(separator: ",")
  }

  private static func maskedURL(_ text: String) -> String {
    guard let scheme = text.firstRange(of: "://") else { return text }
    var rest = String(text[scheme.upperBound...])
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    // A password may itself hold an at sign that nobody escaped: the last one counts.
    if let at = authority.lastIndex(of: "@"), let colon = authority.firstIndex(of: ":"), colon < at {
      rest = rest[..<colon] + ":****" + rest[at...]
    }
    guard let query = rest.firstIndex(of: "?") else { return text[..<scheme.upperBound] + rest }
    let parts = rest[rest.index(after: query)...].split(separator: "&", omittingEmptySubsequences: false).map { part in
      let name = part.prefix { $0 != "=" }
      let isOpen = !["password", "sslpassword", "token", "secret", "key", "signature"].contains(name.lowercased())
      return isOpen ? String(part) : "\(name)=****"
    }
    return text[..<scheme.upperBound] + rest[...query] + parts.joined(separator: "&")
  }
}
