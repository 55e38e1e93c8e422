public import MediaCore

/// A chapter of a recording.
public struct TimelineChapter: Sendable, Hashable {
  /// When it begins, in the recording.
  public var start: SessionTime
  /// Its title.
  public var title: String
}

/// Makes a recording's chapters of what happens in it, entry by entry: while it is made, and again from its timeline's file,
/// since a recorder keeps chapters in memory until the end. A value.
///
/// The chapter of a long turn is told when the turn is over, after others that began later.
public struct ChapterMaker: Sendable {
  /// Longest line of a timeline that is read, in bytes.
  public static let longestLine = 1 << 20
  /// Who is the talker for so long, without another in between, has a chapter.
  private static let longTurn = Duration.seconds(30)
  /// Who is there so early was there at the beginning.
  private static let opening = Duration.seconds(1)
  /// People whose names are known, and chapters of them.
  private static let most = 10_000

  private let detail: ChapterDetail
  private var names: [String: String] = [:]
  /// The active talker, and since when in one go; nil while recording is paused or the connection is lost.
  private var talker: (identity: String, since: SessionTime?)?
  /// Who talked in the last chapter of a turn.
  private var told: String?
  private var count = 0
  private var isPaused = false
  private var isAway = false

  /// Makes chapters of that level.
  public init(_ detail: ChapterDetail) { self.detail = detail }

  /// Something happened. Gives the chapters that are known now.
  public mutating func take(_ entry: TimelineEntry) -> [TimelineChapter] {
    guard detail != .nothing else { return [] }
    var chapters = turn(entry)
    if let title = Self.mark(entry.event) ?? person(entry) {
      chapters.append(TimelineChapter(start: entry.time, title: title))
    }
    return chapters
  }

  /// The recording ends. Gives the chapters that are left.
  public mutating func finish(at end: SessionTime) -> [TimelineChapter] { endTurn(at: end).map { [$0] } ?? [] }

  /// Something happened before the part of the session that is recorded.
  public mutating func remember(_ entry: TimelineEntry) {
    switch entry.event {
    case .joined(let identity, let name), .renamed(let identity, let name): call(identity, name)
    default: break
    }
  }

  private static func mark(_ event: TimelineEvent) -> String? {
    switch event {
    case .connectionLost: "Connection lost"
    case .connectionRestored: "Connection restored"
    case .paused(.redact): "Redacted"
    case .paused: "Paused"
    case .resumed: "Resumed"
    case .marker(let title): title.isEmpty ? "Marker" : title
    default: nil
    }
  }

  private mutating func call(_ identity: ParticipantIdentity, _ name: String) {
    guard detail == .people || detail == .talkers else { return }
    if names.count < Self.most || names[identity.rawValue] != nil { names[identity.rawValue] = name }
  }

  private func name(_ identity: String) -> String {
    let name = names[identity] ?? ""
    return name.isEmpty ? identity : name
  }

  private mutating func person(_ entry: TimelineEntry) -> String? {
    remember(entry)
    guard detail == .people || detail == .talkers, count < Self.most else { return nil }
    let title: String
    switch entry.event {
    case .joined(let identity, _):
      guard entry.time.sinceBeginning > Self.opening else { return nil }
      title = "\(name(identity.rawValue)) joined"
    case .left(let identity, _): title = "\(name(identity.rawValue)) left"
    case .published(_, let identity, .screenShare): title = "\(name(identity.rawValue)) shares a screen"
    case .unpublished(_, let identity, .screenShare): title = "\(name(identity.rawValue)) stopped sharing"
    default: return nil
    }
    count += 1
    return title
  }

  private mutating func turn(_ entry: TimelineEntry) -> [TimelineChapter] {
    guard detail == .talkers else { return [] }
    var ended: TimelineChapter?
    switch entry.event {
    case .talker(let identity, _):
      guard identity.rawValue != talker?.identity else { return [] }
      ended = endTurn(at: entry.time)
      talker = (identity.rawValue, isPaused || isAway ? nil : entry.time)
    case .left(let identity, _) where identity.rawValue == talker?.identity:
      ended = endTurn(at: entry.time)
      talker = nil
    case .paused, .connectionLost:
      ended = endTurn(at: entry.time)
      if case .paused = entry.event { isPaused = true } else { isAway = true }
    case .resumed, .connectionRestored:
      if case .resumed = entry.event { isPaused = false } else { isAway = false }
      if !isPaused, !isAway { talker?.since = entry.time }
    default: break
    }
    return ended.map { [$0] } ?? []
  }

  /// The talker's turn is over. Who talks on after somebody who said little goes on with the same chapter.
  private mutating func endTurn(at time: SessionTime) -> TimelineChapter? {
    guard let identity = talker?.identity, let since = talker?.since else { return nil }
    talker?.since = nil
    guard time - since >= Self.longTurn, told != identity, count < Self.most else { return nil }
    told = identity
    count += 1
    return TimelineChapter(start: since, title: "\(name(identity)) talks")
  }
}

extension ChapterMaker {
  /// A line of a timeline's file without its end, as `TimelineEntry.json` writes it. Gives the chapters that are known now; what
  /// is no such line makes none.
  public mutating func take(line: [UInt8]) -> [TimelineChapter] {
    guard let root = (try? JSONDocument(line, limits: JSONLimits(bytes: Self.longestLine)))?.root,
      let milliseconds = root.member("time_ms")?.integer(Int64.self), (0..<1 << 50).contains(milliseconds),
      let event = Self.event(root)
    else { return [] }
    let time = SessionTime.zero + .milliseconds(milliseconds)
    return take(TimelineEntry(time: time, sessionTime: time, event: event))
  }

  /// The end of a timeline: its last line, as the recording may have been killed behind it. Gives the chapters that are left.
  public mutating func finish(lastLine line: [UInt8]) -> [TimelineChapter] {
    let root = (try? JSONDocument(line, limits: JSONLimits(bytes: Self.longestLine)))?.root
    let milliseconds = root?.member("time_ms")?.integer(Int64.self) ?? 0
    return finish(at: .zero + .milliseconds(max(0, min(milliseconds, 1 << 50))))
  }

  private static func event(_ root: JSONValue) -> TimelineEvent? {
    func text(_ name: String) -> String { root.member(name)?.text ?? "" }
    let (identity, name) = (ParticipantIdentity(text("participant")), text("name"))
    let isScreen = text("source") == TrackSource.screenShare.timelineName
    switch text("event") {
    case "connection-lost": return .connectionLost("")
    case "connection-restored": return .connectionRestored
    case "resumed": return .resumed
    case "marker": return .marker(text("title"))
    case "paused": return .paused(PausePolicy(rawValue: text("policy")) ?? .slate)
    case "joined": return .joined(identity, name: name)
    case "left": return .left(identity, name: name)
    case "renamed": return .renamed(identity, name: name)
    case "talker": return .talker(identity, name: name)
    case "published" where isScreen: return .published(TrackID(""), identity, .screenShare)
    case "unpublished" where isScreen: return .unpublished(TrackID(""), identity, .screenShare)
    default: return nil
    }
  }
}
