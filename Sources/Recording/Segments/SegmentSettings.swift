import MediaCore

/// Where the segments of a recording are written, and how long they are.
public struct SegmentSettings: Sendable, Hashable {
  /// The segments' folder, which is made; one that is there must be empty.
  public var folder: String
  /// A segment begins so long after the one before, with the next picture.
  public var length: Duration

  /// Makes settings; a length of less than a second is one second.
  public init(folder: String, length: Duration) {
    self.folder = folder
    self.length = max(.seconds(1), length)
  }

  /// The name of the index in the folder.
  static let indexName = "index.jsonl"

  /// The first instant after this one at which a segment is to begin.
  func boundary(after time: SessionTime) -> SessionTime {
    SessionTime(nanoseconds: (time.nanoseconds / length.nanoseconds + 1) * length.nanoseconds)
  }
}

/// How the segments of a recording stand.
public struct SegmentProgress: Sendable, Hashable {
  /// Their folder.
  public var folder: String
  /// Segments that are closed.
  public var closed = 0
  /// Their bytes.
  public var bytes: UInt64 = 0
  /// Why nothing more is written, though the recording went on; nil: all is well.
  public var failure: String?

  /// Nothing yet.
  public init(folder: String) { self.folder = folder }

  /// The index, which has a line for each segment that is closed.
  public var index: String { "\(folder)/\(SegmentSettings.indexName)" }
}
