import MediaCore

extension ProbeReport {
  /// The report as one JSON object (RFC 8259), indented. Times are integers in milliseconds (`…Ms`), rates numbers,
  /// absent values null.
  public var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("path", path)
      writer.field("size", size)
      writer.field("container", container)
      writer.field("containerVersion", Int64(clamping: containerVersion))
      writer.field("muxingApp", muxingApp)
      writer.field("writingApp", writingApp)
      writer.field("title", title)
      writer.field("dateNs", date)
      writer.field("endedCleanly", endedCleanly)
      writer.field("durationMs", duration.milliseconds)
      writer.field("declaredDurationMs", declaredDuration?.milliseconds)
      writer.field("hasSegmentSize", hasSegmentSize)
      writer.field("seekEntries", Int64(seekEntries))
      writer.field("cues", Int64(cues))
      writer.field("clusters", Int64(clusters))
      writer.array("tracks", tracks) { writer, track in
        writer.field("number", Int64(clamping: track.number))
        writer.field("kind", track.kind?.rawValue)
        writer.field("codec", track.codec)
        writer.field("codecString", track.codecString)
        writer.field("width", Int64(track.width))
        writer.field("height", Int64(track.height))
        writer.field("sampleRate", Int64(track.sampleRate))
        writer.field("channels", Int64(track.channels))
        writer.field("defaultDurationNs", track.defaultDuration.nanoseconds)
        writer.field("codecDelayNs", track.codecDelay.nanoseconds)
        writer.field("frames", Int64(track.frames))
        writer.field("framesPerSecond", track.framesPerSecond)
        writer.field("bytes", track.bytes)
        writer.field("bitrate", track.bitrate)
        writer.field("startMs", track.start.milliseconds)
        writer.field("endMs", track.end.milliseconds)
        writer.field("keyframes", Int64(track.keyframes))
        writer.field("longestKeyframeIntervalMs", track.longestKeyframeInterval.milliseconds)
        writer.field("largestGapMs", track.largestGap.milliseconds)
        writer.field("disordered", Int64(track.disordered))
      }
      writer.array("chapters", chapters) { writer, chapter in
        writer.field("startMs", chapter.start.milliseconds)
        writer.field("endMs", chapter.end.milliseconds)
        writer.field("title", chapter.title)
      }
      writer.array("tags", tags) { writer, tag in
        writer.field("name", tag.name)
        writer.field("value", tag.value)
      }
      writer.array("gaps", gaps) { writer, gap in
        writer.field("track", Int64(clamping: gap.track))
        writer.field("startMs", gap.start.milliseconds)
        writer.field("endMs", gap.end.milliseconds)
      }
      writer.strings("problems", problems)
    }
    return writer.text + "\n"
  }
}

/// Puts JSON text together.
private struct JSONWriter {
  private(set) var text = ""
  private var depth = 0
  private var needsComma = false

  mutating func object(_ body: (inout JSONWriter) -> Void) { group("{", "}", body) }

  mutating func array<Item>(_ name: String, _ items: [Item], _ body: (inout JSONWriter, Item) -> Void) {
    key(name)
    guard !items.isEmpty else { return text += "[]" }
    group("[", "]") { writer in
      for item in items {
        writer.separate()
        writer.object { body(&$0, item) }
      }
    }
  }

  mutating func strings(_ name: String, _ items: [String]) {
    key(name)
    guard !items.isEmpty else { return text += "[]" }
    group("[", "]") { writer in
      for item in items {
        writer.separate()
        writer.text += JSONText.quoted(item)
      }
    }
  }

  mutating func field(_ name: String, _ value: String?) { raw(name, value.map { JSONText.quoted($0) } ?? "null") }
  mutating func field(_ name: String, _ value: Int64?) { raw(name, value.map(String.init) ?? "null") }
  mutating func field(_ name: String, _ value: Bool) { raw(name, value ? "true" : "false") }
  mutating func field(_ name: String, _ value: Double) {
    // Three decimals; infinities and NaN do not exist in JSON.
    guard value.isFinite, abs(value) < 1e15 else { return raw(name, "null") }
    let thousandths = Int64((value * 1000).rounded())
    let fraction = String(1000 + thousandths.magnitude % 1000).dropFirst()
    raw(name, "\(thousandths < 0 ? "-" : "")\(thousandths.magnitude / 1000).\(fraction)")
  }

  private mutating func raw(_ name: String, _ value: String) {
    key(name)
    text += value
  }

  private mutating func key(_ name: String) {
    separate()
    text += JSONText.quoted(name) + ": "
  }

  private mutating func separate() {
    text += needsComma ? ",\n" : "\n"
    text += String(repeating: "  ", count: depth)
    needsComma = true
  }

  private mutating func group(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void) {
    text += open
    depth += 1
    needsComma = false
    body(&self)
    depth -= 1
    text += "\n" + String(repeating: "  ", count: depth) + close
    needsComma = true
  }
}
