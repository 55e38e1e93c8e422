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
      await room.disconnect()
      say("The bot has left.")
    } catch {
      say("\(error)")
      exit(1)
    }
  }
}

/// Prints a line. Names are given by strangers: what could command a terminal is left out.
func say(_ text: String) {
  let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
  print(String(String.UnicodeScalarView(scalars)))
}
