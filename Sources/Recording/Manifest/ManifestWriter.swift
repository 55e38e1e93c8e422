import Codecs
import MediaCore
import Session

/// A manifest as JSON: an entry of a list a line, so that people can read it too. What is not known is left out.
struct ManifestWriter {
  /// The document so far, JSON.
  private(set) var text = "{\n"

  private typealias Fields = [(String, String?)]

  /// Writes a manifest of a finished recording.
  init(
    _ manifest: Manifest, _ settings: RecordingSettings, _ progress: RecordingProgress,
    _ counts: [TrackID: ReceptionCounts], _ end: SessionEnd
  ) {
    let fields: Fields = [
      ("version", "1"), ("program", JSONText.quoted(settings.program)), ("room", JSONText.quoted(manifest.room)),
      ("title", JSONText.quoted(progress.title)), ("start", "\"\(UTCDate.text(settings.session.startDate))\""),
      ("length_ms", Self.milliseconds(progress.time)), ("end", "\"\(end.name)\""),
      ("file", Self.file(settings, progress)),
    ]
    for (name, value) in fields { if let value { text += " \"\(name)\": \(value),\n" } }
    // Who left, and what ended, before the part that is recorded began is not in it.
    func isIn(_ span: Manifest.Span) -> Bool { span.end != .zero || span.start < .zero }
    list(
      "people",
      manifest.peopleOrder.compactMap { identity in
        manifest.people[identity].flatMap { person in
          let stays = person.stays.filter(isIn)
          return stays.isEmpty ? nil : Self.person(identity, person, stays, isBot: manifest.bots.contains(identity))
        }
      })
    list(
      "tracks",
      manifest.trackOrder.compactMap { id in
        manifest.tracks[id].flatMap { isIn($0.published) ? Self.track(id, $0, counts[id], end: progress.time) : nil }
      })
    list(
      "layouts",
      manifest.layouts.map { Self.object([("at_ms", Self.milliseconds($0.at)), ("layout", JSONText.quoted($0.name))]) })
    list("gaps", manifest.gaps.filter(isIn).map { Self.span($0, [("reason", JSONText.quoted($0.text))]) })
    list(
      "pauses",
      manifest.pauses.filter { isIn($0) || $0.text == "cut" }.map {
        Self.span($0, [("policy", JSONText.quoted($0.text))])
      })
    list(
      "markers",
      manifest.markers.map { Self.object([("at_ms", Self.milliseconds($0.at)), ("title", JSONText.quoted($0.title))]) })
    let leftOut = manifest.leftOut.sorted { $0.key < $1.key }.map { ($0.key, String($0.value) as String?) }
    text += " \"left_out\": \(Self.object(leftOut))\n}\n"
  }

  private mutating func list(_ name: String, _ objects: [String]) {
    text += " \"\(name)\": " + (objects.isEmpty ? "[],\n" : "[\n  \(objects.joined(separator: ",\n  "))\n ],\n")
  }

  private static func file(_ settings: RecordingSettings, _ progress: RecordingProgress) -> String {
    let name = settings.output.split(separator: "/").last.map(String.init) ?? settings.output
    let canvas = settings.session.canvas
    let video = object([
      ("codec", JSONText.quoted(settings.codec.rawValue)), ("width", "\(canvas.width)"), ("height", "\(canvas.height)"),
      ("fps", "\(settings.session.framesPerSecond)"), ("bitrate", "\(settings.videoBitrate)"),
      ("frames", "\(progress.frames)"), ("dropped_frames", "\(progress.droppedFrames)"),
      ("spared_frames", progress.sparedFrames > 0 ? "\(progress.sparedFrames)" : nil),
    ])
    return object([
      ("name", settings.isPart ? nil : JSONText.quoted(name)), ("bytes", "\(progress.bytes)"),
      ("video", settings.isAudioOnly ? nil : video),
      ("audio", object([("codec", "\"opus\""), ("bitrate", "\(settings.audioBitrate)")])),
    ])
  }

  private static func person(
    _ identity: ParticipantIdentity, _ person: Manifest.Person, _ stays: [Manifest.Span], isBot: Bool
  ) -> String {
    object([
      ("identity", JSONText.quoted(identity.rawValue)), ("name", JSONText.quoted(person.name)),
      ("kind", isBot ? "\"bot\"" : "\"person\""), ("talked_ms", milliseconds(person.talked)),
      ("stays", "[" + stays.map { span($0, []) }.joined(separator: ", ") + "]"),
    ])
  }

  private static func track(
    _ id: TrackID, _ track: Manifest.TrackEntry, _ counts: ReceptionCounts?, end: SessionTime
  ) -> String {
    let kind = track.codec?.kind
    let isPicture = kind == .video
    let sizes = track.sizes.map {
      object([("at_ms", milliseconds($0.at)), ("width", "\($0.width)"), ("height", "\($0.height)")])
    }
    let freezes = track.freezes
    // Of a still page nobody can say whether it stands.
    let knowsFreezes = isPicture && track.source != .screenShare
    var quality: Fields = [
      ("packets_expected", counts.map { "\($0.expected)" }), ("packets_lost", counts.map { "\($0.lost)" }),
      ("packets_repaired", counts.map { "\($0.repaired)" }),
      ("keyframes_requested", isPicture ? counts.map { "\($0.keyframeRequests)" } : nil),
      ("freezes", knowsFreezes ? "\(freezes.count)" : nil),
      ("freezes_ms", knowsFreezes ? milliseconds(freezes.total) : nil),
    ]
    if knowsFreezes, freezes.count > 0 {
      quality += [
        ("longest_freeze_ms", milliseconds(freezes.longest)), ("longest_freeze_at_ms", milliseconds(freezes.longestAt)),
      ]
    }
    if let skew = track.skew.usual {
      quality += [("picture_late_ms", milliseconds(skew.late)), ("picture_early_ms", milliseconds(skew.early))]
    }
    if kind == .audio {
      quality += [
        ("concealed_ms", milliseconds(track.concealed.total)), ("restored_ms", milliseconds(track.restored)),
        ("late_ms", milliseconds(track.lateAudio)),
      ]
      if track.concealed.total > .zero {
        quality += [
          ("worst_concealed_ms", milliseconds(track.concealed.worst)),
          ("worst_concealed_at_ms", milliseconds(track.concealed.worstAt)),
        ]
      }
    }
    if kind != nil { quality.append(("decode_errors", "\(track.decodeErrors)")) }
    return object([
      ("id", JSONText.quoted(id.rawValue)), ("participant", JSONText.quoted(track.participant.rawValue)),
      ("source", "\"\(track.source.timelineName)\""), ("kind", kind.map { "\"\($0.rawValue)\"" }),
      ("codec", track.codec.map { "\"\($0.rawValue)\"" }), ("from_ms", milliseconds(track.published.start)),
      ("to_ms", track.published.end.map(milliseconds)), ("first_ms", track.first.map(milliseconds)),
      ("last_ms", track.first == nil ? nil : milliseconds(min(track.last, end))), ("frames", "\(track.frames)"),
      ("sizes", sizes.isEmpty ? nil : "[" + sizes.joined(separator: ", ") + "]"), ("quality", object(quality)),
    ])
  }

  /// A stretch of the file, and how long it was in the room where that is more: a cut takes time out of the file.
  private static func span(_ span: Manifest.Span, _ more: Fields) -> String {
    let lasted = span.sessionEnd.map { $0 - span.sessionStart }
    let isCut = span.end.map { lasted != $0 - span.start } ?? false
    return object(
      [
        ("from_ms", milliseconds(span.start)), ("to_ms", span.end.map(milliseconds)),
        ("lasted_ms", isCut ? lasted.map(milliseconds) : nil),
      ] + more)
  }

  private static func object(_ fields: Fields) -> String {
    "{" + fields.compactMap { name, value in value.map { "\"\(name)\": \($0)" } }.joined(separator: ", ") + "}"
  }

  private static func milliseconds(_ time: SessionTime) -> String { "\(time.milliseconds)" }
  private static func milliseconds(_ span: Duration) -> String { "\(span.milliseconds)" }
}
