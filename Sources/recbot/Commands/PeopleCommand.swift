import ArgumentParser
import Layouts
import MediaCore
import Settings
import UnixSignals

/// `recbot people`: the demo's participants in any room, to try and to measure a recording with.
struct PeopleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "people", abstract: "Lets synthetic participants meet in a room, to try or measure recordings.",
    discussion: "  recbot people my-room --participants 9 --duration 1m --url ws://127.0.0.1:7880")

  @Argument(help: "The room's name.")
  var room: String

  @Option(help: ArgumentHelp("How many people, 1 to 60.", valueName: "n"))
  var participants = 4

  @Option(help: ArgumentHelp("Size of their cameras' pictures.", valueName: "WxH"))
  var size = "640x360"

  @Option(help: ArgumentHelp("How long they stay, such as 90s.", valueName: "time"))
  var duration = "1m"

  @Option(help: .setting(.url, namesVariable: true))
  var url: String?

  @OptionGroup var credentials: ServerCredentials

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let logger = try shared.logger("people", configuration)
    guard (1...60).contains(participants) else { throw Failure(.usage, "--participants: 1 to 60") }
    let picture: CanvasSize
    do throws(ValueError) {
      picture = try Values.size(size)
    } catch {
      throw Failure(.usage, "--size: \(error)")
    }
    let length = try shared.duration(duration, "--duration")
    guard let url = configuration.text(.url, flag: url) else {
      throw Failure(.usage, "no room server: give --url ws(s)://… or set LIVEKIT_URL")
    }
    let (key, secret) = try credentials.resolve(configuration)
    var script = DemoScript(participants: participants, duration: length)
    script.size = (picture.width, picture.height)
    let stage = try DemoStage(script: script, room: room, url: url, apiKey: key, apiSecret: secret, logger: logger)
    do {
      try await stage.begin()
    } catch {
      await stage.end()
      throw error
    }
    Console.print("\(participants) people are in \(room).")
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await Task.sleep(for: length) }
      group.addTask { for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { break } }
      await group.next()
      group.cancelAll()
    }
    await stage.end()
  }
}
