import MediaCore
import Session

/// Makes one manifest, and one file of who talks when, of those of parts that were joined into one recording. What it reads
/// comes from outside: a part whose document is missing or damaged is told as such, and reading is total. Pure.
public struct ManifestJoin: Sendable {
  /// A part of the joined file.
  public struct Part: Sendable {
    /// Where its time zero is in the joined file, milliseconds.
    public var start: Int64
    /// Where its last frame ends there, milliseconds.
    public var end: Int64
    /// Its manifest (JSON); nil: there is none.
    public var manifest: [UInt8]?
    /// Its file of who talks when (WebVTT); nil: there is none.
    public var talkers: [UInt8]?

    /// Makes a part; see the properties.
    public init(start: Int64, end: Int64, manifest: [UInt8]? = nil, talkers: [UInt8]? = nil) {
      self.start = start
      self.end = max(start, end)
      self.manifest = manifest
      self.talkers = talkers
    }
  }

  /// The joined file.
  public struct File: Sendable {
    /// Its name without folders. It is told when some part tells its own.
    public var name: String?
    /// Bytes.
    public var bytes: Int64
    /// Its length, milliseconds.
    public var length: Int64
    /// Its title, told when no part says one.
    public var title: String
    /// When it began, nanoseconds since 1970; nil: as the first part's manifest says.
    public var start: Int64?

    /// Makes a description; see the properties.
    public init(name: String?, bytes: Int64, length: Int64, title: String = "", start: Int64? = nil) {
      self.name = name
      self.bytes = bytes
      self.length = length
      self.title = title
      self.start = start
    }
  }

  /// No file of who talks when that is read is longer, in bytes.
  public static let longestTalkers = 16 << 20
  /// What a document can't say: no time and no count of a recording is so large.
  static let most: Int64 = 1 << 48

  /// Why nothing was recorded in a gap between two parts.
  static let betweenParts = "between parts"

  private let parts: [Part]

  /// Parts in the order in which they are in the joined file.
  public init(_ parts: [Part]) { self.parts = parts }

  /// Writes a document, mode 0600, under a name that nothing has: as a whole or not at all. Blocks. Throws `.output`.
  public static func write(_ text: String, to path: String) throws(RecordingError) {
    try WholeFile.write(text, to: path)
  }

  /// The manifest of the joined file (JSON).
  public func manifest(of file: File) -> String {
    var joined = JoinedManifest()
    for (index, part) in parts.enumerated() {
      if index > 0, part.start > parts[index - 1].end { joined.gap(parts[index - 1].end, part.start) }
      guard let bytes = part.manifest else {
        joined.lacks(part, "it has no manifest that can be read")
        continue
      }
      do {
        _ = try QualityReport(bytes)
        joined.take(
          try JSONDocument(bytes, limits: JSONLimits(bytes: QualityReport.longest, values: 2_000_000)).root, of: part,
          isLast: index == parts.count - 1)
      } catch let error as QualityReport.Unreadable {
        joined.lacks(part, "\(error)")
      } catch {
        joined.lacks(part, "it can't be read")
      }
    }
    return joined.text(file)
  }

  /// The joined file of who talks when (WebVTT). What is no cue of recbot's is left out.
  public func talkers() -> String {
    var text = "WEBVTT\n\n"
    for part in parts {
      let cues = part.talkers.flatMap { Self.cues($0, of: part) }
      text += cues ?? "NOTE From \(Self.clock(part.start)) to \(Self.clock(part.end)) it isn't known who talked.\n\n"
    }
    return text
  }

  /// The cues of a part, moved; nil: it is no WebVTT. The last one, which a kill may have cut off, only when it is whole.
  private static func cues(_ bytes: [UInt8], of part: Part) -> String? {
    guard bytes.count <= longestTalkers, bytes.starts(with: "WEBVTT".utf8) else { return nil }
    var text = ""
    var rest = bytes[...]
    var times: (from: Int64, to: Int64)?
    // What follows the last line's end is no line.
    while let stop = rest.firstIndex(of: 10) {
      let line = rest[..<stop]
      rest = rest[(stop + 1)...]
      defer { times = Self.times(line) }
      guard let (from, to) = times, from < to, !line.isEmpty else { continue }
      let words = String(decoding: line, as: UTF8.self)
      let (begin, end) = (min(part.start + from, part.end), min(part.start + to, part.end))
      guard begin < end, !words.contains("-->") else { continue }
      text += "\(clock(begin)) --> \(clock(end))\n\(words)\n\n"
    }
    return text
  }

  /// `00:00:01.000 --> 00:00:02.000`, in milliseconds.
  private static func times(_ line: ArraySlice<UInt8>) -> (Int64, Int64)? {
    guard line.count < 64 else { return nil }
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard words.count == 3, words[1] == "-->", let from = time(words[0]), let to = time(words[2]) else { return nil }
    return (from, to)
  }

  private static func time(_ text: Substring) -> Int64? {
    let fields = text.split(separator: ":").flatMap { $0.split(separator: ".") }
    let numbers = fields.compactMap { $0.allSatisfy(\.isWholeNumber) ? Int64($0) : nil }
    guard fields.count == 4, numbers.count == 4, numbers[0] < 1 << 24, numbers[1] < 60, numbers[2] < 60,
      numbers[3] < 1000
    else { return nil }
    return ((numbers[0] * 60 + numbers[1]) * 60 + numbers[2]) * 1000 + numbers[3]
  }

  private static func clock(_ milliseconds: Int64) -> String { Cue.clock(.zero + .milliseconds(milliseconds), ".") }
}
