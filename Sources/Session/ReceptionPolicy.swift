import MediaCore

/// Decides what the bot wants to receive of each video track, from the tiles that show it. Pure; says only what
/// changes, and never more often than is useful: a service takes a while to follow.
public struct ReceptionPolicy: Sendable {
  /// How much of each track is wanted.
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// The smallest layer that fills the tile, nothing of tracks without a tile: the least work.
    case forLayout = "for-layout"
    /// Everything that is published, whatever is shown: for composing the recording again later.
    case best
  }

  /// A video track that is published.
  public struct Candidate: Sendable, Hashable {
    /// Which.
    public var track: TrackID
    /// Width in pixels at which its largest tile shows the picture; 0 when no tile does.
    public var width: Int
    /// Height in pixels at which its largest tile shows the picture; 0 when no tile does.
    public var height: Int
    /// How important it is: the lowest goes first. Ties are decided by the order of the candidates.
    public var rank: Int
    /// False while it could not be received anyhow (muted, not subscribed): then nothing changes for it.
    public var isFlowing: Bool

    /// Makes a candidate; see the properties.
    public init(track: TrackID, width: Int, height: Int, rank: Int, isFlowing: Bool = true) {
      self.track = track
      self.isFlowing = isFlowing
      self.width = width
      self.height = height
      self.rank = rank
    }
  }

  /// The numbers of the policy.
  public struct Settings: Sendable, Hashable {
    /// How much is wanted.
    public var mode: Mode
    /// A track that no tile has shown for so long is not received any more.
    public var hideAfter = Duration.seconds(10)
    /// A track whose tile has been small for so long is asked for in a smaller size.
    public var shrinkAfter = Duration.seconds(5)
    /// The size of one track changes at most so often; while a tile glides, it would with each picture.
    public var interval = Duration.milliseconds(500)
    /// Sizes are kept as long as they are at most so much too small or too large, percent.
    public var tolerance = 15

    /// Makes settings.
    public init(mode: Mode) { self.mode = mode }
  }

  private struct State {
    var told: ReceptionWish
    var toldAt: SessionTime
    /// Since when the tile is smaller than what was asked for, and the largest that it has been since then.
    var smallSince: SessionTime?
    var largest = (width: 0, height: 0)
    /// When a tile last showed it; nil when none has.
    var seenAt: SessionTime?
  }

  private let settings: Settings
  private var states: [TrackID: State] = [:]
  /// How much is wanted at present.
  private var mode: Mode
  /// True while smaller sizes have to do.
  private var isThrifty = false

  /// Starts with everything wanted at its best, as rooms do.
  public init(settings: Settings) {
    self.settings = settings
    mode = settings.mode
  }

  /// A track is not published any more.
  public mutating func forget(_ track: TrackID) { states[track] = nil }

  /// Takes the video tracks that could flow (those that could not may be left out) and how many of them the connection
  /// carries (nil: all). `isThrifty`: for lack of processor time sizes are asked for that have half of a tile's columns and rows,
  /// and nothing of tracks without a tile, whatever the mode. Gives what is to be said to the room.
  public mutating func update(
    _ candidates: [Candidate], limit: Int?, isThrifty: Bool = false, at now: SessionTime
  ) -> [ReceptionWish] {
    self.isThrifty = isThrifty
    mode = isThrifty ? .forLayout : settings.mode
    var wishes: [ReceptionWish] = []
    let allowed = limit.map { best(candidates, atMost: $0) }
    for candidate in candidates where candidate.isFlowing {
      let isNew = states[candidate.track] == nil
      var state =
        states[candidate.track]
        ?? State(
          told: ReceptionWish(track: candidate.track, reception: .wanted), toldAt: now)
      let isAllowed = allowed?.contains(candidate.track) ?? true
      let wish = wish(candidate, &state, isAllowed: isAllowed, isNew: isNew, isLimited: limit != nil, at: now)
      if wish != state.told {
        state.told = wish
        state.toldAt = now
        wishes.append(wish)
      }
      states[candidate.track] = state
    }
    return wishes
  }

  /// The tracks that may be received. One that is received already goes before another of the same rank, so that
  /// nobody is exchanged without cause.
  private func best(_ candidates: [Candidate], atMost limit: Int) -> Set<TrackID> {
    // Those without a tile take nothing from the others.
    let visible = candidates.filter { $0.isFlowing && (mode == .best || $0.width > 0) }
    let order = visible.enumerated().sorted { first, second in
      func key(_ entry: (offset: Int, element: Candidate)) -> (Int, Int, Int) {
        let isReceived = states[entry.element.track]?.told.reception == .wanted
        return (entry.element.rank, isReceived ? 0 : 1, entry.offset)
      }
      return key(first) < key(second)
    }
    return Set(order.prefix(max(0, limit)).map(\.element.track))
  }

  private func wish(
    _ candidate: Candidate, _ state: inout State, isAllowed: Bool, isNew: Bool, isLimited: Bool, at now: SessionTime
  ) -> ReceptionWish {
    var wish = state.told
    wish.priority = isLimited ? min(candidate.rank, 254) + 1 : 0
    let isVisible = candidate.width > 0 && candidate.height > 0
    if isVisible { state.seenAt = now }
    if !isVisible && mode == .forLayout {
      // A tile that is gone may come back; when there is not enough for all, nothing is kept for it.
      let isRecent = state.seenAt.map { now - $0 < settings.hideAfter } ?? false
      if !isRecent || isLimited { wish.reception = .hidden }
      return wish
    }
    wish.reception = isAllowed ? .wanted : .lowBandwidth
    guard isAllowed else { return wish }
    guard mode == .forLayout else {
      (wish.width, wish.height) = (0, 0)
      return wish
    }
    var candidate = candidate
    if isThrifty { (candidate.width, candidate.height) = (max(1, candidate.width / 2), max(1, candidate.height / 2)) }
    resize(&wish, candidate, &state, isNew: isNew, at: now)
    return wish
  }

  /// Larger at once, smaller after a while.
  private func resize(
    _ wish: inout ReceptionWish, _ candidate: Candidate, _ state: inout State, isNew: Bool, at now: SessionTime
  ) {
    let percent = 100 + settings.tolerance
    let isUnsized = wish.width == 0
    let isTooSmall = candidate.width * 100 > wish.width * percent || candidate.height * 100 > wish.height * percent
    let isTooLarge = candidate.width * percent < wish.width * 100 && candidate.height * percent < wish.height * 100
    if isUnsized || isTooSmall {
      guard isNew || isUnsized || now - state.toldAt >= settings.interval else { return }
      (wish.width, wish.height) = (candidate.width, candidate.height)
      state.smallSince = nil
    } else if isTooLarge {
      if state.smallSince == nil {
        state.smallSince = now
        state.largest = (0, 0)
      }
      state.largest = (max(state.largest.width, candidate.width), max(state.largest.height, candidate.height))
      guard let since = state.smallSince, isThrifty || now - since >= settings.shrinkAfter else { return }
      (wish.width, wish.height) = state.largest
      state.smallSince = nil
    } else {
      state.smallSince = nil
    }
  }
}
