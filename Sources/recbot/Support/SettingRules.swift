import Delivery
import JobsAPI
import Layouts
import Logging
import Recording
import Session
import Settings
import WebClient

/// What recbot knows of a setting: its default, and which values it can have.
struct SettingRule: Sendable {
  /// The default as one would write it; nil: none, or one that depends on other things.
  var fallback: String?
  /// Throws when the text is no value of the setting. The error never repeats a secret.
  var check: @Sendable (String) throws(ValueError) -> Void

  init(
    _ fallback: String? = nil,
    _ check: @escaping @Sendable (String) throws(ValueError) -> Void = { _ throws(ValueError) in }
  ) {
    self.fallback = fallback
    self.check = check
  }

  private static func duration(_ fallback: String? = nil) -> SettingRule {
    SettingRule(fallback) { text throws(ValueError) in _ = try Values.duration(text) }
  }

  private static func boolean(_ fallback: String? = nil) -> SettingRule {
    SettingRule(fallback) { text throws(ValueError) in _ = try Values.boolean(text) }
  }

  private static func whole(_ fallback: String? = nil, _ limits: ClosedRange<Int>) -> SettingRule {
    SettingRule(fallback) { text throws(ValueError) in _ = try Values.whole(text, in: limits) }
  }

  private static func port(_ fallback: String) -> SettingRule {
    SettingRule(fallback) { text throws(ValueError) in _ = try Values.port(text) }
  }

  private static func words(_ fallback: String?, _ what: String, _ known: [String]) -> SettingRule {
    SettingRule(fallback) { text throws(ValueError) in
      guard !known.contains(text) else { return }
      let hint = Values.suggestion(for: text, among: known).map { "; did you mean '\($0)'?" }
      throw ValueError("there is no \(what) '\(text)'" + (hint ?? "; known: \(known.joined(separator: ", "))"))
    }
  }

  private static func words<Word: RawRepresentable & CaseIterable>(
    _ fallback: String?, _ what: String, _: Word.Type
  ) -> SettingRule where Word.RawValue == String { words(fallback, what, Word.allCases.map(\.rawValue)) }

  /// A text that begins with one of some schemes; several with commas when `isList`.
  private static func url(_ schemes: [String], isList: Bool = false) -> SettingRule {
    SettingRule { text throws(ValueError) in
      let parts = isList ? text.split(separator: ",").map { String($0.drop { $0 == " " }) } : [text]
      for part in parts where !schemes.contains(where: { part.hasPrefix($0) && part.count > $0.count }) {
        throw ValueError("'\(Setting.masked(part))' does not begin with \(schemes.joined(separator: " or "))")
      }
    }
  }

  /// A secret that signs or opens something: too short ones can be guessed.
  private static let longSecret = SettingRule { text throws(ValueError) in
    guard text.utf8.count >= 32 else { throw ValueError("the secret is too short: 32 bytes or more") }
  }

  /// A secret that lets read what is not worth much.
  private static let readingSecret = SettingRule { text throws(ValueError) in
    guard text.utf8.count >= 16 else { throw ValueError("the secret is too short: 16 bytes or more") }
  }

  private static let capacity = SettingRule("auto") { text throws(ValueError) in
    if text != "auto" { _ = try Values.whole(text, in: 1...1000) }
  }

  private static let presenterReturn = SettingRule("5s") { text throws(ValueError) in
    if text != "off" { _ = try Values.duration(text) }
  }

  private static let webhookSecret = SettingRule { text throws(ValueError) in
    let digits = text.dropFirst("whsec_".count).utf8
    let isBase64 = digits.allSatisfy {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || [43, 47, 61].contains($0)
    }
    guard text.hasPrefix("whsec_"), isBase64, (32...88).contains(digits.count) else {
      throw ValueError("not a signing key: whsec_ and the base64 of 24 to 64 random bytes")
    }
  }

  private static let keyTemplate = SettingRule("{room}-{time}.webm") { text throws(ValueError) in
    do throws(DeliveryError) {
      _ = try KeyTemplate(text)
    } catch {
      throw ValueError("\(error)")
    }
    if let problem = JobRequest.problem(withName: text) { throw ValueError("'\(text)': \(problem)") }
  }

  private static let s3Bucket = SettingRule { text throws(ValueError) in
    guard (3...63).contains(text.utf8.count), !text.contains("/") else {
      throw ValueError("'\(text)' is not a bucket's name: 3 to 63 bytes, no slash")
    }
  }

  /// What is known of a setting.
  static func of(_ setting: Setting) -> SettingRule {
    switch setting {
    case .url: url(["ws://", "wss://", "http://", "https://"])
    case .publicRoomURL: url(["ws://", "wss://"])
    case .s3Endpoint: url(["http://", "https://"])
    case .backendURL:
      SettingRule("http://127.0.0.1:8080", url(["http://", "https://"]).check)
    case .webhooks, .webhookURLs: url(["http://", "https://"], isList: true)
    case .iceServers: url(["stun:", "stuns:", "turn:", "turns:"], isList: true)
    case .turnServer: url(["turn:", "turns:"])
    case .database: url(["sqlite:", "postgres://", "postgresql://"])
    case .apiKey, .apiSecret, .token, .tlsCA, .turnUsername, .turnCredential, .iceUsername, .iceCredential,
      .connectOptions, .identity, .transcript, .layoutsDir, .avatarFolder, .timeline, .log, .runDirectory, .job,
      .clientKey, .workerSecretFile, .workerName, .s3Prefix, .s3AccessKey, .s3SecretKey, .s3SessionToken,
      .backupDirectory, .workerBind, .workerAfter, .keyFile, .keysDir:
      SettingRule()
    case .name: SettingRule("recbot")
    case .bind, .backendBind:
      SettingRule("127.0.0.1") { text throws(ValueError) in _ = try Values.listenAddress(text) }
    case .port: port("7880")
    case .iceTCPPort: port("0")
    case .backendPort: port("8080")
    case .allowReconnect, .notifyResolution, .control, .autoCreate: boolean("true")
    case .forceTurn, .chatOnly, .testAPI, .withWorker, .s3PathStyle: boolean("false")
    case .muteIcons, .marks: boolean()
    case .numberOfAttempts: SettingRule { text throws(ValueError) in _ = try Values.attempts(text) }
    case .timeoutInterval, .reconnectTimeout, .waitForRoom, .waitForAdmission, .maxDuration, .stopWhenEmpty, .logKeep:
      duration()
    case .receive: words("best", "way to receive", ReceptionPolicy.Mode.self)
    case .maxTalkers: whole(1...100)
    case .activeViews: words(nil, "view", ActiveViews.self)
    case .bandwidthFeedback: words("none", "bandwidth feedback", ["none", "remb", "transport-cc"])
    case .layout: SettingRule("grid")
    case .theme: words(nil, "theme", ThemeName.self)
    case .size: SettingRule("1280x720") { text throws(ValueError) in _ = try Values.size(text) }
    case .framesPerSecond: whole("30", 1...60)
    case .codec: SettingRule("vp8") { text throws(ValueError) in _ = try Values.codec(text) }
    // The default is the codec's.
    case .videoBitrate: SettingRule { text throws(ValueError) in _ = try Values.bitrate(text) }
    case .audioBitrate: SettingRule("96k") { text throws(ValueError) in _ = try Values.bitrate(text) }
    case .avatars: words("off", "source of avatars", AvatarRules.Origin.self)
    case .progress: words("auto", "progress mode", ProgressMode.self)
    case .pausePolicy: words("cut", "pause policy", PausePolicy.self)
    case .talkerLevels: words("auto", "source of levels", TalkerPolicy.Levels.self)
    case .talkerMinimumHold: duration("2s")
    case .talkerTakeoverDelay: duration("400ms")
    case .talkerTakeoverMargin: whole("6", 0...60)
    case .talkerOverlapDelay: duration("1500ms")
    case .talkerThreshold: whole("-40", -127...0)
    case .talkerNoiseMargin: whole("9", 0...60)
    case .talkerActivityShare: whole("40", 1...100)
    case .talkerPause: duration("600ms")
    case .talkerPresenterBonus: whole("3", 0...60)
    case .talkerPresenterReturn: presenterReturn
    case .talkerAtMost: whole("12", 1...100)
    case .privateAddresses: words("refuse", "rule for private addresses", PrivateAddresses.self)
    case .peerRole: SettingRule("auto") { text throws(ValueError) in _ = try Values.peerRole(text) }
    case .logLevel: words("warning", "log level", Logger.Level.self)
    case .dataDirectory: SettingRule("recbot-data")
    case .callerSecret, .workerSecret: longSecret
    case .metricsSecret: readingSecret
    case .connectionsPerAddress, .backendConnectionsPerAddress: whole("64", 1...100_000)
    case .keepJobs: duration("30d")
    case .workerCapacity: capacity
    case .workerDrainTimeout: duration("1h")
    case .workerKeepParts: duration("7d")
    case .workerAfterTimeout: duration("10m")
    case .workerFilesURL: url(["http://", "https://"])
    case .upload: words("off", "way to upload", ["off", "after", "live"])
    case .s3Region: SettingRule("us-east-1")
    case .s3Bucket: s3Bucket
    case .keyTemplate: keyTemplate
    case .webhookSecret: webhookSecret
    case .webhookForm: words("standard", "form of webhooks", ["standard", "livekit"])
    case .webhookGiveUpAfter: duration("3d")
    }
  }

  private static func whole(_ limits: ClosedRange<Int>) -> SettingRule { whole(nil, limits) }
}
