import ArgumentParser
import Glibc
import Settings
import Signaling

/// `recbot token`: makes a token for a participant.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Makes an access token for a room.",
    discussion: "  recbot token --room my-room --identity ann --publish --ttl 1h")

  @Option(help: "The room's name.")
  var room: String

  @Option(help: "Who the token is for.")
  var identity: String

  @Option(help: "The name that others see.")
  var name: String?

  @Flag(help: "Allow publishing; without it the token only lets watch and listen.")
  var publish = false

  @Option(help: ArgumentHelp("How long it is valid (default: 1h).", valueName: "time"))
  var ttl = "1h"

  @OptionGroup var credentials: ServerCredentials

  @OptionGroup var shared: SharedOptions

  func run() throws {
    let configuration = try shared.load()
    let (key, secret) = try credentials.resolve(configuration)
    guard !identity.isEmpty, identity.utf8.count <= 256, !room.isEmpty, room.utf8.count <= 256 else {
      throw Failure(.usage, "room and identity must have 1 to 256 bytes")
    }
    let lifetime = try shared.duration(ttl, "--ttl").wholeMilliseconds / 1000
    guard lifetime >= 1 else { throw Failure(.usage, "--ttl: at least 1s") }
    let grant = VideoGrant(
      room: room, roomJoin: true, canPublish: publish, canSubscribe: true, canPublishData: publish)
    let token = AccessToken(
      apiKey: key, identity: identity, video: grant, now: Int64(time(nil)), lifetime: lifetime, name: name)
    do {
      Console.print(try token.signed(secret: secret))
    } catch {
      throw Failure(.unexpected, "the token could not be made: \(error)")
    }
  }
}
