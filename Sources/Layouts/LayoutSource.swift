import MediaCore

/// What a tile shows. The key stays the same for as long as the thing shown does, so that a tile can be followed from
/// one arrangement to the next.
public enum TileKey: Hashable, Sendable {
  /// A person: their camera, or a card while there is no picture of it. The text tells several cameras of one person
  /// apart (the publication's name) and is usually empty.
  case camera(ParticipantIdentity, name: String = "")
  /// A screen that a person shares; the text as in `camera`.
  case screenShare(ParticipantIdentity, name: String = "")
  /// Stands for that many sources which have no tile of their own.
  case overflow(Int)
  /// Nobody: an empty cell that covers what lies behind it. The number only tells several of them apart.
  case empty(Int)

  /// Whose tile it is; nil for `overflow` and `empty`.
  public var participant: ParticipantIdentity? {
    switch self {
    case .camera(let participant, _), .screenShare(let participant, _): participant
    case .overflow, .empty: nil
    }
  }

  /// True for a shared screen.
  public var isScreenShare: Bool {
    if case .screenShare = self { return true }
    return false
  }
}

/// Something that wants a tile.
public struct LayoutSource: Hashable, Sendable {
  /// What it is; unique among the sources of one arrangement.
  public var key: TileKey
  /// True while there is a picture to show, false while a card stands for it.
  public var hasPicture: Bool
  /// Columns of the picture as it is displayed (after rotation); 0 when unknown.
  public var pictureWidth: Int
  /// Rows of the picture as it is displayed; 0 when unknown.
  public var pictureHeight: Int
  /// The person's display name; empty: the identity stands for it.
  public var displayName: String
  /// The publication's name; empty when nothing is published.
  public var trackName: String
  /// The publication's id; empty when nothing is published.
  public var trackID: String
  /// True while something is published for this key, muted or not.
  public var isPublished: Bool

  /// Makes a source; see the properties.
  public init(
    key: TileKey, hasPicture: Bool = true, pictureWidth: Int = 0, pictureHeight: Int = 0, displayName: String = "",
    trackName: String = "", trackID: String = "", isPublished: Bool = true
  ) {
    self.key = key
    self.hasPicture = hasPicture
    self.pictureWidth = pictureWidth
    self.pictureHeight = pictureHeight
    self.displayName = displayName
    self.trackName = trackName
    self.trackID = trackID
    self.isPublished = isPublished
  }

  /// The name to sort by and to show.
  public var name: String { displayName.isEmpty ? key.participant?.rawValue ?? "" : displayName }
}
