/// What one participant receives, and what it said that it wants. Pure.
struct MemberSubscriptions: Sendable {
  private struct Wish {
    /// Explicitly wanted or not wanted; nil: as the join said.
    var isSubscribed: Bool?
    var video: VideoWish?
  }

  /// The most tracks about which a client's wishes are kept.
  static let wishLimit = 1000

  /// What the client said of tracks, whether they are there already or not.
  private var wishes: [String: Wish] = [:]
  /// The sids of the tracks that it receives.
  private(set) var tracks: Set<String> = []

  /// Nothing yet.
  init() {}

  /// What the client said of a track; nil when it said nothing.
  func isWanted(_ track: String) -> Bool? { wishes[track]?.isSubscribed }

  /// How the client shows a track; nil when it said nothing.
  func video(_ track: String) -> VideoWish? { wishes[track]?.video }

  /// The client wants a track, or doesn't want it any more. False when it has said too much already.
  mutating func setWanted(_ track: String, _ isWanted: Bool) -> Bool {
    guard wishes[track] != nil || wishes.count < Self.wishLimit else { return false }
    wishes[track, default: Wish()].isSubscribed = isWanted
    return true
  }

  /// How the client shows a track. True when it receives that.
  mutating func setVideo(_ track: String, _ wish: VideoWish) -> Bool {
    guard wishes[track] != nil || wishes.count < Self.wishLimit else { return false }
    wishes[track, default: Wish()].video = wish
    return tracks.contains(track)
  }

  /// Begins a subscription; false when there is one.
  mutating func add(_ track: String) -> Bool { tracks.insert(track).inserted }

  /// Ends a subscription; false when there is none.
  mutating func remove(_ track: String) -> Bool { tracks.remove(track) != nil }

  /// Ends all; gives what was received.
  mutating func removeAll() -> Set<String> {
    defer { tracks = [] }
    return tracks
  }
}
