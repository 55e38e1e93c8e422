import ArgumentParser
import Glibc
import MediaCore
import Recording
import RoomServer
import RecbotKit
import Settings
import WebM

/// `recbot demo`: a whole room on this machine, recorded.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Records a made-up conversation: room server, participants and recorder in one process.",
    discussion: """
      The participants really publish over WebRTC: moving pictures, voices in turns, somebody switches the camera off, \
      somebody shares a screen. Leaves the recording and a poster (PNG) beside it.
      """)

  @Option(help: ArgumentHelp("How many people, 1 to 12.", valueName: "n"))
  var participants = 4

  @Option(help: ArgumentHelp("How long, such as 15s.", valueName: "time"))
  var duration = "15s"

  @Option(help: ArgumentHelp("The file to write.", valueName: "file"))
  var output = "demo.webm"

  @OptionGroup var recording: RecordingOptions
  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let logger = try shared.logger("demo", configuration)
    guard (1...12).contains(participants) else { throw Failure(.usage, "--participants: 1 to 12") }
    let length = try SharedOptions.duration(duration, "--duration")
    guard length >= .seconds(2), length <= .seconds(3600) else {
      throw Failure(.usage, "--duration: from 2s to 1h")
    }
    let picture = try recording.picture.plan(configuration)
    var settings = try recording.settings(
      configuration, picture, output: output, title: "recbot demo", maximumDuration: length)
    settings.log = try recording.logSettings(configuration)
    let progress = try recording.progressMode(configuration)
    try OutputPath.check(output)
    settings.segments = try recording.segmentSettings(configuration, output: output)
    recording.tellLog(settings.log, progress)

    // A key that is worth nothing beyond this process and its loopback port.
    let (key, secret) = ("demo", String(UInt64.random(in: .min ... .max), radix: 36))
    var serverConfiguration = EmbeddedRoomServer.Configuration(apiKeys: [key: secret])
    serverConfiguration.port = 0
    let server = EmbeddedRoomServer(configuration: serverConfiguration, logger: logger)
    let port: Int
    do {
      port = try server.start()
    } catch {
      throw Failure(error)
    }
    defer { server.stop() }
    let url = "ws://127.0.0.1:\(port)"
    Console.error("\(participants) people meet on \(url) and are recorded for \(ProgressReporter.clock(length))…")
    let script = DemoScript(participants: participants, duration: length)
    let place = PeoplesRoom(name: "demo", url: url, apiKey: key, apiSecret: secret, logger: logger)
    let stage = try DemoStage(script: script, place: place)
    try await stage.begin()
    let tokens = TokenSource.minted(
      apiKey: key, apiSecret: secret, room: "demo", identity: "recbot", name: "recbot")
    let plan = RecordingPlan(
      room: "demo", connection: RoomOptions(url: url, tokens: tokens, seed: UInt64.random(in: .min ... .max)),
      recording: settings, commands: try recording.commands(configuration, picture, of: settings), progress: progress)
    let job = RecordingJob(plan: plan, logger: logger)
    let summary: RecordingSummary
    do {
      summary = try await job.run().summary
    } catch {
      await stage.end()
      throw error
    }
    await stage.end()
    try finish(summary)
  }

  /// The poster and the summary.
  private func finish(_ summary: RecordingSummary) throws {
    let poster = String(output.dropLast(".webm".count)) + ".png"
    // The moment when a screen is shared and everybody has been heard.
    let moment = SessionTime.zero + summary.progress.time.sinceBeginning / 100 * 70
    do {
      try Poster.write(of: output, at: moment, image: poster)
      Console.error("Poster: \(poster)")
    } catch {
      Console.error("no poster could be made: \(error)")
    }
    do {
      Console.error(try WebMProbe.probe(output).text)
    } catch {
      throw Failure(.inputUnusable, "\(error)")
    }
    Console.print(summary.output)
    if let failure = Failure(summary.progress, beside: output) { throw failure }
  }
}
