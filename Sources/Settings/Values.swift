import Layouts
import MediaCore

/// A value that could not be read: one clear line that says what is wrong and what would be right.
public struct ValueError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, where, and what to do, in one line.
  public let description: String
  /// Makes an error from its line; see the properties.
  public init(_ description: String) { self.description = description }
}

/// Readers of the values that flags, the environment and the configuration file share.
public enum Values {
  /// A span of time: `90s`, `2h`, `1h30m`, `500ms`, or a bare number of seconds. Never negative, at most 30 days.
  public static func duration(_ text: String) throws(ValueError) -> Duration {
    let wrong = ValueError("'\(text)' is not a duration; write for example 30s, 10m, 2h or 1h30m")
    var rest = Substring(text)
    guard !rest.isEmpty else { throw wrong }
    var total: Int64 = 0
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      guard !digits.isEmpty, digits.count <= 9, let number = Int64(digits) else { throw wrong }
      rest = rest.dropFirst(digits.count)
      let letters = rest.prefix { $0.isLetter }
      rest = rest.dropFirst(letters.count)
      let unit: Int64? =
        switch letters {
        case "ms": 1
        case "s", "": 1_000
        case "m": 60_000
        case "h": 3_600_000
        case "d": 86_400_000
        default: nil
        }
      guard let unit, !letters.isEmpty || digits.count == text.count else { throw wrong }
      total += number * unit
      guard total <= 30 * 86_400_000 else { throw ValueError("'\(text)' is longer than 30 days") }
    }
    return .milliseconds(total)
  }

  /// A picture size: `1280x720`. Sides are even, 64 to 4096 pixels, at most 3840x2160 in all.
  public static func size(_ text: String) throws(ValueError) -> CanvasSize {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false)
    guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]) else {
      throw ValueError("'\(text)' is not a picture size; write for example 1280x720")
    }
    guard width % 2 == 0, height % 2 == 0 else {
      throw ValueError("picture size \(text): width and height must be even numbers; for example 1280x720")
    }
    guard (64...4096).contains(width), (64...4096).contains(height), width * height <= 3840 * 2160 else {
      throw ValueError("picture size \(text): sides must be 64 to 4096 pixels, at most 3840x2160 in all")
    }
    return CanvasSize(width: width, height: height)
  }

  /// A bit rate: `2500k`, `2.5M`, or bits a second. Between 50 kbit/s and 50 Mbit/s.
  public static func bitrate(_ text: String) throws(ValueError) -> Int {
    let wrong = ValueError("'\(text)' is not a bit rate; write for example 2500k or 2.5M (50k to 50M)")
    var number = Substring(text)
    var factor = 1.0
    if let last = number.last {
      if last == "k" || last == "K" { factor = 1_000 }
      if last == "M" || last == "m" { factor = 1_000_000 }
      if factor > 1 { number = number.dropLast() }
    }
    guard let value = Double(number), value.isFinite, value > 0 else { throw wrong }
    let bits = value * factor
    guard (50_000...50_000_000).contains(bits) else { throw wrong }
    return Int(bits)
  }

  /// What the picture is written in: `vp8`, `vp9` or `av1`.
  public static func codec(_ text: String) throws(ValueError) -> RecordingCodec {
    guard let codec = RecordingCodec(rawValue: text) else {
      let known = RecordingCodec.allCases.map(\.rawValue).joined(separator: ", ")
      throw ValueError("there is no \(RecordingCodec.what) '\(text)'; known: \(known)")
    }
    return codec
  }

  /// Pictures a second: 1 to 60.
  public static func framesPerSecond(_ text: String) throws(ValueError) -> Int {
    guard let value = Int(text), (1...60).contains(value) else {
      throw ValueError("'\(text)' is not a frame rate; write a whole number from 1 to 60")
    }
    return value
  }

  /// A share of the processors, in cores: 0.05 to 64.
  public static func cores(_ text: String) throws(ValueError) -> Double {
    guard let value = Double(text), (0.05...64).contains(value) else {
      throw ValueError("'\(text)' is not a share of cores; write a number from 0.05 to 64, such as 0.25")
    }
    return value
  }

  /// Yes or no: `true`, `yes`, `on`, `1` and their opposites.
  public static func boolean(_ text: String) throws(ValueError) -> Bool {
    switch text.lowercased() {
    case "true", "yes", "on", "1": return true
    case "false", "no", "off", "0": return false
    default: throw ValueError("'\(text)' is neither true nor false")
    }
  }

  /// How many attempts: 1 to 1000000.
  public static func attempts(_ text: String) throws(ValueError) -> Int {
    guard let value = Int(text), (1...1_000_000).contains(value) else {
      throw ValueError("'\(text)' is not a number of attempts; write a whole number from 1 on")
    }
    return value
  }

  /// A whole number within limits.
  public static func whole(_ text: String, in limits: ClosedRange<Int>) throws(ValueError) -> Int {
    guard let value = Int(text), limits.contains(value) else {
      throw ValueError("'\(text)' is not a whole number from \(limits.lowerBound) to \(limits.upperBound)")
    }
    return value
  }

  /// Reads whole numbers within limits.
  public static func whole(in limits: ClosedRange<Int>) -> @Sendable (String) throws(ValueError) -> Int {
    { text throws(ValueError) in try whole(text, in: limits) }
  }

  /// Takes a text as it is.
  public static func text(_ text: String) throws(ValueError) -> String { text }

  /// Takes secrets of at least so many bytes: shorter ones can be guessed.
  public static func secret(bytes: Int) -> @Sendable (String) throws(ValueError) -> String {
    { text throws(ValueError) in
      guard text.utf8.count >= bytes else { throw ValueError("the secret is too short: \(bytes) bytes or more") }
      return text
    }
  }

  /// Takes texts that begin with one of some schemes.
  public static func url(_ schemes: String...) -> @Sendable (String) throws(ValueError) -> String {
    { text throws(ValueError) in
      try checkURL(text, schemes)
      return text
    }
  }

  /// Takes texts of several URLs with commas, each of which begins with one of some schemes.
  public static func urls(_ schemes: String...) -> @Sendable (String) throws(ValueError) -> String {
    { text throws(ValueError) in
      for part in text.split(separator: ",") { try checkURL(String(part.drop { $0 == " " }), schemes) }
      return text
    }
  }

  private static func checkURL(_ url: String, _ schemes: [String]) throws(ValueError) {
    guard schemes.contains(where: { url.hasPrefix($0) && url.count > $0.count }) else {
      throw ValueError("'\(AnySetting.masked(url))' does not begin with \(schemes.joined(separator: " or "))")
    }
  }

  /// Reads the words of an enumeration; `what` they are is told with a word that is none.
  public static func word<Word: RawRepresentable & CaseIterable & SendableMetatype>(
    _ what: String, of: Word.Type = Word.self
  ) -> @Sendable (String) throws(ValueError) -> Word where Word.RawValue == String {
    { text throws(ValueError) in try word(text, what) }
  }

  /// One of some words.
  public static func word<Word: RawRepresentable & CaseIterable>(
    _ text: String, _ what: String, of: Word.Type = Word.self
  ) throws(ValueError) -> Word where Word.RawValue == String {
    guard let word = Word(rawValue: text) else { throw noWord(text, what, among: Word.allCases.map(\.rawValue)) }
    return word
  }

  /// The error of a word that is none of those that are known.
  public static func noWord(_ text: String, _ what: String, among known: [String]) -> ValueError {
    let hint = suggestion(for: text, among: known).map { "; did you mean '\($0)'?" }
    return ValueError("there is no \(what) '\(text)'" + (hint ?? "; known: \(known.joined(separator: ", "))"))
  }

  /// The bot's part in a two-party room: `host`, `guest`; nil for `auto`.
  public static func peerRole(_ text: String) throws(ValueError) -> String? {
    switch text {
    case "host", "guest": return text
    case "auto": return nil
    default: throw ValueError("there is no role '\(text)'; known: host, guest, auto")
    }
  }

  /// A TCP port; 0 lets the system choose.
  public static func port(_ text: String) throws(ValueError) -> Int {
    guard let value = Int(text), (0...65_535).contains(value) else {
      throw ValueError("'\(text)' is not a port; write a number from 0 to 65535")
    }
    return value
  }

  /// The address to listen on: a name or an address without a port, which has a setting of its own.
  public static func listenAddress(_ text: String) throws(ValueError) -> String {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    if parts.count == 2 || text.hasPrefix("[") {
      throw ValueError("'\(text)' is not an address alone; write it without brackets and port, and the port as --port")
    }
    return text
  }

  /// The known word nearest to a mistyped one, if any is near.
  public static func suggestion(for word: String, among known: [String]) -> String? {
    Spelling.nearest(to: word, among: known)
  }
}
