// bots NAME URL TOKEN …: the examples.
@preconcurrency import Dispatch
import Foundation
import RecbotKit

let arguments = Array(CommandLine.arguments[1...])
let usage = """
  usage: bots play URL TOKEN FILE.webm
         bots echo URL TOKEN [SECONDS]
         bots scribe URL TOKEN FOLDER [COMMAND]
         bots bridge URL TOKEN URL TOKEN
         bots moderate URL TOKEN [DECIBELS]
         bots answer URL TOKEN ROOM FILE.webm
  """

/// Says what is wrong, and ends.
func fail(_ text: String, code: Int32) -> Never {
  FileHandle.standardError.write(Data("\(text)\n".utf8))
  exit(code)
}

/// Says what happens, a line at a time. Names of strangers command no terminal.
func say(_ text: String) {
  let plain = String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
  FileHandle.standardOutput.write(Data("\(plain)\n".utf8))
}

/// What a bot leaves in the end.
protocol Leavable: Sendable { func disconnect() async }
extension Room: Leavable {}
extension PeerRoom: Leavable {}

/// Runs until the bot is done, or somebody stops it; then it leaves its rooms.
func run(_ rooms: [any Leavable], _ bot: @escaping @Sendable () async throws -> Void) async throws {
  signal(SIGINT, SIG_IGN)
  signal(SIGTERM, SIG_IGN)
  let stop = AsyncStream<Void> { continuation in
    for number in [SIGINT, SIGTERM] {
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler {
        continuation.yield()
        // It is kept until here.
        source.cancel()
      }
      source.resume()
    }
  }
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await bot() }
    group.addTask { for await _ in stop { break } }
    defer { group.cancelAll() }
    try await group.next()
  }
  for room in rooms { await room.disconnect() }
}

/// Runs a bot in a room of a server.
func runInRoom() async throws {
  let room = try await Room.connect(url: arguments[1], token: arguments[2])
  say("joined \(room.name)")
  switch (arguments[0], arguments.count) {
  case ("play", 4):
    let file = try WebMFile(path: arguments[3])
    try await run([room]) { try await play(file, in: room) }
  case ("echo", 3...4):
    let seconds = arguments.count == 4 ? Double(arguments[3]) ?? 2 : 2
    try await run([room]) { await echo(in: room, after: .seconds(seconds)) }
  case ("scribe", 4...5):
    let command = arguments.count == 5 ? arguments[4] : nil
    try await run([room]) { try await scribe(room, into: arguments[3], command: command) }
  case ("bridge", 5):
    let other = try await Room.connect(url: arguments[3], token: arguments[4])
    try await run([room, other]) { await bridge(room, other) }
  case ("moderate", 3...4):
    let decibels = arguments.count == 4 ? Double(arguments[3]) ?? -12 : -12
    try await run([room]) { await moderate(room, limit: Float(pow(10, decibels / 20))) }
  default:
    await room.disconnect()
    fail(usage, code: 64)
  }
}

/// Runs a bot in a two-party room.
func runInPeerRoom() async throws {
  guard arguments.count == 5 else { fail(usage, code: 64) }
  let file = try WebMFile(path: arguments[4])
  let room = try await PeerRoom.connect(
    url: arguments[1], room: arguments[3], token: arguments[2], publishing: tracks(of: file))
  say("joined \(room.name)")
  try await run([room]) { try await answer(in: room, with: file) }
}

do {
  guard arguments.count >= 3 else { fail(usage, code: 64) }
  try await arguments[0] == "answer" ? runInPeerRoom() : runInRoom()
} catch {
  fail("\(error)", code: 1)
}
