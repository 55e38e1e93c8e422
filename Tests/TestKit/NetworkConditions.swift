/// What a network does to the packets of one kind in one direction. The default is a perfect network.
public struct NetworkConditions: Hashable, Sendable {
  /// Losses that come in bursts: the two-state model of Gilbert and Elliott, in which all packets pass in the good state
  /// and none in the bad one.
  public struct Bursts: Hashable, Sendable {
    /// How much is lost in the long run.
    public var share: Share
    /// How many packets a burst takes on average, at least 1.
    public var length: Int64

    /// Makes a model.
    public init(share: Share, length: Int64) {
      self.share = share
      self.length = max(1, length)
    }

    /// The probability of going from the good state to the bad one at a packet.
    var begins: Share {
      let good = 1_000_000 - share.millionths
      return good == 0 ? Share(millionths: 1_000_000) : Share(millionths: share.millionths * 1_000_000 / good / length)
    }
    /// The probability of going from the bad state to the good one at a packet.
    var ends: Share { share.millionths == 1_000_000 ? .none : Share(millionths: 1_000_000 / length) }
  }

  /// Packets lost, each for itself.
  public var loss = Share.none
  /// Packets lost in bursts, besides `loss`.
  public var bursts: Bursts?
  /// How long every packet travels.
  public var delay = Duration.zero
  /// How much longer at most: evenly distributed, and without changing the order.
  public var jitter = Duration.zero
  /// Packets that are held back, so that later ones overtake them.
  public var reorder = Share.none
  /// How long those are held back.
  public var holdBack = Duration.milliseconds(20)
  /// Packets that arrive twice.
  public var duplicate = Share.none
  /// Packets in which one bit is changed.
  public var corrupt = Share.none

  /// A perfect network.
  public init() {}
}

/// Which way a packet goes.
public enum Direction: Int, Hashable, Sendable, CaseIterable {
  /// From the near side (a bot, say) to the far side (its server).
  case up
  /// From the far side to the near side.
  case down
}

/// What a packet is, for scripts that hit some packets only.
public enum PacketClass: Int, Hashable, Sendable, CaseIterable {
  /// Media: ICE, DTLS, SRTP.
  case udp
  /// Signalling.
  case tcp
  /// Anything else, such as ICMP.
  case other
}

/// Packets of some kinds in some directions.
public struct PacketScope: Hashable, Sendable, CustomStringConvertible {
  /// Never empty.
  public var directions: Set<Direction>
  /// Never empty.
  public var classes: Set<PacketClass>

  /// Packets of these kinds in these directions; all where none is named.
  public init(_ directions: Set<Direction> = [], _ classes: Set<PacketClass> = []) {
    self.directions = directions.isEmpty ? Set(Direction.allCases) : directions
    self.classes = classes.isEmpty ? Set(PacketClass.allCases) : classes
  }

  /// True when all packets of the other scope are among these.
  public func contains(_ other: PacketScope) -> Bool {
    directions.isSuperset(of: other.directions) && classes.isSuperset(of: other.classes)
  }

  /// As in a script: `up udp`; `all` for everything.
  public var description: String {
    var words: [String] = []
    if directions.count < Direction.allCases.count {
      words += Direction.allCases.filter(directions.contains).map { "\($0)" }
    }
    if classes.count < PacketClass.allCases.count {
      words += PacketClass.allCases.filter(classes.contains).map { "\($0)" }
    }
    return words.isEmpty ? "all" : words.joined(separator: " ")
  }
}
