import ArgumentParser
import Glibc
import MediaCore
import Recording
import RecbotKit
import Session
import Settings
import Signaling
import WebClient

/// `recbot join`: records one room.
struct JoinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join", abstract: "Joins a room and records it into a WebM file.",
    discussion: """
      Ctrl-C or SIGTERM finishes the file; a second one gives up at once. The last line of standard output is the \
      file's path.

        recbot join my-room --url wss://livekit.example.com --api-key KEY --api-secret SECRET
        recbot join my-room --url ws://127.0.0.1:7880 --token JWT --layout speaker --output talk.webm
        recbot join my-room --also portrait:phone.webm --also audio:sound.webm
        recbot join peer:booth --url ws://127.0.0.1:7880 --api-key KEY --api-secret SECRET

      A room named peer:… is one of two parties: the bot talks with one browser or other peer directly, and the \
      recording ends when that one says goodbye.
      """)

  @Argument(help: "The room's name; peer:NAME for a two-party room.")
  var room: String

  @Option(name: .customLong("as"), help: .setting(.peerRole))
  var role: String?

  @Option(help: .setting(.url, namesVariable: true))
  var url: String?

  @Option(help: .setting(.token))
  var token: String?

  @Option(help: .setting(.apiKey, namesVariable: true))
  var apiKey: String?

  @Option(help: .setting(.apiSecret))
  var apiSecret: String?

  @Option(help: .setting(.identity))
  var identity: String?

  @Option(help: .setting(.tlsCA))
  var tlsCa: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file to write, NAME.webm, or FOLDER/ (default: room and time in the current folder).", valueName: "file"))
  var output: String?

  @Option(help: ArgumentHelp("\(AlsoWish.help)", valueName: "what:file"))
  var also: [String] = []

  @Option(
    help: ArgumentHelp(
      "Give sound or pictures to another program while they are recorded: audio:mixed=unix:PATH, audio:mixed=ws://HOST/PATH or "
        + "video:IDENTITY=fd:NUMBER, with options such as ,rate=16000,channels=1 or ,size=640x360,fps=10 if wanted. May be given several times.",
      valueName: "what=where"))
  var sink: [String] = []

  @OptionGroup var selection: SelectionOptions

  @Option(help: .setting(.maxDuration))
  var maxDuration: String?

  @Option(help: .setting(.stopWhenEmpty))
  var stopWhenEmpty: String?

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var reception: ReceptionOptions
  @OptionGroup var recording: RecordingOptions
  @OptionGroup var stills: StillOptions
  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let loaded = try shared.load()
    let logger = try shared.logger("recbot", loaded)
    let configuration = try reception.merge(into: loaded, logger: logger)
    let plan = try plan(configuration)
    recording.tellLog(plan.recording.log, plan.progress)
    let result = try await RecordingJob(plan: plan, logger: logger).run()
    let progress = result.summary.progress
    for file in progress.further where file.failure == nil { Console.print(file.path) }
    if let segments = progress.segments, segments.failure == nil { Console.print(segments.index) }
    let faults = await stills.draw(of: result.summary.output)
    Console.print(result.summary.output)
    // The file is whole in all cases; the exit code says when it is not all that was wanted.
    if let error = result.error { throw Failure(error) }
    if let failure = Failure(progress, faults, beside: result.summary.output) { throw failure }
  }

  /// What flags and settings say.
  func plan(_ configuration: Configuration) throws -> RecordingPlan {
    let (name, kind) = try roomKind(configuration)
    let isChatOnly = try reception.isChatOnly(configuration)
    if isChatOnly, kind != .liveKit { throw Failure(.usage, "a two-party room has no chat that could be written") }
    if isChatOnly, output != nil {
      throw Failure(.usage, "--chat-only writes no WebM: give --transcript instead of --output")
    }
    let output = OutputPath.named(output, room: name)
    let picture = try recording.picture.plan(configuration)
    var settings = try recording.settings(
      configuration, picture, output: output, title: name,
      maximumDuration: try configuration.value(.maxDuration, flag: maxDuration),
      stopWhenEmpty: try configuration.value(.stopWhenEmpty, flag: stopWhenEmpty))
    settings.log = try recording.logSettings(configuration)
    try reception.apply(configuration, to: &settings)
    if isChatOnly, settings.transcript == nil {
      settings.transcript = OutputPath.standard(room: name, ending: "jsonl")
    }
    if isChatOnly, settings.manifest != nil || settings.talkers != nil {
      throw Failure(.usage, "--manifest and --talkers tell of a recording; with --chat-only there is none")
    }
    var options = try roomOptions(name, kind, configuration)
    if let part = try selection.selection() {
      guard kind == .liveKit else {
        throw Failure(.usage, "a two-party room is recorded whole: give no --participant or --track")
      }
      options.selection = RoomSelection(part)
    }
    let progress = try recording.progressMode(configuration)
    try stills.check(isShown: !isChatOnly)
    if !isChatOnly {
      try OutputPath.check(output)
      settings.segments = try recording.segmentSettings(configuration, output: output)
    }
    if isChatOnly, !also.isEmpty || !sink.isEmpty || recording.segments != nil {
      throw Failure(.usage, "--chat-only takes no pictures and no sound: give no --also, no --segments and no --sink")
    }
    settings.sinks = try SinkWish.sinks(sink, framesPerSecond: settings.session.framesPerSecond)
    settings.further = try recording.picture.further(
      also, of: settings, configuration, look: reception.look(configuration))
    if let transcript = settings.transcript {
      try OutputPath.check(transcript, endings: [".jsonl", ".srt", ".vtt"], flag: "--transcript")
    }
    var plan = RecordingPlan(
      room: name, connection: options, recording: settings,
      commands: try recording.commands(configuration, picture, of: settings, look: reception.look(configuration)),
      progress: progress)
    plan.relays = try SinkWish.relays(of: settings.sinks)
    if kind == .liveKit, case .minted(let key, let secret, _, _, _) = options.tokens {
      plan.occupiedRooms = OccupiedRooms(
        url: options.url, apiKey: key, apiSecret: secret, tlsCA: options.tlsCAFile)
    }
    return plan
  }

  /// The room's name, and what kind of room it is.
  private func roomKind(_ configuration: Configuration) throws -> (name: String, kind: RoomKind) {
    let wish = try configuration.value(.peerRole, flag: role)
    let prefix = "peer:"
    guard room.hasPrefix(prefix) else {
      if role != nil { throw Failure(.usage, "--as is for two-party rooms: write the room as peer:\(room)") }
      return (room, .liveKit)
    }
    let name = String(room.dropFirst(prefix.count))
    return (name, .peer(room: name, role: wish.flatMap { PeerRole(rawValue: $0) }))
  }

  private func roomOptions(
    _ room: String, _ kind: RoomKind, _ configuration: Configuration
  ) throws -> RoomOptions {
    guard !room.isEmpty, room.utf8.count <= 256 else {
      throw Failure(.usage, "the room's name must have 1 to 256 bytes")
    }
    guard let url = configuration.text(.url, flag: url) else {
      throw Failure(.usage, "no room server: give --url ws(s)://… or set LIVEKIT_URL")
    }
    var options = RoomOptions(url: url, tokens: try tokens(room, configuration), seed: UInt64.random(in: .min ... .max))
    options.kind = kind
    options.tlsCAFile = configuration.text(.tlsCA, flag: tlsCa)
    try connection.apply(configuration, to: &options)
    try reception.apply(configuration, to: &options)
    return options
  }

  private func tokens(_ room: String, _ configuration: Configuration) throws -> TokenSource {
    let key = configuration.text(.apiKey, flag: apiKey)
    let secret = configuration.text(.apiSecret, flag: apiSecret)
    if token != nil, apiKey != nil || apiSecret != nil {
      throw Failure(.usage, "--token and --api-key are two ways in: give one of them")
    }
    // A flag goes before what stands in the environment or the file.
    let given = token ?? (apiKey == nil ? configuration.text(.token) : nil)
    if let given {
      if let claims = try? AccessToken(reading: given), let named = claims.video?.room, !named.isEmpty, named != room {
        throw Failure(.usage, "the token is for the room '\(RoomText.oneLine(named, limit: 80))', not for '\(room)'")
      }
      return .given(given)
    }
    guard let key, let secret, !key.isEmpty, !secret.isEmpty else {
      throw Failure(
        .usage, "no way in: give --token, or --api-key and --api-secret (LIVEKIT_API_KEY, LIVEKIT_API_SECRET)")
    }
    let identity = configuration.text(.identity, flag: identity) ?? "recbot-\(Self.randomText())"
    return .minted(
      apiKey: key, apiSecret: secret, room: room, identity: identity,
      name: configuration.text(.name, flag: reception.name))
  }

  /// Eight letters and digits that no other bot has.
  private static func randomText() -> String {
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
    var random = SystemRandomNumberGenerator()
    return String((0..<8).map { _ in letters[Int(random.next() % UInt64(letters.count))] })
  }
}
