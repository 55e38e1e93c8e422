/// Why a text is no name for a file, or no template of one. One line.
public struct FileNameError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong with the name or template, in one line.
  public let description: String
}

/// A name for a delivered file with places to fill in: `{room}/{date}/{job}.webm`.
///
/// | place | what it becomes |
/// | --- | --- |
/// | `{room}` | the room's name |
/// | `{job}` | the job's id |
/// | `{time}` | when the recording began, UTC: `20261121T143000Z` |
/// | `{date}` | its day: `2026-11-21` |
/// | `{year}` `{month}` `{day}` | parts of it: `2026`, `11`, `21` |
/// | `{attempt}` | how often a worker has taken the job |
///
/// The values are others' words: in them slashes, control characters and whatever else is not a letter, a digit or one
/// of `-_.` become `-`. The template itself may have slashes, but neither empty components nor `.` and `..`.
public struct KeyTemplate: Hashable, Sendable {
  /// What is filled in.
  public struct Values: Hashable, Sendable {
    /// The room's name.
    public var room: String
    /// The job's id.
    public var job: String
    /// When the recording began: microseconds since 1970-01-01 UTC.
    public var time: Int64
    /// How often a worker has taken the job.
    public var attempt: Int

    /// Makes values.
    public init(room: String, job: String, time: Int64, attempt: Int = 1) {
      self.room = room
      self.job = job
      self.time = time
      self.attempt = attempt
    }
  }

  private enum Piece: Hashable, Sendable {
    case text(String)
    case place(Place)
  }

  private enum Place: String, Hashable, Sendable, CaseIterable {
    case room, job, time, date, year, month, day, attempt
  }

  /// What is used when nothing else is said.
  public static let standard = KeyTemplate(pieces: [.place(.room), .text("-"), .place(.time), .text(".webm")])

  /// Most bytes of a name (S3: object keys are at most 1024 bytes).
  private static let longest = 1024

  private let pieces: [Piece]

  private init(pieces: [Piece]) { self.pieces = pieces }

  /// Reads a template. Throws when it would give no good name.
  public init(_ text: String) throws(FileNameError) {
    var pieces: [Piece] = []
    var rest = Substring(text)
    while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
      guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
        throw FileNameError(description: "name '\(Self.shown(text))': a brace has no counterpart")
      }
      if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
      let name = String(rest[rest.index(after: open)..<close])
      guard let place = Place(rawValue: name) else {
        let known = Place.allCases.map { "{\($0.rawValue)}" }.joined(separator: " ")
        throw FileNameError(description: "name: there is no {\(Self.shown(name))}; known: \(known)")
      }
      pieces.append(.place(place))
      rest = rest[rest.index(after: close)...]
    }
    if !rest.isEmpty { pieces.append(.text(String(rest))) }
    self.init(pieces: pieces)
    // Whatever the values are, they are neither empty nor do they hold a slash: so one example shows all mistakes.
    try Self.check(name(Values(room: "room", job: "job", time: 0)))
  }

  /// What is wrong with a template, in one line; nil: nothing.
  public static func problem(with text: String) -> String? {
    do throws(FileNameError) {
      _ = try KeyTemplate(text)
      return nil
    } catch {
      return error.description
    }
  }

  /// The name for a file: relative, safe as a path and as an object's key.
  public func name(_ values: Values) -> String {
    let (date, time) = CivilTime.texts(microseconds: values.time)
    var result = ""
    for piece in pieces {
      switch piece {
      case .text(let text): result += text
      case .place(.room): result += Self.safe(values.room)
      case .place(.job): result += Self.safe(values.job)
      case .place(.time): result += time
      case .place(.date): result += date
      case .place(.year): result += date.prefix(4)
      case .place(.month): result += date.dropFirst(5).prefix(2)
      case .place(.day): result += date.suffix(2)
      case .place(.attempt): result += "\(values.attempt)"
      }
    }
    return result
  }

  /// Refuses names that lead elsewhere or that stores and file systems do not take.
  public static func check(_ name: String) throws(FileNameError) {
    let components = name.split(separator: "/", omittingEmptySubsequences: false)
    let fault: String? =
      if name.isEmpty {
        "is empty"
      } else if name.utf8.count > longest {
        "is longer than \(longest) bytes"
      } else if components.contains("") {
        "has an empty component: neither / at its ends nor // is possible"
      } else if components.contains(where: { $0 == "." || $0 == ".." }) {
        "has a component . or .."
      } else if components.contains(where: { $0.utf8.count > 255 }) {
        "has a component of more than 255 bytes"
      } else if name.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 || $0.value == 92 }) {
        "has a control character or a backslash"
      } else {
        nil
      }
    if let fault { throw FileNameError(description: "name '\(shown(name))' \(fault)") }
  }

  /// A text as one component of a path.
  public static func component(_ text: String) -> String { safe(text) }

  /// A value as part of a component: never empty, at most 120 bytes, not beginning with a dot.
  private static func safe(_ text: String) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      let isGood =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "-_.".unicodeScalars.contains(scalar)
        || scalar.properties.generalCategory == .nonspacingMark || scalar.properties.generalCategory == .spacingMark
      let next = isGood && !(scalar == "." && result.isEmpty) ? scalar : "-"
      count += UTF8.width(next)
      if count > 120 { break }
      result.unicodeScalars.append(next)
    }
    return result.isEmpty ? "-" : result
  }

  private static func shown(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(80).map { $0.value < 32 ? " " : $0 }))
  }
}
