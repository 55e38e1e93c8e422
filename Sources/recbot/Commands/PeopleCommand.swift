import ArgumentParser
import Layouts
import MediaCore
import Settings
import UnixSignals

/// `recbot people`: the demo's participants in any room, to try and to measure a recording with.
struct PeopleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "people", abstract: "Lets synthetic participants meet in a room, to try or measure recordings.",
    discussion: """
        recbot people my-room --participants 9 --duration 1m --url ws://127.0.0.1:7880
        recbot people my-room --play meeting/ --url ws://127.0.0.1:7880

      With --play they show files instead of drawn pictures, without encoding anything: each NAME.webm (VP8 or VP9, Opus) is a
      person, and a NAME_….webm beside it is the same picture in another size, of which each receiver gets what it needs.
      """)

  /// The most people of one process.
  static let limit = 60

  @Argument(help: "The room's name.")
  var room: String

  @Option(help: ArgumentHelp("How many people, 1 to 60 (default: 4, or one for each file).", valueName: "n"))
  var participants: Int?

  @Option(help: ArgumentHelp("Size of their cameras' pictures (default: 640x360).", valueName: "WxH"))
  var size: String?

  @Option(help: ArgumentHelp("They show the WebM files of this folder, over and over.", valueName: "folder"))
  var play: String?

  @Option(help: ArgumentHelp("How long they stay, such as 90s.", valueName: "time"))
  var duration = "1m"

  @Option(help: .setting(.url, namesVariable: true))
  var url: String?

  @Option(help: .setting(.keyFile))
  var e2eeKeyFile: String?

  @OptionGroup var credentials: ServerCredentials

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let logger = try shared.logger("people", configuration)
    if let participants, !(1...Self.limit).contains(participants) {
      throw Failure(.usage, "--participants: 1 to \(Self.limit)")
    }
    guard play == nil || size == nil else {
      throw Failure(.usage, "--size does not go with --play: the files have theirs")
    }
    let length = try SharedOptions.duration(duration, "--duration")
    guard let url = configuration.text(.url, flag: url) else {
      throw Failure(.usage, "no room server: give --url ws(s)://… or set LIVEKIT_URL")
    }
    let (key, secret) = try credentials.resolve(configuration)
    let keys = try configuration.text(.keyFile, flag: e2eeKeyFile).map(KeyFile.read)
    let place = PeoplesRoom(name: room, url: url, apiKey: key, apiSecret: secret, logger: logger, keys: keys)
    let stage: any PeopleStage
    if let play {
      stage = try PlayedStage(folder: play, participants: participants, place: place)
    } else {
      var script = DemoScript(participants: participants ?? 4, duration: length)
      if let size { script.size = try Self.size(size) }
      stage = try DemoStage(script: script, place: place)
    }
    do {
      try await stage.begin()
    } catch {
      await stage.end()
      throw error
    }
    Console.print("\(stage.count) people are in \(room).")
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await Task.sleep(for: length) }
      group.addTask { for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { break } }
      await group.next()
      group.cancelAll()
    }
    await stage.end()
  }

  private static func size(_ text: String) throws -> (width: Int, height: Int) {
    do throws(ValueError) {
      let size = try Values.size(text)
      return (size.width, size.height)
    } catch {
      throw Failure(.usage, "--size: \(error)")
    }
  }
}
