import MediaCore

extension ProbeReport {
  /// The report as a table for people; what would act on a terminal is replaced in the file's texts (`PeerText.visible`).
  public var text: String {
    var lines: [String] = [Self.clean(path)]
    func line(_ name: String, _ value: String) {
      lines.append("  " + Self.pad(name, 10) + Self.clean(value))
    }
    let app = writingApp.isEmpty ? muxingApp : writingApp
    let by = app.isEmpty ? "" : ", written by \(app)"
    line("container", (container == "webm" ? "WebM" : container) + " version \(containerVersion)" + by)
    if !title.isEmpty { line("title", title) }
    if let date { line("date", Self.utc(date)) }
    let rate = duration > .zero ? ", \(Self.bits(Double(size) * 8e9 / Double(duration.nanoseconds)))" : ""
    line("duration", Self.clock(.zero + duration) + (declaredDuration == nil ? " (measured; not declared)" : ""))
    line("size", "\(Self.grouped(size)) bytes\(rate)")
    line(
      "ended", endedCleanly ? "cleanly" : "not cleanly: no \(missing.joined(separator: ", ")); it plays, seeks slowly")
    line("index", "\(cues) Cues, \(clusters) Clusters, \(seekEntries) SeekHead entries")
    for track in tracks { lines += Self.describe(track) }
    for chapter in chapters {
      line("chapter", "\(Self.clock(chapter.start)) - \(Self.clock(chapter.end))  \(chapter.title)")
    }
    for tag in tags { line("tag", "\(tag.name) = \(tag.value)") }
    for gap in gaps.prefix(20) {
      line("gap", "track \(gap.track): nothing for \((gap.end - gap.start).inSeconds) s from \(Self.clock(gap.start))")
    }
    if gaps.count > 20 { line("gaps", "\(gaps.count - 20) more") }
    for problem in problems { line("problem", problem) }
    if gaps.isEmpty, problems.isEmpty { line("checks", "no gaps, no problems") }
    return lines.joined(separator: "\n") + "\n"
  }

  private var missing: [String] {
    var names: [String] = []
    if declaredDuration == nil { names.append("Duration") }
    if cues == 0 { names.append("Cues") }
    if seekEntries == 0 { names.append("SeekHead") }
    if !hasSegmentSize { names.append("Segment size") }
    return names
  }

  private static func describe(_ track: Track) -> [String] {
    var head = "  " + pad("track \(track.number)", 10) + pad(clean(track.kind?.rawValue ?? "other"), 7)
    head += clean(track.codec)
    let isLong = [RecordingCodec.vp9, .av1].map(\.matroskaCodecID).contains(track.codec)
    if isLong, let string = track.codecString { head += "  \(string)" }
    if track.kind == .video {
      head += "  \(track.width)x\(track.height)"
      if track.defaultDuration > .zero {
        head += "  nominally \(decimal(1e9 / Double(track.defaultDuration.nanoseconds), 2)) frames/s"
      }
    } else if track.kind == .audio {
      head += "  \(track.sampleRate) Hz, \(track.channels) channel\(track.channels == 1 ? "" : "s")"
    }
    guard track.frames > 0 else { return [head, "            no frames"] }
    let indent = String(repeating: " ", count: 12)
    var lines = [head]
    lines.append(
      indent + "\(clock(track.start)) - \(clock(track.end))  \(track.frames) frames, "
        + "\(decimal(track.framesPerSecond, 2)) a second, \(bits(track.bitrate))")
    if track.kind == .video {
      lines.append(indent + "\(track.keyframes) keyframes, at most \(track.longestKeyframeInterval.inSeconds) s apart")
    }
    if track.largestGap > .milliseconds(1) { lines.append(indent + "longest gap \(track.largestGap.inSeconds) s") }
    return lines
  }

  static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// Hours, minutes, seconds, milliseconds.
  static func clock(_ time: SessionTime) -> String {
    let ms = time.milliseconds.magnitude
    func two(_ value: UInt64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let fraction = String(1000 + ms % 1000).dropFirst()
    let sign = time.nanoseconds < 0 ? "-" : ""
    return "\(sign)\(two(ms / 3_600_000)):\(two(ms / 60_000 % 60)):\(two(ms / 1000 % 60)).\(fraction)"
  }

  /// A number with so many decimals.
  static func decimal(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "?" }
    var factor: Int64 = 1
    for _ in 0..<digits { factor *= 10 }
    let scaled = Int64((value * Double(factor)).rounded())
    guard digits > 0 else { return String(scaled) }
    let fraction = String(factor + Int64(scaled.magnitude) % factor).dropFirst()
    return "\(scaled < 0 ? "-" : "")\(Int64(scaled.magnitude) / factor).\(fraction)"
  }

  static func bits(_ rate: Double) -> String {
    rate >= 1e6 ? "\(decimal(rate / 1e6, 2)) Mbit/s" : "\(decimal(rate / 1e3, 0)) kbit/s"
  }

  /// Digits in groups of three.
  static func grouped(_ value: Int64) -> String {
    var result = ""
    for (index, digit) in String(value.magnitude).reversed().enumerated() {
      if index > 0, index % 3 == 0 { result.append(" ") }
      result.append(digit)
    }
    return (value < 0 ? "-" : "") + String(result.reversed())
  }

  /// Nanoseconds since 1970 as a date (RFC 3339).
  static func utc(_ nanoseconds: Int64) -> String {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let seconds = remainder < 0 ? quotient - 1 : quotient
    let day = seconds >= 0 ? seconds / 86_400 : -((86_399 - seconds) / 86_400)
    let rest = seconds - day * 86_400
    let (year, month, dayOfMonth) = CivilTime.date(ofDay: day)
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let date = "\(year)-\(two(month))-\(two(dayOfMonth))"
    return "\(date)T\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))Z"
  }

  /// Texts of a file may hold anything, also escape sequences for the terminal.
  private static func clean(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars { result.unicodeScalars.append(PeerText.visible(scalar)) }
    return result
  }
}
