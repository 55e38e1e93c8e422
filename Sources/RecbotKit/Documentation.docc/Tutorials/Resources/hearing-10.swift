import Foundation
import RecbotKit
import Synchronization

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
    var count = 0
    await withDiscardingTaskGroup { group in
      for await event in room.events {
        await tell(event, of: room)
        if case .trackPublished(.audio(let track)) = event {
          group.addTask { await measure(track) }
          count += 1
          let path = "sound-\(count).pcm"
          group.addTask { await write(track, to: path) }
        }
      }
    }
  }

  /// Says each second how much sound came of a track, and how loud it was, until the track is gone.
  static func measure(_ track: RemoteAudioTrack) async {
    let meter = Meter()
    track.add(renderer: meter)
    let reports = Task {
      while true {
        try await Task.sleep(for: .seconds(1))
        let (duration, peak) = meter.read()
        let decibels = Int(20 * log10(max(peak, 0.001)))
        say("\(track.participant): \(duration) of sound, at most \(decibels) dB")
      }
    }
    await track.ended()
    reports.cancel()
  }

  /// Writes the sound of a track into a file, until the track is gone: 48 kHz, stereo, 16 bits.
  static func write(_ track: RemoteAudioTrack, to path: String) async {
    do {
      try Data().write(to: URL(filePath: path))
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      for await block in track.blocks() {
        let samples = block.samples.map { Int16(max(-1, min(1, $0)) * 32_767) }
        try file.write(contentsOf: samples.withUnsafeBytes { Data($0) })
      }
      try file.close()
      say("\(path) has the sound of \(track.participant).")
    } catch {
      say("\(path) is not written: \(error)")
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
    case .trackPublished(let track):
      say("\(track.participant) publishes \(track.kind): \(track.source).")
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

/// Measures how much sound came, and how loud it was.
final class Meter: AudioRenderer {
  private let state = Mutex((duration: Duration.zero, peak: Float(0)))

  /// The room's media thread calls this for each stretch of sound.
  func render(_ block: AudioBlock) {
    let peak = block.samples.reduce(0) { max($0, abs($1)) }
    state.withLock { state in
      state.duration += block.duration
      state.peak = max(state.peak, peak)
    }
  }

  /// What came since the last reading.
  func read() -> (duration: Duration, peak: Float) {
    state.withLock { state in
      defer { state = (.zero, 0) }
      return state
    }
  }
}

/// Prints a line. Names are given by strangers: what could command a terminal is left out.
func say(_ text: String) {
  let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
  print(String(String.UnicodeScalarView(scalars)))
}
