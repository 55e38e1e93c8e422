/// A file that is delivered beside a recording, under its name with another ending.
public struct JobSideFile: Codable, Hashable, Sendable {
  /// What it tells, or shows.
  public enum Kind: Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "kind of file"
    /// Those that tell; further files are as many as there are names.
    public static let allCases: [Kind] = [.manifest, .talkers, .poster, .storyboardImage, .storyboard]
    /// Which words there are, for errors.
    public static let rule =
      "manifest, talkers, poster, storyboard, storyboard-image, or the name of a further file, such as portrait"
    /// Who was there, which tracks came and how well (JSON).
    case manifest
    /// Who talks when (WebVTT).
    case talkers
    /// One picture of the recording (PNG).
    case poster
    /// The small pictures of the whole recording (PNG).
    case storyboardImage
    /// Which small picture belongs to which time (WebVTT that names the image).
    case storyboard
    /// A further file of the session (WebM), by its name: see `JobFurtherFile.names`.
    case further(String)

    /// Reads the word; a further file's name is one of those that `JobFurtherFile.names` gives.
    public init?(rawValue: String) {
      switch rawValue {
      case "manifest": self = .manifest
      case "talkers": self = .talkers
      case "poster": self = .poster
      case "storyboard-image": self = .storyboardImage
      case "storyboard": self = .storyboard
      default:
        let numbers = (1...JobFurtherFile.most).map { $0 == 1 ? "" : "-\($0)" }
        guard let word = JobFurtherFile.words.first(where: rawValue.hasPrefix),
          numbers.contains(String(rawValue.dropFirst(word.count)))
        else { return nil }
        self = .further(rawValue)
      }
    }

    /// The word.
    public var rawValue: String {
      switch self {
      case .manifest: "manifest"
      case .talkers: "talkers"
      case .poster: "poster"
      case .storyboardImage: "storyboard-image"
      case .storyboard: "storyboard"
      case .further(let name): name
      }
    }

    /// Writes the word.
    public func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      try value.encode(rawValue)
    }

    /// True for a further file: large, it plays, and its parts are joined like those of the recording.
    public var isFurther: Bool { if case .further = self { true } else { false } }

    /// True for what is drawn from the finished recording; the others are written with it, part by part.
    public var isDrawn: Bool {
      switch self {
      case .poster, .storyboardImage, .storyboard: true
      case .manifest, .talkers, .further: false
      }
    }

    /// How its name ends.
    public var ending: String {
      switch self {
      case .manifest: ".json"
      case .talkers: ".talkers.vtt"
      case .poster: ".poster.png"
      case .storyboardImage: ".storyboard.png"
      case .storyboard: ".storyboard.vtt"
      case .further(let name): ".\(name).webm"
      }
    }

    /// Its media type.
    public var contentType: String {
      switch self {
      case .manifest: "application/json"
      case .talkers, .storyboard: "text/vtt"
      case .poster, .storyboardImage: "image/png"
      case .further: "video/webm"
      }
    }

    /// The name or path of such a file beside a recording's: `talk.json` of `talk.webm`.
    public func path(beside file: String) -> String {
      (file.lowercased().hasSuffix(".webm") ? String(file.dropLast(5)) : file) + ending
    }
  }

  /// What it tells.
  public var kind: Kind
  /// Path or URL.
  public var location: String
  /// Bytes.
  public var size: Int64
  /// SHA-256, in hexadecimal.
  public var sha256: String?
  /// Its media type.
  public var contentType: String

  /// Makes a file; see the properties.
  public init(kind: Kind, location: String, size: Int64, sha256: String? = nil) {
    self.kind = kind
    self.location = location
    self.size = size
    self.sha256 = sha256
    contentType = kind.contentType
  }

  enum CodingKeys: String, CodingKey {
    case kind, location, size, sha256
    case contentType = "content_type"
  }
}
