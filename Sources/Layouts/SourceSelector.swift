import MediaCore

/// Which of the room's sources a region shows.
public struct SourceSelector: Hashable, Sendable {
  /// The sources that are wanted, in the order in which they are preferred.
  public var include: [SourceTerm]
  /// The sources that are not, whatever `include` says.
  public var exclude: [SourceTerm]

  /// Makes a selector; see the properties.
  public init(_ include: [SourceTerm], excluding exclude: [SourceTerm] = []) {
    self.include = include
    self.exclude = exclude
  }
}

/// Names some of the room's sources, by role or by name.
public enum SourceTerm: Hashable, Sendable {
  /// The active talker's camera.
  case talker
  /// The cameras of those who talked before, the last one first.
  case previousTalkers
  /// Shared screens.
  case screenShare
  /// The cameras of those who share a screen.
  case presenter
  /// What the room's operator pinned.
  case pinned
  /// What the room's operator put in the spotlight.
  case spotlight
  /// Everybody's camera.
  case cameras
  /// Everything that has a picture now.
  case withVideo
  /// Everything that has none.
  case withoutVideo
  /// Everything.
  case everyone
  /// Everything that no region before this one shows, also in a region that repeats.
  case others
  /// The people whose identity or display name matches; capital letters don't matter.
  case person(Glob)
  /// What the person of exactly this identity has.
  case identity(ParticipantIdentity)
  /// The publications whose name matches.
  case track(Glob)
  /// As Twilio's `video_sources`: the name or the id of a publication, or the publisher's identity.
  case source(Glob)

  /// The terms that are a single word, by that word.
  public static let words: [(word: String, term: SourceTerm)] = [
    ("talker", .talker), ("previous-talkers", .previousTalkers), ("screen-share", .screenShare),
    ("presenter", .presenter), ("pinned", .pinned), ("spotlight", .spotlight), ("cameras", .cameras),
    ("with-video", .withVideo), ("without-video", .withoutVideo), ("everyone", .everyone), ("others", .others),
  ]

  /// Reads a word, or `person:GLOB`, `identity:ID`, `track:GLOB`, `source:GLOB`; nil for anything else.
  public init?(text: some StringProtocol) {
    if let known = SourceTerm.words.first(where: { $0.word == text }) {
      self = known.term
      return
    }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let glob = Glob(String(parts[1])) else { return nil }
    switch parts[0] {
    case "identity": self = .identity(ParticipantIdentity(String(parts[1])))
    case "person": self = .person(glob)
    case "track": self = .track(glob)
    case "source": self = .source(glob)
    default: return nil
    }
  }
}

extension SourceTerm: CustomStringConvertible {
  /// As `init(text:)` reads it.
  public var description: String {
    switch self {
    case .person(let glob): "person:\(glob.pattern)"
    case .identity(let identity): "identity:\(identity)"
    case .track(let glob): "track:\(glob.pattern)"
    case .source(let glob): "source:\(glob.pattern)"
    default: SourceTerm.words.first { $0.term == self }?.word ?? ""
    }
  }
}
