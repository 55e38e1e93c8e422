import ArgumentParser
import MediaCore
import Platform
import Settings
import Signaling

/// `recbot token`: makes a token for a participant.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Makes an access token for a room.",
    discussion: """
        recbot token --room my-room --identity ann --publish --ttl 1h
        recbot token --admin --room my-room
        recbot token --room booth --identity ann --link http://127.0.0.1:7880

      A token for an administrator does not join: it is for the server's APIs.
      """)

  @Option(help: "The room's name; with --admin and without it the token is for the whole server.")
  var room: String?

  @Option(help: "Who the token is for (default with --admin: admin).")
  var identity: String?

  @Option(help: "The name that others see.")
  var name: String?

  @Flag(help: "Allow publishing; without it the token only lets watch and listen.")
  var publish = false

  @Flag(help: "A token for the server's APIs instead: the grants roomAdmin, roomCreate and roomList.")
  var admin = false

  @Option(
    help: ArgumentHelp(
      "Print the address of the page for a two-party room on this room server instead of the bare token.",
      valueName: "url"))
  var link: String?

  @Option(help: ArgumentHelp("How long it is valid.", valueName: "time"))
  var ttl = "1h"

  @OptionGroup var credentials: ServerCredentials

  @OptionGroup var shared: SharedOptions

  func run() throws {
    let configuration = try shared.load()
    let (key, secret) = try credentials.resolve(configuration)
    guard admin || room != nil && identity != nil else {
      throw Failure(.usage, "give --room and --identity, or --admin")
    }
    for text in [identity, room].compactMap({ $0 }) where text.isEmpty || text.utf8.count > 256 {
      throw Failure(.usage, "room and identity must have 1 to 256 bytes")
    }
    let lifetime = try SharedOptions.duration(ttl, "--ttl").milliseconds / 1000
    guard lifetime >= 1 else { throw Failure(.usage, "--ttl: at least 1s") }
    var grant = VideoGrant(room: room)
    if admin {
      (grant.roomAdmin, grant.roomCreate, grant.roomList) = (true, true, true)
    } else {
      grant = VideoGrant(room: room, roomJoin: true, canPublish: publish, canSubscribe: true, canPublishData: publish)
    }
    let token = AccessToken(
      apiKey: key, identity: identity ?? "admin", video: grant, now: WallClock.seconds, lifetime: lifetime, name: name)
    let text: String
    do {
      text = try token.signed(secret: secret)
    } catch {
      throw Failure(.unexpected, "the token could not be made: \(error)")
    }
    Console.print(try link.map { try page($0, text) } ?? text)
  }

  /// The page's address. The token stands in the fragment, which browsers send to nobody.
  private func page(_ server: String, _ token: String) throws -> String {
    guard !admin, let room else { throw Failure(.usage, "--link is for people: give --room, and not --admin") }
    do {
      let url = try SignalURL(server)
      let scheme = url.isSecure ? "https" : "http"
      return "\(scheme)://\(url.hostHeader)\(url.prefix)/peer/\(PercentCoding.encode(room))#token=\(token)"
    } catch {
      throw Failure(.usage, "--link \(server): \(error)")
    }
  }
}
