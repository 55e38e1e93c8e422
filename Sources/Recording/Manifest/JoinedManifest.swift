import MediaCore
import Session

/// Gathers the manifests of parts into one: times are moved to where the parts are, people and tracks are those of one
/// identity and one id, counts are added. Bounded as a manifest is. A pure value.
struct JoinedManifest {
  /// Fields of an object in their order, each value as JSON.
  typealias Fields = [(name: String, value: String?)]

  private struct Person {
    var name: String
    var kind: String
    var talked: Int64 = 0
    var stays: [Span] = []
  }

  private struct Span {
    var from: Int64
    var to: Int64?
    var lasted: Int64?
    var text: String?
  }

  private struct Key: Hashable {
    var id: String
    var participant: String
  }

  private struct Track {
    var source: String
    var kind: String?
    var codec: String?
    var from: Int64
    var to: Int64?
    var first: Int64?
    var last: Int64?
    var frames: Int64 = 0
    var sizes: [(at: Int64, width: Int64, height: Int64)] = []
    /// Counts, by their names.
    var counts: [String: Int64] = [:]
    /// The worst moments: how long, and when.
    var worst: [String: (length: Int64, at: Int64)] = [:]
  }

  private static let counts = [
    "packets_expected", "packets_lost", "packets_repaired", "keyframes_requested", "freezes", "freezes_ms",
    "concealed_ms", "restored_ms", "late_ms", "decode_errors",
  ]
  /// Of which the greatest of the parts counts.
  private static let greatest = ["picture_late_ms", "picture_early_ms"]
  private static let moments = [
    ("longest_freeze_ms", "longest_freeze_at_ms"), ("worst_concealed_ms", "worst_concealed_at_ms"),
  ]

  private var parts: [String] = []
  /// Some part says how its file is called.
  private var isNamed = false
  /// What only one of them says: `program`, `room`, `title`, `start`, `end`.
  private var texts: [String: String] = [:]
  private var people: [String: Person] = [:]
  private var peopleOrder: [String] = []
  private var tracks: [Key: Track] = [:]
  private var trackOrder: [Key] = []
  private var layouts: [(at: Int64, text: String)] = []
  private var markers: [(at: Int64, text: String)] = []
  private var gaps: [Span] = []
  private var pauses: [Span] = []
  private var video: [String: String] = [:]
  private var audio: [String: String] = [:]
  private var frames: (made: Int64, dropped: Int64, spared: Int64) = (0, 0, 0)
  private var leftOut: [String: Int64] = [:]

  /// Nothing was recorded between two parts.
  mutating func gap(_ from: Int64, _ to: Int64) {
    add(Span(from: from, to: to, text: ManifestJoin.betweenParts), to: \.gaps, "gaps")
  }

  /// Of a part nothing is known.
  mutating func lacks(_ part: ManifestJoin.Part, _ problem: String) {
    parts.append(
      Self.object([
        ("from_ms", "\(part.start)"), ("to_ms", "\(part.end)"), ("unknown", JSONText.quoted(problem)),
      ]))
    texts["end"] = nil
  }

  /// Takes a part's manifest. `isLast`: what has no end in it has none in the joined one.
  mutating func take(_ root: JSONValue, of part: ManifestJoin.Part, isLast: Bool) {
    let isFirst = parts.isEmpty
    let reader = PartReader(part: part, isLast: isLast)
    takeParts(root.member("parts")?.elements ?? [], reader)
    for name in ["program", "room", "title", "start", "end"] {
      let text = root.member(name)?.text ?? ""
      let keeps = name == "title" ? text.isEmpty : name == "room" ? texts[name] != nil : name == "start" && !isFirst
      if !keeps { texts[name] = text.isEmpty ? nil : text }
    }
    takeFile(root.member("file"), reader)
    for value in root.member("people")?.elements ?? [] { takePerson(value, reader) }
    for value in root.member("tracks")?.elements ?? [] { takeTrack(value, reader) }
    for value in root.member("layouts")?.elements ?? [] {
      let layout = reader.text(value, "layout")
      guard let at = reader.time(value, "at_ms"), layouts.last?.text != layout else { continue }
      if layouts.count < Manifest.mostEntries { layouts.append((at, layout)) } else { leaveOut("layouts") }
    }
    for value in root.member("markers")?.elements ?? [] {
      guard let at = reader.time(value, "at_ms") else { continue }
      if markers.count < Manifest.mostEntries {
        markers.append((at, reader.text(value, "title")))
      } else {
        leaveOut("markers")
      }
    }
    for value in root.member("gaps")?.elements ?? [] { add(span(value, reader, "reason"), to: \.gaps, "gaps") }
    for value in root.member("pauses")?.elements ?? [] { add(span(value, reader, "policy"), to: \.pauses, "pauses") }
    for name in ["people", "stays", "tracks", "sizes", "layouts", "gaps", "pauses", "markers"] {
      if let count = root.member("left_out").flatMap({ reader.number($0, name) }) { leaveOut(name, count) }
    }
  }

  /// Parts of which this one was joined before; it alone when there are none.
  private mutating func takeParts(_ inner: [JSONValue], _ reader: PartReader) {
    let part = reader.part
    guard !inner.isEmpty else {
      return parts.append(Self.object([("from_ms", "\(part.start)"), ("to_ms", "\(part.end)")]))
    }
    for value in inner.prefix(Manifest.mostEntries) {
      parts.append(
        Self.object([
          ("from_ms", reader.time(value, "from_ms").map { "\($0)" }),
          ("to_ms", reader.time(value, "to_ms").map { "\($0)" }),
          ("unknown", (value.member("unknown")?.text).map(JSONText.quoted)),
        ]))
    }
  }

  private mutating func takeFile(_ file: JSONValue?, _ reader: PartReader) {
    guard let file else { return }
    isNamed = isNamed || file.member("name") != nil
    if let picture = file.member("video") {
      for name in ["width", "height", "fps", "bitrate"] where video[name] == nil {
        video[name] = reader.number(picture, name).map { "\($0)" }
      }
      video["codec"] = video["codec"] ?? JSONText.quoted(reader.text(picture, "codec"))
      frames.made = Self.sum(frames.made, reader.number(picture, "frames") ?? 0)
      frames.dropped = Self.sum(frames.dropped, reader.number(picture, "dropped_frames") ?? 0)
      frames.spared = Self.sum(frames.spared, reader.number(picture, "spared_frames") ?? 0)
    }
    if let fileAudio = file.member("audio") {
      audio["codec"] = audio["codec"] ?? JSONText.quoted(reader.text(fileAudio, "codec"))
      audio["bitrate"] = audio["bitrate"] ?? reader.number(fileAudio, "bitrate").map { "\($0)" }
    }
  }

  private mutating func takePerson(_ value: JSONValue, _ reader: PartReader) {
    let identity = reader.text(value, "identity")
    guard !identity.isEmpty else { return }
    if people[identity] == nil {
      guard people.count < Manifest.mostPeople else { return leaveOut("people") }
      peopleOrder.append(identity)
    }
    var person = people[identity] ?? Person(name: "", kind: "person")
    person.name = reader.text(value, "name")
    person.kind = reader.text(value, "kind") == "bot" ? "bot" : "person"
    person.talked = Self.sum(person.talked, reader.number(value, "talked_ms") ?? 0)
    for stay in value.member("stays")?.elements ?? [] {
      guard let stay = span(stay, reader, nil) else { continue }
      // Where one part follows on the other, nobody left.
      if let last = person.stays.last, let end = last.to, stay.from <= end {
        person.stays[person.stays.count - 1].to = stay.to.map { max($0, end) }
      } else if person.stays.count < Manifest.mostOfOne {
        person.stays.append(stay)
      } else {
        leaveOut("stays")
      }
    }
    people[identity] = person
  }

  private mutating func takeTrack(_ value: JSONValue, _ reader: PartReader) {
    let key = Key(id: reader.text(value, "id"), participant: reader.text(value, "participant"))
    guard !key.id.isEmpty, let from = reader.time(value, "from_ms") else { return }
    if tracks[key] == nil {
      guard tracks.count < Manifest.mostTracks else { return leaveOut("tracks") }
      trackOrder.append(key)
    }
    var track = tracks[key] ?? Track(source: reader.text(value, "source"), from: from)
    track.kind = value.member("kind")?.text ?? track.kind
    track.codec = value.member("codec")?.text ?? track.codec
    track.to = reader.time(value, "to_ms") ?? reader.openEnd
    track.first = track.first ?? reader.time(value, "first_ms")
    track.last = reader.time(value, "last_ms") ?? track.last
    track.frames = Self.sum(track.frames, reader.number(value, "frames") ?? 0)
    for size in value.member("sizes")?.elements ?? [] {
      guard let at = reader.time(size, "at_ms"), let width = reader.number(size, "width"),
        let height = reader.number(size, "height"),
        (track.sizes.last?.width, track.sizes.last?.height) != (width, height)
      else { continue }
      if track.sizes.count < Manifest.mostOfOne { track.sizes.append((at, width, height)) } else { leaveOut("sizes") }
    }
    if let quality = value.member("quality") {
      for name in Self.counts {
        if let count = reader.number(quality, name) { track.counts[name] = Self.sum(track.counts[name] ?? 0, count) }
      }
      for name in Self.greatest {
        if let value = reader.number(quality, name) { track.counts[name] = max(track.counts[name] ?? 0, value) }
      }
      for (name, place) in Self.moments {
        guard let length = reader.number(quality, name), let at = reader.time(quality, place),
          length > track.worst[name]?.length ?? 0
        else { continue }
        track.worst[name] = (length, at)
      }
    }
    tracks[key] = track
  }

  private func span(_ value: JSONValue, _ reader: PartReader, _ text: String?) -> Span? {
    guard let from = reader.time(value, "from_ms") else { return nil }
    return Span(
      from: from, to: reader.time(value, "to_ms") ?? reader.openEnd, lasted: reader.number(value, "lasted_ms"),
      text: text.map { reader.text(value, $0) })
  }

  private mutating func add(_ span: Span?, to list: WritableKeyPath<Self, [Span]>, _ name: String) {
    guard let span else { return }
    if self[keyPath: list].count < Manifest.mostEntries { self[keyPath: list].append(span) } else { leaveOut(name) }
  }

  private mutating func leaveOut(_ list: String, _ count: Int64 = 1) {
    leftOut[list] = Self.sum(leftOut[list] ?? 0, count)
  }

  private static func sum(_ a: Int64, _ b: Int64) -> Int64 { min(ManifestJoin.most, a + b) }

  // MARK: The document

  /// The document of the joined file.
  func text(_ file: ManifestJoin.File) -> String {
    let title = texts["title"] ?? file.title
    let picture = Self.object(
      ["codec", "width", "height", "fps", "bitrate"].map { ($0, video[$0]) }
        + [
          ("frames", "\(frames.made)"), ("dropped_frames", "\(frames.dropped)"),
          ("spared_frames", frames.spared > 0 ? "\(frames.spared)" : nil),
        ])
    let known = Self.object([
      ("name", isNamed ? file.name.map(JSONText.quoted) : nil), ("bytes", "\(file.bytes)"),
      ("video", video.isEmpty ? nil : picture),
      ("audio", audio.isEmpty ? nil : Self.object(["codec", "bitrate"].map { ($0, audio[$0]) })),
    ])
    let start = file.start.map(UTCDate.text) ?? texts["start"]
    let head: Fields = [
      ("version", "1"), ("program", texts["program"].map(JSONText.quoted)),
      ("room", texts["room"].map(JSONText.quoted)),
      ("title", JSONText.quoted(title)), ("start", start.map(JSONText.quoted)), ("length_ms", "\(file.length)"),
      ("end", texts["end"].map(JSONText.quoted)), ("file", known),
    ]
    var text = "{\n"
    for (name, value) in head { if let value { text += " \"\(name)\": \(value),\n" } }
    func list(_ name: String, _ objects: [String]) {
      text += " \"\(name)\": " + (objects.isEmpty ? "[],\n" : "[\n  \(objects.joined(separator: ",\n  "))\n ],\n")
    }
    list("parts", parts)
    list("people", peopleOrder.compactMap { identity in people[identity].map { Self.person(identity, $0) } })
    list("tracks", trackOrder.compactMap { key in tracks[key].map { Self.track(key, $0) } })
    list("layouts", layouts.map { Self.object([("at_ms", "\($0.at)"), ("layout", JSONText.quoted($0.text))]) })
    list("gaps", gaps.sorted { $0.from < $1.from }.map { Self.span($0, "reason") })
    list("pauses", pauses.map { Self.span($0, "policy") })
    list("markers", markers.map { Self.object([("at_ms", "\($0.at)"), ("title", JSONText.quoted($0.text))]) })
    let left = leftOut.sorted { $0.key < $1.key }.map { (name: $0.key, value: String($0.value) as String?) }
    return text + " \"left_out\": \(Self.object(left))\n}\n"
  }

  private static func person(_ identity: String, _ person: Person) -> String {
    object([
      ("identity", JSONText.quoted(identity)), ("name", JSONText.quoted(person.name)), ("kind", "\"\(person.kind)\""),
      ("talked_ms", "\(person.talked)"), ("stays", "[\(person.stays.map { span($0, nil) }.joined(separator: ", "))]"),
    ])
  }

  private static func track(_ key: Key, _ track: Track) -> String {
    let sizes = track.sizes.map {
      object([("at_ms", "\($0.at)"), ("width", "\($0.width)"), ("height", "\($0.height)")])
    }
    var quality: Fields = (counts + greatest).map { name in (name, track.counts[name].map { "\($0)" }) }
    for (name, place) in moments {
      if let worst = track.worst[name] { quality += [(name, "\(worst.length)"), (place, "\(worst.at)")] }
    }
    return object([
      ("id", JSONText.quoted(key.id)), ("participant", JSONText.quoted(key.participant)),
      ("source", JSONText.quoted(track.source)), ("kind", track.kind.map(JSONText.quoted)),
      ("codec", track.codec.map(JSONText.quoted)), ("from_ms", "\(track.from)"), ("to_ms", track.to.map { "\($0)" }),
      ("first_ms", track.first.map { "\($0)" }), ("last_ms", track.last.map { "\($0)" }), ("frames", "\(track.frames)"),
      ("sizes", sizes.isEmpty ? nil : "[\(sizes.joined(separator: ", "))]"), ("quality", object(quality)),
    ])
  }

  private static func span(_ span: Span, _ text: String?) -> String {
    object([
      ("from_ms", "\(span.from)"), ("to_ms", span.to.map { "\($0)" }), ("lasted_ms", span.lasted.map { "\($0)" }),
      (text ?? "", text == nil ? nil : span.text.map(JSONText.quoted)),
    ])
  }

  private static func object(_ fields: Fields) -> String {
    "{" + fields.compactMap { name, value in value.map { "\"\(name)\": \($0)" } }.joined(separator: ", ") + "}"
  }
}

/// Reads values of a part's manifest, with its times moved to where the part is in the joined file.
private struct PartReader {
  let part: ManifestJoin.Part
  let isLast: Bool

  /// Where in the joined file ends what has no end; nil: it goes on to the end.
  var openEnd: Int64? { isLast ? nil : part.end }

  func text(_ value: JSONValue, _ name: String) -> String { value.member(name)?.text ?? "" }

  /// A number that is none of a recording counts as not told.
  func number(_ value: JSONValue, _ name: String) -> Int64? {
    value.member(name)?.integer(Int64.self).flatMap { (0..<ManifestJoin.most).contains($0) ? $0 : nil }
  }

  /// A time within the part.
  func time(_ value: JSONValue, _ name: String) -> Int64? { number(value, name).map { min(part.start + $0, part.end) } }
}
