public import MediaCore

extension TimelineEvent {
  /// The title of the chapter that begins with it; nil for what begins none.
  public var chapter: String? {
    switch self {
    case .connectionLost: "Connection lost"
    case .connectionRestored: "Connection restored"
    case .paused(.redact): "Redacted"
    case .paused: "Paused"
    case .resumed: "Resumed"
    case .marker(let title): title.isEmpty ? "Marker" : title
    default: nil
    }
  }
}

/// A chapter, as a line of the timeline's file tells it: the recorder keeps chapters in memory until the end.
public struct TimelineChapter: Sendable, Hashable {
  /// Longest line that is read, in bytes.
  public static let longestLine = 1 << 20

  /// When it begins, in the recording.
  public var start: SessionTime
  /// Its title.
  public var title: String

  /// Reads a line without its end, as `TimelineEntry.json` writes it; nil for what begins no chapter, and for what is
  /// no such line.
  public init?(line: [UInt8]) {
    guard let document = try? JSONDocument(line, limits: JSONLimits(bytes: Self.longestLine)),
      let milliseconds = document.root.member("time_ms")?.integer(Int64.self),
      (0..<1 << 50).contains(milliseconds), let name = document.root.member("event")?.text
    else { return nil }
    let event: TimelineEvent
    switch name {
    case "connection-lost": event = .connectionLost("")
    case "connection-restored": event = .connectionRestored
    case "resumed": event = .resumed
    case "marker": event = .marker(document.root.member("title")?.text ?? "")
    case "paused":
      event = .paused(document.root.member("policy")?.text.flatMap(PausePolicy.init(rawValue:)) ?? .slate)
    default: return nil
    }
    guard let title = event.chapter else { return nil }
    start = .zero + .milliseconds(milliseconds)
    self.title = title
  }
}
