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
      // Ctrl-C leaves the room; it does not end the program.
      signal(SIGINT, SIG_IGN)
      let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
      interrupt.setEventHandler { Task { await room.disconnect() } }
      interrupt.resume()
      await stay(in: room)
      interrupt.cancel()
      say("The bot has left.")
    } catch {
      say("\(error)")
      exit(1)
    }
  }

  /// Stays until the room is left.
  static func stay(in room: Room) async {
    for await event in room.events {
      await tell(event, of: room)
    }
  }

  /// Says what happened.
  static func tell(_ event: RoomEvent, of room: Room) async {
    switch event {
    case .participantConnected(let person):
      say("\(person.name) is here.")
    case .participantDisconnected(let person):
      say("\(person.name) has left.")
      if room.remoteParticipants.isEmpty { await room.disconnect() }
    case .connectionStateChanged(.reconnecting(let reason)):
      say("The connection is lost: \(reason).")
    case .connectionStateChanged(.connected):
      say("The connection stands.")
    case .connectionStateChanged(.disconnected(let reason)):
      say("The connection is over: \(reason).")
    default: break
    }
  }
}

/// Prints a line. Names are given by strangers: what could command a terminal is left out.
func say(_ text: String) {
  let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
  print(String(String.UnicodeScalarView(scalars)))
}
