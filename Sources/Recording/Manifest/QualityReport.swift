import MediaCore

/// How well a recording's tracks came in, as its manifest tells it. The document comes from outside: whatever it says,
/// reading it is total.
public struct QualityReport: Sendable, Hashable {
  /// How bad something is, for the order of a report.
  public enum Grade: Int, Sendable, Hashable, Comparable {
    /// Nobody noticed anything.
    case clean
    /// It was noticed by who listened or looked closely.
    case slight
    /// It was in the way.
    case bad

    /// The better first.
    public static func < (a: Grade, b: Grade) -> Bool { a.rawValue < b.rawValue }
  }

  /// One track.
  public struct Track: Sendable, Hashable {
    /// Its id.
    public var id: String
    /// The identity of who published it.
    public var participant: String
    /// "camera", "microphone", "screen-share"…
    public var source: String
    /// The codec's name; empty when nothing came.
    public var codec: String
    /// Packets lost after repair, in 1/10000 of those expected; nil when that is not known.
    public var lost: Int?
    /// Packets that were missing and came after all; nil when that is not known.
    public var repaired: Int64?
    /// How bad it was.
    public var grade: Grade
    /// One sentence without its stop: "clean", or what was lost.
    public var judgement: String
    /// When the worst moment began, milliseconds; nil when there was none.
    public var worstAt: Int64?
    /// How long that lasted, milliseconds, for the order.
    public var worst: Int64 = 0
  }

  /// One person.
  public struct Person: Sendable, Hashable {
    /// Who.
    public var identity: String
    /// The display name.
    public var name: String
    /// How long they were there, milliseconds.
    public var present: Int64
    /// How long they talked, milliseconds.
    public var talked: Int64
  }

  /// Why a document is no manifest.
  public struct Unreadable: Error, Hashable, CustomStringConvertible {
    /// One line.
    public let description: String
  }

  /// No manifest that is read is longer: one of as many people and tracks as are kept is shorter.
  public static let longest = 16 << 20

  /// The title, else the room.
  public private(set) var title = ""
  /// When it began, as written.
  public private(set) var start = ""
  /// The length, milliseconds.
  public private(set) var length: Int64 = 0
  /// Who was there, in the order in which they came.
  public private(set) var people: [Person] = []
  /// The tracks, the worst first.
  public private(set) var tracks: [Track] = []
  /// What concerns all of it, one sentence each.
  public private(set) var remarks: [String] = []

  /// Reads a manifest (JSON).
  public init(_ bytes: [UInt8]) throws(Unreadable) {
    let root: JSONValue
    do {
      root = try JSONDocument(bytes, limits: JSONLimits(bytes: Self.longest, values: 2_000_000)).root
    } catch {
      throw Unreadable(description: "it is no JSON that can be read: \(error)")
    }
    guard let version = root.member("version")?.integer(Int.self), root.member("tracks")?.elements != nil else {
      throw Unreadable(description: "it is no manifest of a recording")
    }
    guard version == 1 else {
      throw Unreadable(description: "it is a manifest of version \(version); this program reads version 1")
    }
    title = Self.text(root, "title").isEmpty ? Self.text(root, "room") : Self.text(root, "title")
    start = Self.text(root, "start")
    length = Self.number(root, "length_ms") ?? 0
    people = (root.member("people")?.elements ?? []).map { person(of: $0) }
    tracks = (root.member("tracks")?.elements ?? []).map { track(of: $0) }.sorted {
      ($0.grade, $0.worst, $0.lost ?? 0) > ($1.grade, $1.worst, $1.lost ?? 0)
    }
    remarks = Self.remarks(root)
  }

  private func person(of value: JSONValue) -> Person {
    var present: Int64 = 0
    for stay in value.member("stays")?.elements ?? [] {
      let from = Self.number(stay, "from_ms") ?? 0
      present &+= max(0, (Self.number(stay, "to_ms") ?? length) &- from)
    }
    return Person(
      identity: Self.text(value, "identity"), name: Self.text(value, "name"), present: present,
      talked: Self.number(value, "talked_ms") ?? 0)
  }

  private func track(of value: JSONValue) -> Track {
    let quality = value.member("quality")
    func number(_ name: String) -> Int64? { quality.flatMap { Self.number($0, name) } }
    var track = Track(
      id: Self.text(value, "id"), participant: Self.text(value, "participant"), source: Self.text(value, "source"),
      codec: Self.text(value, "codec"), repaired: number("packets_repaired"), grade: .clean, judgement: "clean")
    if let lost = number("packets_lost"), let expected = number("packets_expected"), expected > 0 {
      track.lost = Int(Self.share(lost, of: expected))
    }
    guard let first = Self.number(value, "first_ms"), let last = Self.number(value, "last_ms") else {
      track.judgement = "nothing came"
      return track
    }
    let span = max(1, last &- first)
    var words: [String] = []
    /// Notes something of which so much, in 1/10000, is slight and so much bad.
    func note(_ text: String, _ share: Int64, bad: Int64) {
      words.append(text)
      track.grade = max(track.grade, share >= bad ? .bad : .slight)
    }
    if let concealed = number("concealed_ms"), concealed > 0 {
      let share = Self.share(concealed, of: span)
      note("\(Self.percent(share)) of the sound was lost", share, bad: 200)
      track.worstAt = number("worst_concealed_at_ms")
      track.worst = number("worst_concealed_ms") ?? 0
    }
    if let late = number("late_ms"), late > 0 {
      let share = Self.share(late, of: span)
      note("\(Self.seconds(late)) of sound came too late", share, bad: 200)
    }
    if let freezes = number("freezes"), freezes > 0 {
      let length = number("freezes_ms") ?? 0
      let times = freezes == 1 ? "once" : "\(freezes) times"
      note("the picture stood still \(times), \(Self.seconds(length)) in all", Self.share(length, of: span), bad: 200)
      track.worstAt = number("longest_freeze_at_ms")
      track.worst = number("longest_freeze_ms") ?? 0
    }
    // When it is noticed, and when it is in the way: ITU-R BT.1359-1, which finds sound that comes first worse.
    for (name, words, noticed, bad) in [
      ("picture_late_ms", "after", 45, 90), ("picture_early_ms", "before", 125, 185),
    ] as [(String, String, Int64, Int64)] {
      guard let skew = number(name), skew >= noticed else { continue }
      note("the picture came \(Self.seconds(skew)) \(words) its sound", skew, bad: bad)
    }
    if let errors = number("decode_errors"), errors > 0 {
      note(errors == 1 ? "1 frame could not be decoded" : "\(errors) frames could not be decoded", errors, bad: 100)
    }
    if !words.isEmpty { track.judgement = words.joined(separator: "; ") }
    return track
  }

  private static func remarks(_ root: JSONValue) -> [String] {
    var remarks: [String] = []
    let video = root.member("file")?.member("video")
    for (name, why) in [
      ("dropped_frames", "as the machine did not keep up"), ("spared_frames", "to save processor time"),
    ] {
      guard let count = video.flatMap({ number($0, name) }), count > 0 else { continue }
      remarks.append("\(count) \(count == 1 ? "picture was" : "pictures were") left out, \(why)")
    }
    let gaps = (root.member("gaps")?.elements ?? []).map {
      (gap: $0, isBetween: text($0, "reason") == ManifestJoin.betweenParts)
    }
    for (isBetween, words) in [(false, "the connection was lost"), (true, "the recording was interrupted")] {
      let gaps = gaps.filter { $0.isBetween == isBetween }.map(\.gap)
      guard !gaps.isEmpty else { continue }
      let places = gaps.prefix(5).map { gap in
        let from = number(gap, "from_ms") ?? 0
        let length = number(gap, "to_ms").map { " for " + seconds($0 &- from) } ?? " to the end"
        return "at \(clock(from))\(length)"
      }
      let times = gaps.count == 1 ? "once" : "\(gaps.count) times"
      remarks.append("\(words) \(times): \(places.joined(separator: ", "))\(gaps.count > 5 ? "…" : "")")
    }
    for part in (root.member("parts")?.elements ?? []).filter({ $0.member("unknown") != nil }).prefix(5) {
      let (from, to) = (clock(number(part, "from_ms") ?? 0), clock(number(part, "to_ms") ?? 0))
      remarks.append("from \(from) to \(to) nothing is known of people and tracks: \(text(part, "unknown"))")
    }
    for (name, value) in root.member("left_out")?.members ?? [] {
      remarks.append("the manifest had no room for \(value.integer(Int.self) ?? 0) more \(name.text ?? "")")
    }
    return remarks
  }

  private static func text(_ value: JSONValue, _ name: String) -> String { value.member(name)?.text ?? "" }

  /// A number that is none of a recording counts as not told.
  private static func number(_ value: JSONValue, _ name: String) -> Int64? {
    value.member(name)?.integer(Int64.self).flatMap { (0..<1 << 48).contains($0) ? $0 : nil }
  }

  private static func share(_ part: Int64, of whole: Int64) -> Int64 { min(10_000, part * 10_000 / max(1, whole)) }

  /// `2.1 %`, of 1/10000; what is less than is written is told as such.
  public static func percent(_ share: Int64) -> String {
    share == 0 ? "less than 0.1 %" : share < 10 ? "0.0\(share) %" : "\(share / 100).\(share / 10 % 10) %"
  }

  /// `2.1 s`.
  public static func seconds(_ milliseconds: Int64) -> String {
    milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000).\(milliseconds / 100 % 10) s"
  }

  /// `1:02:03`, or `2:03`.
  public static func clock(_ milliseconds: Int64) -> String {
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let seconds = milliseconds / 1000
    let tail = "\(two(seconds % 60))"
    return seconds < 3600
      ? "\(seconds / 60):\(tail)" : "\(seconds / 3600):\(two(seconds / 60 % 60)):\(tail)"
  }
}
