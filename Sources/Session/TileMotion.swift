import Layouts
import MediaCore

/// Lets tiles glide from one arrangement to the next. Pure: where a tile is at an instant follows from the
/// arrangements and the instants at which they came into force.
struct TileMotion: Sendable {
  /// A tile, and which of its appearances in the arrangement: a layout may show somebody twice.
  private struct Key: Hashable {
    var tile: TileKey
    var number: Int
  }

  private struct Move {
    /// Nil: the tile is new, and fades in.
    var from: PixelRect?
    var to: PixelRect
    var began: SessionTime
    var duration: Duration

    /// What `progress` is at the end.
    static let whole: Int64 = 1 << 12

    func isMoving(at time: SessionTime) -> Bool { time - began < duration }

    /// How far it has come, 0...`whole`: slow at both ends (3t² - 2t³).
    func progress(at time: SessionTime) -> Int64 {
      let elapsed = max(0, min((time - began).nanoseconds, duration.nanoseconds))
      // A glide takes at most a few seconds, so nothing overflows.
      let t = elapsed * Self.whole / max(1, duration.nanoseconds)
      return t * t / Self.whole * (3 * Self.whole - 2 * t) / Self.whole
    }

    /// Where the tile is: even numbers.
    func rect(at time: SessionTime) -> PixelRect {
      guard let from, isMoving(at: time) else { return to }
      let progress = Int(progress(at: time))
      func between(_ a: Int, _ b: Int) -> Int { (a + (b - a) * progress / Int(Self.whole)) & ~1 }
      return PixelRect(
        x: between(from.x, to.x), y: between(from.y, to.y), width: between(from.width, to.width),
        height: between(from.height, to.height))
    }
  }

  private var moves: [Key: Move] = [:]

  /// Takes a new arrangement that is in force from `time` on. With the transition `.cut` everything is in place at once.
  mutating func follow(_ layers: [VideoLayer], transition: Transition, at time: SessionTime) {
    guard case .glide(let duration) = transition, duration > .zero else {
      moves.removeAll()
      return
    }
    let isFirst = moves.isEmpty
    var next: [Key: Move] = [:]
    for (key, layer) in Self.keyed(layers) {
      guard let old = moves[key] else {
        // What is there from the beginning does not fade in.
        let began = isFirst ? time - duration : time
        next[key] = Move(from: nil, to: layer.rect, began: began, duration: duration)
        continue
      }
      next[key] =
        old.to == layer.rect
        ? old : Move(from: old.rect(at: time), to: layer.rect, began: time, duration: duration)
    }
    moves = next
  }

  /// The layers where they are at `time`.
  func place(_ layers: [VideoLayer], at time: SessionTime) -> [VideoLayer] {
    guard moves.values.contains(where: { $0.isMoving(at: time) }) else { return layers }
    return Self.keyed(layers).map { key, layer in
      guard let move = moves[key], move.isMoving(at: time) else { return layer }
      var layer = layer
      layer.rect = move.rect(at: time)
      if move.from == nil {
        layer.look.opacity = UInt8(clamping: Int64(layer.look.opacity) * move.progress(at: time) / Move.whole)
      }
      return layer
    }
  }

  private static func keyed(_ layers: [VideoLayer]) -> [(Key, VideoLayer)] {
    var seen: [TileKey: Int] = [:]
    return layers.map { layer in
      // The number on a card may change while it moves.
      var tile = layer.key
      if case .overflow = tile { tile = .overflow(0) }
      let number = seen[tile, default: 0]
      seen[tile] = number + 1
      return (Key(tile: tile, number: number), layer)
    }
  }
}
