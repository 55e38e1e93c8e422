public import MediaCore

/// A further file of a job's recording: the same session in another picture, or its sound alone. What is not given is as its
/// kind says, or as in the recording.
public struct JobFurtherFile: Codable, Hashable, Sendable {
  /// What a word stands for.
  public enum Kind: String, Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "kind of file"
    /// Upright, for telephones.
    case portrait
    /// Across, in 16:9.
    case landscape
    /// As wide as high.
    case square
    /// The sound alone.
    case audio
  }
  /// What kind of file; nil: what the rest says.
  public var kind: Kind?
  /// The layout's name; nil: the kind's, else that of the recording.
  public var layout: String?
  /// Columns; even. With `height`.
  public var width: Int?
  /// Rows; even.
  public var height: Int?
  /// Bits a second of the picture, of sound alone of the sound.
  public var bitrate: Int?
  /// What its picture is written in.
  public var codec: RecordingCodec?

  /// Makes one.
  public init(
    kind: Kind? = nil, layout: String? = nil, width: Int? = nil, height: Int? = nil, bitrate: Int? = nil,
    codec: RecordingCodec? = nil
  ) {
    self.kind = kind
    self.layout = layout
    self.width = width
    self.height = height
    self.bitrate = bitrate
    self.codec = codec
  }

  enum CodingKeys: String, CodingKey, CaseIterable { case kind, layout, width, height, bitrate, codec }

  /// More are refused: each costs a worker time and memory.
  public static let most = 8
  /// The name of one without a kind.
  private static let plain = "also"
  /// What they can be called, without a number.
  static let words = Kind.allCases.map(\.rawValue) + [plain]

  /// What files are called in their names and lists, in their order: `portrait`, a second one `portrait-2`.
  public static func names(of files: [JobFurtherFile]) -> [String] {
    var counts: [String: Int] = [:]
    return files.map { file in
      let word = file.kind?.rawValue ?? plain
      let count = counts[word, default: 0] + 1
      counts[word] = count
      return count == 1 ? word : "\(word)-\(count)"
    }
  }

  /// What is wrong with it, one line each. `place` is how it is called there.
  func problems(_ place: String) -> [String] {
    var problems = JobPicture(width: width, height: height).problems.map { problem in
      "\(place)\(problem.dropFirst("picture".count))"
    }
    if let layout, let problem = LayoutName.problem(with: layout) { problems.append("\(place).layout: \(problem)") }
    if kind == .audio {
      let given = [("layout", layout != nil), ("width", width != nil), ("codec", codec != nil)]
      for (name, isGiven) in given where isGiven { problems.append("\(place): sound alone has no \(name)") }
    } else if self == JobFurtherFile() {
      problems.append("\(place): it says nothing; give kind (\(Kind.words.joined(separator: ", "))) or another field")
    }
    // As the flag's.
    let most = kind == .audio ? 510_000 : 50_000_000
    if let bitrate, !(50_000...most).contains(bitrate) {
      problems.append("\(place).bitrate: 50000 to \(most) bits a second")
    }
    return problems
  }
}
