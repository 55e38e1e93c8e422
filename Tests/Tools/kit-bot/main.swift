// kit-bot [--hidden] URL TOKEN [PASSPHRASE]: a bot of RecbotKit for the scenarios. It publishes a camera in two layers, the same in VP9 with fewer
// pictures, and a microphone; says what it hears and sees as JSON lines; and does what it is told on standard input, a line each:
// `mute`, `unmute`, `say TEXT`, `data TEXT`, `statistics`, `unpublish`, `failures`, `leave`. With `--hidden` a processor paints over the camera's pictures;
// `fail` has it throw, `hang` not come back for three seconds, and `paint` work again.
import Foundation
import RecbotKit
import Synchronization

func tell(_ event: String, _ fields: [String: Any] = [:]) {
  let line = fields.merging(["event": event, "wall": wallClock()]) { $1 }
  guard let data = try? JSONSerialization.data(withJSONObject: line, options: [.sortedKeys]) else { return }
  // Not print: its buffer would hold the line back.
  FileHandle.standardOutput.write(data + Data("\n".utf8))
}

/// Sums up what a track of somebody else shows.
final class Eye: VideoRenderer {
  private let seen = Mutex((frames: 0, size: "", y: 0, u: 0, v: 0))

  func render(_ frame: VideoFrame) {
    let (width, height) = (frame.dimensions.width, frame.dimensions.height)
    let middle = frame.withPlanes { y, u, v in
      func value(_ plane: VideoFrame.Plane, _ column: Int, _ row: Int) -> Int {
        Int(plane.bytes[row * plane.stride + column])
      }
      return (value(y, width / 2, height / 2), value(u, width / 4, height / 4), value(v, width / 4, height / 4))
    }
    seen.withLock { seen in
      seen.frames += 1
      seen.size = frame.dimensions.description
      // Not the flashes.
      if middle.0 < 200 { (seen.y, seen.u, seen.v) = middle }
    }
  }

  var report: [String: Any] {
    seen.withLock { ["frames": $0.frames, "size": $0.size, "y": $0.y, "u": $0.u, "v": $0.v] }
  }
}

/// Sums up what a track of somebody else sounds like.
final class Ear: AudioRenderer {
  private let heard = Mutex((samples: 0, beeps: 0, isLoud: false))

  func render(_ block: AudioBlock) {
    let isLoud = block.samples.contains { $0.magnitude > 0.2 }
    heard.withLock { heard in
      heard.samples += block.samples.count / block.channels
      if isLoud, !heard.isLoud { heard.beeps += 1 }
      heard.isLoud = isLoud
    }
  }

  var report: [String: Any] { heard.withLock { ["samples": $0.samples, "beeps": $0.beeps] } }
}

let arguments = CommandLine.arguments.filter { $0 != "--hidden" }
let hider = arguments.count < CommandLine.arguments.count ? Hider() : nil
guard (3...4).contains(arguments.count) else {
  FileHandle.standardError.write(Data("usage: kit-bot [--hidden] URL TOKEN [PASSPHRASE]\n".utf8))
  exit(64)
}
do {
  var connection = ConnectOptions()
  if arguments.count == 4 {
    var keys = FrameKeys()
    keys.shared[0] = Array(arguments[3].utf8)
    connection.keys = keys
  }
  let room = try await Room.connect(url: arguments[1], token: arguments[2], options: connection)
  tell("joined", ["identity": room.localParticipant.identity.rawValue, "room": room.name])

  let camera = LocalVideoTrack(
    capturer: Flashes(dimensions: .init(width: 640, height: 360), colour: (y: 81, u: 90, v: 200)),
    processor: hider)
  var small = VideoPublishOptions()
  (small.codec, small.bitrate, small.maximumFrameRate) = (.vp9, 100_000, 10)
  var publications: [LocalTrackPublication] = []
  do {
    publications.append(try await room.localParticipant.publish(camera))
    publications.append(try await room.localParticipant.publish(camera.clone(name: "small"), options: small))
    publications.append(try await room.localParticipant.publish(LocalAudioTrack(capturer: Beeps())))
    tell("published", ["tracks": publications.map { $0.id?.rawValue ?? "" }])
  } catch {
    tell("unpublished", ["error": "\(error)"])
  }

  let watching = Task {
    for await event in room.events {
      switch event {
      case .participantConnected(let person): tell("connected", ["identity": person.identity.rawValue])
      case .participantDisconnected(let person): tell("gone", ["identity": person.identity.rawValue])
      case .trackPublished(let track):
        switch track {
        case .video(let video):
          let eye = Eye()
          video.add(renderer: eye)
          Task {
            for await _ in video.frames() {}; tell("video", eye.report)
          }
        case .audio(let audio):
          let ear = Ear()
          audio.add(renderer: ear)
          Task {
            for await _ in audio.blocks() {}; tell("audio", ear.report)
          }
        }
      case .trackEnabledChanged(let track):
        tell("enabled", ["track": track.name, "on": track.isEnabled])
      case .chatReceived(let message):
        tell("chat", ["identity": message.participant?.rawValue ?? "", "text": message.text])
      case .dataReceived(let message):
        tell("data", ["topic": message.topic, "text": String(decoding: message.payload, as: UTF8.self)])
      default: break
      }
    }
    tell("left")
  }

  let commands = AsyncStream<String> { continuation in
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
  }
  for await line in commands {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    switch words.first {
    case "mute": publications.first?.mute()
    case "unmute": publications.first?.unmute()
    case "say": try await room.localParticipant.send(chat: words.last ?? "")
    case "data": try await room.localParticipant.publish(data: Array((words.last ?? "").utf8), topic: "test")
    case "unpublish": for clone in publications where clone.name == "small" { room.localParticipant.unpublish(clone) }
    case "fail": hider?.mode.withLock { $0 = .fails }
    case "hang": hider?.mode.withLock { $0 = .hangs }
    case "paint": hider?.mode.withLock { $0 = .paints }
    case "failures": tell("failures", ["count": camera.processorFailures])
    case "statistics":
      let statistics = await room.reportStatistics()
      for publication in publications {
        guard let id = publication.id, let sent = statistics.local[id] else { continue }
        tell(
          "statistics",
          [
            "name": publication.name, "bytes": sent.bytes, "packets": sent.packets,
            "round_trip_ms": (sent.roundTripTime ?? .zero) / .milliseconds(1), "dropped": publication.droppedFrames,
          ])
      }
    default: break
    }
    if words.first == "leave" { break }
  }
  await room.disconnect()
  await watching.value
} catch {
  tell("failed", ["error": "\(error)"])
  exit(1)
}
