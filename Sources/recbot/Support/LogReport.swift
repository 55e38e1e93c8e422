import JobsAPI
import MediaCore
import Session
import SessionLog

/// What is in a log, as people and programs read it.
struct LogReport {
  let path: String
  let beginning: LogBeginning
  let size: Int64
  private(set) var contents = LogContents()
  private let damages: [SessionLogReader.Damage]
  private let unknown: Int

  /// Reads all of a log. Blocks for the disk.
  init(_ path: String) throws {
    let reader = try LogAccess.open(path)
    do {
      while let entry = try reader.next() { contents.take(entry) }
    } catch {
      throw Failure(error)
    }
    (self.path, beginning, size) = (path, reader.beginning, reader.size)
    (damages, unknown) = (reader.damages, reader.unknown)
  }

  /// What is damaged or missing, a line each.
  var faults: [String] {
    var faults = damages.map(\.description)
    faults += contents.gaps.map {
      "\($0.frames) frames are missing from \($0.from) s to \($0.until) s: the disk was too slow"
    }
    if unknown > 0 { faults.append("\(unknown) records are of a later version of recbot") }
    if contents.end == nil { faults.append("no end: the recorder was killed, or is still recording") }
    return faults
  }

  /// For people.
  var text: String {
    let settings = beginning.settings
    var lines = [
      "room      \(shown(contents.room ?? "?"))",
      "began     \(Self.date(settings.startDate))",
      "length    \(ProgressReporter.clock(contents.length))"
        + (contents.end.map { ", \(Self.words($0.reason))" } ?? ""),
      "size      \(ProgressReporter.size(UInt64(clamping: size)))",
      "live      \(settings.canvas), \(settings.framesPerSecond) pictures a second, layout \(shown(settings.layout.name))",
      "program   \(shown(beginning.program))",
    ]
    if let instant = beginning.keepUntil { lines.append("keep      until \(Self.date(instant))") }
    lines.append("")
    for person in contents.people {
      lines.append("\(shown(person.identity.rawValue))  \(shown(person.name))\(person.isBot ? "  (bot)" : "")")
      for track in contents.tracks where track.track.participant == person.identity { lines.append("  \(line(track))") }
    }
    if contents.people.isEmpty { lines.append("nobody was there") }
    if contents.messages > 0 { lines.append("\n\(contents.messages) messages") }
    let faults = faults
    if !faults.isEmpty { lines.append("") }
    lines += faults
    return lines.joined(separator: "\n") + "\n"
  }

  /// For programs.
  var json: String {
    let settings = beginning.settings
    let people = contents.people.map { person in
      "{\"identity\":\(JSONText.quoted(person.identity.rawValue)),\"name\":\(JSONText.quoted(person.name)),"
        + "\"bot\":\(person.isBot)}"
    }
    let tracks = contents.tracks.map { track in
      let codecs = track.codecs.map { JSONText.quoted($0.rawValue) }.joined(separator: ",")
      return "{\"id\":\(JSONText.quoted(track.track.id.rawValue)),"
        + "\"participant\":\(JSONText.quoted(track.track.participant.rawValue)),"
        + "\"kind\":\"\(track.track.kind.rawValue)\",\"source\":\"\(track.track.source.rawValue)\",\"codecs\":[\(codecs)],"
        + "\"frames\":\(track.frames),\"lost\":\(track.lost),\"keyframes\":\(track.keyframes),\"bytes\":\(track.bytes),"
        + "\"first_ms\":\(track.first.map { "\($0.milliseconds)" } ?? "null"),"
        + "\"last_ms\":\(track.last.map { "\($0.milliseconds)" } ?? "null")}"
    }
    let end = contents.end.map { JSONText.quoted(Self.words($0.reason)) } ?? "null"
    return "{\"room\":\(contents.room.map { JSONText.quoted($0) } ?? "null"),"
      + "\"began\":\(JSONText.quoted(Self.date(settings.startDate))),\"length_ms\":\(contents.length.milliseconds),"
      + "\"bytes\":\(size),\"end\":\(end),\"participants\":[\(people.joined(separator: ","))],"
      + "\"tracks\":[\(tracks.joined(separator: ","))],\"messages\":\(contents.messages),"
      + "\"faults\":[\(faults.map { JSONText.quoted($0) }.joined(separator: ","))]}"
  }

  private func line(_ track: LogContents.Track) -> String {
    let codecs = track.codecs.map(\.title).joined(separator: ", then ")
    var text = "\(track.track.source.rawValue): "
    guard let first = track.first, let last = track.last else { return text + "nothing came" }
    text += "\(codecs), \(ProgressReporter.clock(first)) to \(ProgressReporter.clock(last)), \(track.frames) frames"
    if track.keyframes > 0 { text += ", \(track.keyframes) \(track.keyframes == 1 ? "keyframe" : "keyframes")" }
    if track.lost > 0 { text += ", \(track.lost) lost" }
    return text + ", \(ProgressReporter.size(track.bytes))"
  }

  private func shown(_ text: String) -> String { PeerText.line(text, limit: 80) }

  private static func words(_ end: SessionEnd) -> String { ProgressReporter.reason(end) }

  private static func date(_ nanoseconds: Int64) -> String {
    TimeText.short(Timestamp(seconds: nanoseconds / 1_000_000_000))
  }
}
