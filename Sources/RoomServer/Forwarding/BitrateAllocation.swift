import MediaCore

/// A video stream that a subscriber wants, for the division of its bandwidth.
struct StreamDemand: Hashable, Sendable {
  /// What the streams are ordered by; the first ones are served first and paused last.
  struct Rank: Hashable, Sendable, Comparable {
    /// As the subscriber said (UpdateTrackSettings): 1 goes first, 0 says nothing.
    var priority: UInt32 = 0
    /// Shared screens go before cameras.
    var isScreen = false
    /// When its owner last spoke; `distantPast` for never.
    var spokenAt = Instant.distantPast
    /// Position among all streams, in the order of publishing.
    var position = 0

    static func < (a: Rank, b: Rank) -> Bool {
      func key(_ rank: Rank, _ spokenAt: Instant) -> (UInt32, Int, Instant, Int) {
        (rank.priority == 0 ? .max : rank.priority, rank.isScreen ? 0 : 1, spokenAt, rank.position)
      }
      // Who spoke later goes first.
      return key(a, b.spokenAt) < key(b, a.spokenAt)
    }
  }

  /// Its place.
  var rank: Rank
  /// Bits per second of each layer up to the one wanted, the smallest first; nil for layers that don't flow.
  var layers: [Int?]
}

/// Divides a subscriber's bandwidth among its video streams. Pure.
enum BitrateAllocation {
  /// What one stream gets: the highest layer that it may have, or a pause.
  enum Share: Hashable, Sendable {
    case upTo(layer: Int)
    case paused
  }

  /// The shares of all streams, in the order given, within `budget` (bits per second): every stream gets its smallest
  /// layer while it fits, in the order of rank; what is left makes them larger, in the same order. With
  /// `pauses` false every stream keeps its smallest layer. Streams of which nothing flows cost nothing.
  static func shares(of demands: [StreamDemand], budget: Int, pauses: Bool) -> [Share] {
    var shares = demands.map { Share.upTo(layer: max(0, $0.layers.count - 1)) }
    let order = demands.indices.sorted { demands[$0].rank < demands[$1].rank }
    var left = budget
    var isFull = false
    for index in order {
      guard let smallest = demands[index].layers.firstIndex(where: { $0 != nil }),
        let cost = demands[index].layers[smallest]
      else { continue }
      // What comes later in rank doesn't overtake: the last ones are paused first, whatever they cost.
      isFull = isFull || cost > left
      if isFull, pauses {
        shares[index] = .paused
      } else {
        shares[index] = .upTo(layer: smallest)
        left -= cost
      }
    }
    for index in order {
      guard case .upTo(var layer) = shares[index],
        var cost = demands[index].layers.indices.contains(layer) ? demands[index].layers[layer] : nil
      else { continue }
      for higher in demands[index].layers.indices.dropFirst(layer + 1) {
        guard let next = demands[index].layers[higher], next - cost <= left else { continue }
        left -= next - cost
        (layer, cost) = (higher, next)
      }
      // Room for everything: layers that don't flow yet are welcome too.
      if layer == demands[index].layers.lastIndex(where: { $0 != nil }) { layer = demands[index].layers.count - 1 }
      shares[index] = .upTo(layer: layer)
    }
    return shares
  }

  /// Bits per second of everything that the streams want.
  static func total(_ demands: [StreamDemand]) -> Int {
    demands.reduce(0) { $0 + ($1.layers.compactMap { $0 }.last ?? 0) }
  }
}
