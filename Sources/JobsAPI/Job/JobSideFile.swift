/// A file that is delivered beside a recording, under its name with another ending.
public struct JobSideFile: Codable, Hashable, Sendable {
  /// What it tells.
  public enum Kind: String, Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "kind of file"
    /// Who was there, which tracks came and how well (JSON).
    case manifest
    /// Who talks when (WebVTT).
    case talkers

    /// How its name ends.
    public var ending: String {
      switch self {
      case .manifest: ".json"
      case .talkers: ".talkers.vtt"
      }
    }

    /// Its media type.
    public var contentType: String {
      switch self {
      case .manifest: "application/json"
      case .talkers: "text/vtt"
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

  /// Makes a file.
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
