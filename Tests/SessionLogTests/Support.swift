import Foundation
import LayoutFiles
import Layouts
import MediaCore
import Session
import TestKit

@testable import SessionLog

/// A folder of one test, which goes with it.
final class Folder: Sendable {
  let path: String
  init() {
    path = FileManager.default.temporaryDirectory.appending(path: "recbot-log-\(UUID())").path
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The bytes of the files of a log in this folder, one after another.
  func bytes(_ log: String) throws -> [UInt8] {
    try LogFolder.files(in: "\(path)/\(log)").flatMap {
      try [UInt8](Data(contentsOf: URL(filePath: "\(path)/\(log)/\($0)")))
    }
  }
}

/// Reads layouts as the program does.
let layouts: LayoutTextReader = { name, text throws(LogError) in
  do throws(LayoutError) {
    return try LayoutReader.read(text, file: "log", name: name)
  } catch {
    throw LogError(.notALog, error.description)
  }
}

/// Sessions to write.
enum Sessions {
  static var beginning: LogBeginning {
    var settings = SessionCore.Settings(
      canvas: CanvasSize(width: 640, height: 360), layout: .grid, framesPerSecond: 25, title: "A talk",
      startDate: 1_790_000_000_000_000_000,
      utcOffset: 3600)
    settings.maximumDuration = .seconds(90)
    settings.talker.presenterReturn = nil
    settings.talker.threshold = -50
    settings.maximumTalkers = 3
    settings.processors = [
      ProcessorRule(.attribute(key: "consent", value: "no"), TrackProcessors(video: .mask, audio: .silence)),
      ProcessorRule(.person("bob"), TrackProcessors(video: .pixelate)),
    ]
    return LogBeginning(settings: settings, program: "recbot test", keepUntil: 1_800_000_000_000_000_000)
  }

  /// Two people, who come, publish, talk for `seconds`, and leave.
  static func talk(seconds: Int64, seed: UInt8 = 0) -> [SessionEvent] {
    var events: [SessionEvent] = []
    func add(_ milliseconds: Int64, _ payload: SessionEvent.Payload) {
      events.append(
        SessionEvent(sequence: UInt64(events.count), arrived: .milliseconds(milliseconds), payload: payload))
    }
    add(0, .room(.joined(room: "talk")))
    for name in ["ann", "bob"] {
      add(1, .room(.participant(Participant(identity: ParticipantIdentity(name), name: name.capitalized))))
      for (kind, source) in [(MediaKind.video, TrackSource.camera), (.audio, .microphone)] {
        let track = Track(
          id: TrackID("\(name).\(kind.rawValue)"), participant: ParticipantIdentity(name), kind: kind, source: source)
        add(1, .room(.track(track)))
        add(1, .room(.trackSubscribed(track.id, true)))
      }
    }
    add(1, .room(.synchronized))
    for index in 0..<seconds * 50 {
      let time = 10 + index * 20
      for (number, name) in ["ann", "bob"].enumerated() {
        add(time, .frame(audio(Int64(index) * 960, UInt8(number) &+ seed), of: TrackID("\(name).audio")))
        if index % 2 == 0 {
          add(
            time,
            .frame(
              picture(Int64(index) * 1800, isKeyframe: index % 50 == 0, UInt8(number) &+ seed),
              of: TrackID("\(name).video")))
        }
      }
    }
    add(seconds * 1000 + 20, .room(.ended(.stopped)))
    return events
  }

  static func audio(_ time: Int64, _ fill: UInt8) -> EncodedFrame {
    EncodedFrame(
      codec: .opus, payload: MediaBuffer([UInt8](repeating: fill, count: 40)), rtpTime: time, isKeyframe: true,
      audioLevel: 30)
  }

  static func picture(_ time: Int64, isKeyframe: Bool, _ fill: UInt8) -> EncodedFrame {
    EncodedFrame(
      codec: .vp8, payload: MediaBuffer([UInt8](repeating: fill, count: isKeyframe ? 400 : 100)), rtpTime: time,
      captureTime: NTPTime(0xE000_0000_1234_5678), isKeyframe: isKeyframe, width: isKeyframe ? 640 : 0,
      height: isKeyframe ? 360 : 0)
  }
}

extension SessionLogReader {
  /// All that is left.
  func rest() throws -> [LogEntry] {
    var entries: [LogEntry] = []
    while let entry = try next() { entries.append(entry) }
    return entries
  }
}

extension LogEntry {
  /// All of it as text, for comparing.
  var text: String {
    guard case .event(let event) = self, case .frame(let frame, _) = event.payload else { return json }
    return json + frame.payload.bytes.map { String($0, radix: 16) }.joined(separator: " ")
  }

  /// The number in the stream.
  var sequence: UInt64? {
    if case .event(let event) = self { event.sequence } else { nil }
  }
}

/// Writes a log of these events.
func write(
  _ events: [SessionEvent], to path: String, fileSize: Int64 = LogFolder.fileSize, end: LogEnd? = nil
) throws {
  let writer = try SessionLogWriter(path: path, beginning: Sessions.beginning, fileSize: fileSize)
  for (index, event) in events.enumerated() {
    try writer.append(.event(event))
    if index % 10 == 0 { try writer.flush() }
  }
  if let end { try writer.finish(end) } else { try writer.flush() }
}
