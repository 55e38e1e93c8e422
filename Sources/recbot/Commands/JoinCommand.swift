import ArgumentParser
import Glibc
import MediaCore
import Recording
import Rooms
import Session
import Settings
import Signaling

/// `recbot join`: records one room.
struct JoinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join", abstract: "Joins a room and records it into a WebM file.",
    discussion: """
      Ctrl-C or SIGTERM finishes the file; a second one gives up at once. The last line of standard output is the \
      file's path.

        recbot join my-room --url wss://livekit.example.com --api-key KEY --api-secret SECRET
        recbot join my-room --url ws://127.0.0.1:7880 --token JWT --layout speaker --output talk.webm
        recbot join peer:booth --url ws://127.0.0.1:7880 --api-key KEY --api-secret SECRET

      A room named peer:… is one of two parties: the bot talks with one browser or other peer directly, and the \
      recording ends when that one says goodbye.
      """)

  @Argument(help: "The room's name; peer:NAME for a two-party room.")
  var room: String

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "In a two-party room: host, guest, or auto for the free seat (default: auto).", valueName: "role"))
  var role: String?

  @Option(help: ArgumentHelp("The room server: ws://… or wss://… (LIVEKIT_URL).", valueName: "url"))
  var url: String?

  @Option(help: ArgumentHelp("A token for this room; used as it is (RECBOT_TOKEN).", valueName: "jwt"))
  var token: String?

  @Option(help: ArgumentHelp("API key, to make a token (LIVEKIT_API_KEY).", valueName: "key"))
  var apiKey: String?

  @Option(help: ArgumentHelp("API secret (better in LIVEKIT_API_SECRET than here).", valueName: "secret"))
  var apiSecret: String?

  @Option(help: ArgumentHelp("The bot's identity in the room (default: recbot- and a random text).", valueName: "text"))
  var identity: String?

  @Option(
    help: ArgumentHelp(
      "Certificates (PEM) to trust for wss:// and relays over TLS instead of the system's.", valueName: "file"))
  var tlsCa: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file to write, NAME.webm, or FOLDER/ (default: room and time in the current folder).", valueName: "file"))
  var output: String?

  @OptionGroup var selection: SelectionOptions

  @Option(help: ArgumentHelp("End at this length, such as 2h.", valueName: "time"))
  var maxDuration: String?

  @Option(
    help: ArgumentHelp(
      "End when no people have been in the room for so long, such as 30s (agents and recorders don't count).",
      valueName: "time"))
  var stopWhenEmpty: String?

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var reception: ReceptionOptions
  @OptionGroup var recording: RecordingOptions
  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let loaded = try shared.load()
    let logger = try shared.logger("recbot", loaded)
    let configuration = try reception.merge(into: loaded, logger: logger)
    let (name, kind) = try roomKind(configuration)
    let isChatOnly = try reception.isChatOnly(configuration)
    if isChatOnly, kind != .liveKit { throw Failure(.usage, "a two-party room has no chat that could be written") }
    if isChatOnly, output != nil {
      throw Failure(.usage, "--chat-only writes no WebM: give --transcript instead of --output")
    }
    let output = OutputPath.named(output, room: name)
    var settings = try recording.settings(
      configuration, output: output, title: name,
      maximumDuration: try configuration.value(
        flag: maxDuration, "--max-duration", .maxDuration, parse: Values.duration),
      stopWhenEmpty: try configuration.value(
        flag: stopWhenEmpty, "--stop-when-empty", .stopWhenEmpty, parse: Values.duration))
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
    recording.tellLog(settings.log, progress)
    if !isChatOnly { try OutputPath.check(output) }
    if let transcript = settings.transcript {
      try OutputPath.check(transcript, endings: [".jsonl", ".srt", ".vtt"], flag: "--transcript")
    }
    var commands = try recording.commands(
      configuration, output: isChatOnly ? settings.transcript ?? "" : output, canvas: settings.session.canvas)
    let (layouts, look) = (commands.layouts, try reception.look(configuration))
    commands.layouts = { name throws(ValueError) in look(try layouts(name)) }
    var job = Job(
      room: name, options: options, settings: settings, progress: progress,
      commands: commands, logger: logger)
    if kind == .liveKit, case .minted(let key, let secret, _, _, _) = options.tokens {
      job.occupiedRooms = OccupiedRooms(
        url: options.url, apiKey: key, apiSecret: secret, tlsCA: options.tlsCAFile)
    }
    let result = try await job.run()
    Console.print(result.summary.output)
    // The file is whole in all cases; the exit code says when it is not all that was wanted.
    if let error = result.error { throw Failure(error) }
  }

  /// The room's name, and what kind of room it is.
  private func roomKind(_ configuration: Configuration) throws -> (name: String, kind: RoomKind) {
    let wish = try configuration.value(flag: role, "--as", .peerRole, default: nil, parse: Values.peerRole)
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
    guard let url = configuration.text(flag: url, .url) else {
      throw Failure(.usage, "no room server: give --url ws(s)://… or set LIVEKIT_URL")
    }
    var options = RoomOptions(url: url, tokens: try tokens(room, configuration), seed: UInt64.random(in: .min ... .max))
    options.kind = kind
    options.tlsCAFile = configuration.text(flag: tlsCa, .tlsCA)
    try connection.apply(configuration, to: &options)
    try reception.apply(configuration, to: &options)
    return options
  }

  private func tokens(_ room: String, _ configuration: Configuration) throws -> TokenSource {
    let key = configuration.text(flag: apiKey, .apiKey)
    let secret = configuration.text(flag: apiSecret, .apiSecret)
    if token != nil, apiKey != nil || apiSecret != nil {
      throw Failure(.usage, "--token and --api-key are two ways in: give one of them")
    }
    // A flag goes before what stands in the environment or the file.
    let given = token ?? (apiKey == nil ? configuration[.token]?.text : nil)
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
    let identity = configuration.text(flag: identity, .identity) ?? "recbot-\(Self.randomText())"
    return .minted(
      apiKey: key, apiSecret: secret, room: room, identity: identity,
      name: configuration.text(flag: reception.name, .name) ?? "recbot")
  }

  /// Eight letters and digits that no other bot has.
  private static func randomText() -> String {
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
    var random = SystemRandomNumberGenerator()
    return String((0..<8).map { _ in letters[Int(random.next() % UInt64(letters.count))] })
  }
}
