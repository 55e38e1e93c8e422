import Foundation
import RecbotKit

@main
struct Bot {
  static func main() async {
    let environment = ProcessInfo.processInfo.environment
    guard let url = environment["LIVEKIT_URL"], let token = environment["LIVEKIT_TOKEN"] else {
      say("Set LIVEKIT_URL and LIVEKIT_TOKEN.")
      exit(1)
    }
    do {
      let room = try await Room.connect(url: url, token: token)
      say("The bot is in \(room.name).")
      let performance = Task { try await perform(in: room) }
      // Ctrl-C ends the performance; the bot leaves all the same.
      signal(SIGINT, SIG_IGN)
      let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
      interrupt.setEventHandler { performance.cancel() }
      interrupt.resume()
      do {
        try await performance.value
      } catch is CancellationError {
        say("The bot was stopped.")
      } catch {
        say("\(error)")
      }
      interrupt.cancel()
      await room.disconnect()
      say("The bot has left.")
    } catch {
      say("\(error)")
      exit(1)
    }
  }

  /// What the bot does, from the beginning to the end.
  static func perform(in room: Room) async throws {
  }
}

/// Prints a line. Names are given by strangers: what could command a terminal is left out.
func say(_ text: String) {
  let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
  print(String(String.UnicodeScalarView(scalars)))
}
