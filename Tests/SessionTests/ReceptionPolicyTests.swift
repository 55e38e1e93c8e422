import MediaCore
import Testing

@testable import Session

/// A policy in manual time, whose wishes are read as text: `a 320x180`, `a hidden`, `a lowBandwidth !1`.
private struct Receiver {
  typealias Candidate = ReceptionPolicy.Candidate
  var policy: ReceptionPolicy
  var now: Int64 = 0
  var limit: Int?
  /// What the room was told last of each track.
  var told: [TrackID: ReceptionWish] = [:]

  init(_ mode: ReceptionPolicy.Mode = .forLayout) { policy = ReceptionPolicy(settings: .init(mode: mode)) }

  /// Five looks a second at these candidates.
  mutating func show(_ candidates: [Candidate], ms: Int64 = 200, isThrifty: Bool = false) -> [String] {
    var lines: [String] = []
    for _ in 0..<max(1, ms / 200) {
      now += 200
      for wish in policy.update(candidates, limit: limit, isThrifty: isThrifty, at: .milliseconds(now)) {
        told[wish.track] = wish
        lines.append(Self.text(wish))
      }
    }
    return lines
  }

  static func text(_ wish: ReceptionWish) -> String {
    let what = wish.reception == .wanted ? "\(wish.width)x\(wish.height)" : wish.reception.rawValue
    return "\(wish.track) \(what)" + (wish.priority > 0 ? " !\(wish.priority)" : "")
  }

  static func tile(_ track: String, _ width: Int, _ height: Int, rank: Int = 30, isFlowing: Bool = true) -> Candidate {
    Candidate(track: TrackID(track), width: width, height: height, rank: rank, isFlowing: isFlowing)
  }
}

@Suite struct ReceptionPolicyTests {
  @Test func aNewTrackIsAskedForInTheSizeOfItsTileAtOnce() {
    var receiver = Receiver()
    #expect(receiver.show([Receiver.tile("a", 640, 360)]) == ["a 640x360"])
    #expect(receiver.show([Receiver.tile("a", 640, 360)], ms: 60_000).isEmpty)
  }

  @Test func largerAtOnceSmallerAfterAWhile() {
    var receiver = Receiver()
    _ = receiver.show([Receiver.tile("a", 320, 180)], ms: 2000)
    #expect(receiver.show([Receiver.tile("a", 1280, 720)]) == ["a 1280x720"])
    #expect(receiver.show([Receiver.tile("a", 320, 180)], ms: 4800).isEmpty)
    #expect(receiver.show([Receiver.tile("a", 320, 180)], ms: 400) == ["a 320x180"])
  }

  @Test(arguments: [ReceptionPolicy.Mode.forLayout, .best]) func thriftHalvesAtOnceAndEndsAtOnce(
    mode: ReceptionPolicy.Mode
  ) {
    var receiver = Receiver(mode)
    let (large, hidden) = (Receiver.tile("a", 640, 360), Receiver.tile("b", 0, 0))
    let usual = mode == .best ? "a 0x0" : "a 640x360"
    #expect(receiver.show([large], ms: 2000) == (mode == .best ? [] : [usual]))
    #expect(receiver.show([large, hidden], isThrifty: true) == ["a 320x180", "b hidden"])
    #expect(receiver.show([large, hidden], ms: 60_000, isThrifty: true).isEmpty)
    #expect(receiver.show([large, hidden], ms: 600) == (mode == .best ? [usual, "b 0x0"] : [usual]))
  }

  @Test func aTileThatIsLargeAgainNowAndThenStaysLarge() {
    var receiver = Receiver()
    _ = receiver.show([Receiver.tile("a", 1280, 720)], ms: 1000)
    for _ in 0..<20 {
      #expect(receiver.show([Receiver.tile("a", 320, 180)], ms: 4000).isEmpty)
      #expect(receiver.show([Receiver.tile("a", 1280, 720)], ms: 1000).isEmpty)
    }
  }

  @Test func aTileThatGrowsSlowlyIsNotAskedForWithEachPicture() {
    var receiver = Receiver()
    _ = receiver.show([Receiver.tile("a", 100, 100)])
    var lines: [String] = []
    for size in stride(from: 100, through: 1000, by: 50) { lines += receiver.show([Receiver.tile("a", size, size)]) }
    #expect(lines.count <= 7, "\(lines)")
    #expect(receiver.show([Receiver.tile("a", 1000, 1000)], ms: 1000).count <= 1)
    #expect(receiver.told[TrackID("a")]?.width ?? 0 >= 1000 * 100 / 115)
  }

  @Test func whatNoTileShowsIsHiddenAfterAWhileAndBackAtOnce() {
    var receiver = Receiver()
    _ = receiver.show([Receiver.tile("a", 640, 360), Receiver.tile("b", 640, 360)])
    let one = [Receiver.tile("a", 640, 360), Receiver.tile("b", 0, 0, rank: 60)]
    #expect(receiver.show(one, ms: 9600).isEmpty)
    #expect(receiver.show(one, ms: 600) == ["b hidden"])
    #expect(receiver.show([Receiver.tile("a", 640, 360), Receiver.tile("b", 320, 180)]) == ["b 640x360"])
  }

  @Test func whatNoTileHasEverShownIsHiddenAtOnce() {
    var receiver = Receiver()
    #expect(receiver.show([Receiver.tile("a", 0, 0)]) == ["a hidden"])
  }

  @Test func aMutedTrackKeepsWhatWasSaidOfIt() {
    var receiver = Receiver()
    _ = receiver.show([Receiver.tile("a", 640, 360), Receiver.tile("b", 0, 0)])
    let muted = [Receiver.tile("a", 640, 360, isFlowing: false), Receiver.tile("b", 640, 360, isFlowing: false)]
    #expect(receiver.show(muted, ms: 30_000).isEmpty)
    #expect(receiver.show([Receiver.tile("a", 640, 360), Receiver.tile("b", 640, 360)]) == ["b 640x360"])
  }

  @Test func bestWantsEverythingAndSaysNothing() {
    var receiver = Receiver(.best)
    #expect(receiver.show([Receiver.tile("a", 64, 36), Receiver.tile("b", 0, 0)], ms: 60_000).isEmpty)
  }

  @Test(arguments: ReceptionPolicy.Mode.allCases)
  func aLimitKeepsTheMostImportantAndTellsTheRoomWhoGoesFirst(mode: ReceptionPolicy.Mode) {
    var receiver = Receiver(mode)
    let people = [
      Receiver.tile("a", 640, 360, rank: 30), Receiver.tile("b", 640, 360, rank: 2),
      Receiver.tile("screen", 640, 360, rank: 1), Receiver.tile("c", 640, 360, rank: 30),
    ]
    _ = receiver.show(people, ms: 1000)
    receiver.limit = 2
    let size = mode == .best ? "0x0" : "640x360"
    #expect(
      receiver.show(people) == ["a lowBandwidth !31", "b \(size) !3", "screen \(size) !2", "c lowBandwidth !31"])
    receiver.limit = 0
    #expect(receiver.show(people) == ["b lowBandwidth !3", "screen lowBandwidth !2"])
    receiver.limit = nil
    #expect(receiver.show(people) == ["a \(size)", "b \(size)", "screen \(size)", "c \(size)"])
  }

  @Test func amongEqualsWhoIsReceivedStays() {
    var receiver = Receiver()
    let (a, b, c) = (Receiver.tile("a", 64, 36), Receiver.tile("b", 64, 36), Receiver.tile("c", 64, 36))
    receiver.limit = 2
    _ = receiver.show([a, b, c], ms: 1000)
    // The order of the tiles has changed, nobody's importance.
    #expect(receiver.show([c, b, a], ms: 10_000).isEmpty)
  }

  @Test func withALimitNothingIsKeptForTilesThatAreGone() {
    var receiver = Receiver()
    _ = receiver.show([Receiver.tile("a", 64, 36), Receiver.tile("b", 64, 36)])
    receiver.limit = 1
    #expect(receiver.show([Receiver.tile("a", 0, 0), Receiver.tile("b", 64, 36)]) == ["a hidden !31", "b 64x36 !31"])
  }

  @Test(arguments: 0..<200)
  func wishesAlwaysFitTheTiles(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let mode: ReceptionPolicy.Mode = seed % 3 == 0 ? .best : .forLayout
    var receiver = Receiver(mode)
    var tiles: [ReceptionPolicy.Candidate] = []
    var lines = 0
    for _ in 0..<60 {
      tiles = (0..<Int.random(in: 0...9, using: &random)).map { index in
        let width = [0, 0, 160, 320, 640, 1280].randomElement(using: &random) ?? 0
        return Receiver.tile(
          "t\(index)", width, width * 9 / 16, rank: .random(in: 0...3, using: &random),
          isFlowing: Int.random(in: 0..<5, using: &random) > 0)
      }
      receiver.limit = Bool.random(using: &random) ? nil : .random(in: 0...6, using: &random)
      lines += receiver.show(tiles, ms: .random(in: 200...8000, using: &random)).count
      receiver.told = receiver.told.filter { told in tiles.contains { $0.track == told.key } }
      for gone in (0..<9).map({ TrackID("t\($0)") }) where !tiles.contains(where: { $0.track == gone }) {
        receiver.policy.forget(gone)
      }
    }
    _ = receiver.show(tiles, ms: 20_000)
    let flowing = tiles.filter(\.isFlowing)
    let wanted = flowing.filter { (receiver.told[$0.track]?.reception ?? .wanted) == .wanted }
    if let limit = receiver.limit { #expect(wanted.count <= limit, "seed \(seed)") }
    for tile in flowing {
      let told = receiver.told[tile.track]
      switch told?.reception ?? .wanted {
      case .wanted:
        guard mode == .forLayout else { continue }
        // Large enough but for the tolerance, and not much larger than needed.
        #expect(tile.width > 0, "seed \(seed): \(tile.track) has no tile")
        let width: Int = told?.width ?? .max / 115
        let (largest, least): (Int, Int) = (tile.width * 115 / 100 + 1, width * 115 / 100 + 1)
        #expect(least >= tile.width, "seed \(seed): \(tile.track)")
        #expect(width <= largest, "seed \(seed): \(tile.track)")
      case .hidden: #expect(tile.width == 0 && mode == .forLayout, "seed \(seed): \(tile.track)")
      case .lowBandwidth: #expect(receiver.limit != nil, "seed \(seed): \(tile.track)")
      }
    }
    if mode == .best, lines > 0 { #expect(receiver.told.values.allSatisfy { $0.width == 0 }, "seed \(seed)") }
    // When nothing changes, nothing is said.
    #expect(receiver.show(tiles, ms: 60_000).isEmpty, "seed \(seed)")
  }
}

@Suite struct ActiveTalkersTests {
  private func list(_ present: String, talkers: String = "", pinned: String = "", _ limit: Int) -> String {
    func identities(_ text: String) -> [ParticipantIdentity] { text.map { ParticipantIdentity(String($0)) } }
    return ActiveTalkers.list(
      present: identities(present), talkers: identities(talkers), pinned: identities(pinned), limit: limit
    ).map(\.rawValue).joined()
  }

  @Test func aSmallRoomIsShownWhole() {
    #expect(list("abc", talkers: "c", 3) == "abc")
  }

  @Test func beforeAnybodyTalksTheFirstToComeAreShown() {
    #expect(list("abcde", 3) == "abc")
  }

  @Test func theNewestTalkersGoFirstAndThePinnedStay() {
    #expect(list("abcde", talkers: "e", 3) == "eab")
    #expect(list("abcde", talkers: "deca", 3) == "dec")
    #expect(list("abcde", talkers: "deca", pinned: "b", 3) == "bde")
    #expect(list("abcde", talkers: "de", pinned: "abcd", 3) == "abc")
  }

  @Test func whoHasLeftIsNotListed() {
    #expect(list("abcde", talkers: "xyz", pinned: "w", 2) == "ab")
  }
}
