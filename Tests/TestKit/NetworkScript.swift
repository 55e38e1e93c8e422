/// What a network does, by time. Written as text:
///
///     0s delay=30ms jitter=10ms; 5s outage 3s; 12s down udp loss=10%; 20s clear
///
/// Statements stand on lines of their own or between semicolons; `#` begins a comment. A statement is a time (absent: 0),
/// then which packets (`up`, `down`, `udp`, `tcp`; absent: all), then what shall be so from then on:
///
/// | | |
/// | --- | --- |
/// | `loss=10%` | each packet is lost with this probability |
/// | `burst=10%/4` | so much is lost, in bursts of 4 packets on average (Gilbert-Elliott) |
/// | `delay=30ms` | every packet takes so long |
/// | `jitter=10ms` | and up to so much longer, in order |
/// | `reorder=5%/20ms` | so many packets are held back by so much, and overtaken |
/// | `duplicate=1%` | so many arrive twice |
/// | `corrupt=1%` | in so many one bit is changed |
/// | `rate=300kbit` `queue=200ms` | a bottleneck for all packets of a direction; `rate=none` takes it away |
/// | `outage 3s` | nothing passes for so long (absent: until `clear`); with `up` or `down` a one-way cut |
/// | `clear` | a perfect network again |
/// | `rebind` | the near side gets another address, as when a NAT forgets it |
public struct NetworkScript: Hashable, Sendable {
  /// What a statement sets or does.
  public enum Action: Hashable, Sendable {
    /// Packets lost, each for itself.
    case loss(Share)
    /// Packets lost in bursts.
    case bursts(NetworkConditions.Bursts)
    /// Travel time.
    case delay(Duration)
    /// Largest addition to it.
    case jitter(Duration)
    /// Packets held back, and for how long.
    case reorder(Share, Duration)
    /// Packets that arrive twice.
    case duplicate(Share)
    /// Packets in which a bit is changed.
    case corrupt(Share)
    /// Bits a second; nil for no limit.
    case rate(Int64?)
    /// The bottleneck's longest wait.
    case queue(Duration)
    /// Nothing passes for so long; nil until `clear`.
    case outage(Duration?)
    /// A perfect network.
    case clear
    /// Another address.
    case rebind
  }

  /// One statement.
  public struct Statement: Hashable, Sendable {
    /// When, from the script's beginning.
    public var at: Duration
    /// For which packets.
    public var scope: PacketScope
    /// In order.
    public var actions: [Action]
    /// The actions as they were written.
    public var text: String
  }

  /// A text that is no script.
  public struct Mistake: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong and where, as a sentence without a full stop.
    public let description: String

    /// Makes a mistake.
    public init(description: String) { self.description = description }
  }

  /// By time; statements of one moment in the order of the text.
  public private(set) var statements: [Statement] = []

  /// Reads a script.
  public init(_ text: String) throws(Mistake) {
    for line in text.split(whereSeparator: \.isNewline) {
      let code = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
      for part in code.split(separator: ";") {
        let words = part.split(whereSeparator: \.isWhitespace).map(String.init)
        if !words.isEmpty { statements.append(try Self.statement(words)) }
      }
    }
    let order = statements.indices.sorted { (statements[$0].at, $0) < (statements[$1].at, $1) }
    statements = order.map { statements[$0] }
  }

  private static func statement(_ words: [String]) throws(Mistake) -> Statement {
    let whole = words.joined(separator: " ")
    var rest = words[...]
    var at = Duration.zero
    if let time = rest.first.flatMap(duration) {
      at = time
      rest.removeFirst()
    }
    var directions: Set<Direction> = []
    var classes: Set<PacketClass> = []
    scope: while let word = rest.first {
      switch word {
      case "up": directions.insert(.up)
      case "down": directions.insert(.down)
      case "udp": classes.insert(.udp)
      case "tcp": classes.insert(.tcp)
      default: break scope
      }
      rest.removeFirst()
    }
    let text = rest.joined(separator: " ")
    var actions: [Action] = []
    while let word = rest.popFirst() {
      if word == "outage" {
        let length = rest.first.flatMap(duration)
        if length != nil { rest.removeFirst() }
        actions.append(.outage(length))
      } else if let action = action(word) {
        actions.append(action)
      } else {
        throw Mistake(description: "'\(word)' in '\(whole)' is nothing that a network can do")
      }
    }
    guard !actions.isEmpty else { throw Mistake(description: "'\(whole)' doesn't say what shall happen") }
    let isOfDirection = actions.contains {
      if case .rate = $0 { true } else if case .queue = $0 { true } else { false }
    }
    if isOfDirection, !classes.isEmpty {
      throw Mistake(description: "in '\(whole)' a rate can't hold for some kinds of packets only")
    }
    return Statement(at: at, scope: PacketScope(directions, classes), actions: actions, text: text)
  }

  private static func action(_ word: String) -> Action? {
    switch word {
    case "clear": return .clear
    case "rebind": return .rebind
    case "rate=none": return .rate(nil)
    default: break
    }
    let sides = word.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
    guard sides.count == 2 else { return nil }
    let value = sides[1].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard value.count == 1 || (value.count == 2 && ["burst", "reorder"].contains(sides[0])) else { return nil }
    switch sides[0] {
    case "loss": return share(value[0]).map { .loss($0) }
    case "burst":
      guard let share = share(value[0]), value.count == 2, let length = Int64(value[1]), (1...1000).contains(length)
      else { return nil }
      return .bursts(.init(share: share, length: length))
    case "delay": return duration(value[0]).map { .delay($0) }
    case "jitter": return duration(value[0]).map { .jitter($0) }
    case "reorder":
      guard let share = share(value[0]) else { return nil }
      guard value.count == 2 else { return .reorder(share, NetworkConditions().holdBack) }
      return duration(value[1]).map { .reorder(share, $0) }
    case "duplicate": return share(value[0]).map { .duplicate($0) }
    case "corrupt": return share(value[0]).map { .corrupt($0) }
    case "rate": return number(value[0], units: ["bit": 1, "kbit": 1000, "Mbit": 1_000_000]).map { .rate(max(1, $0)) }
    case "queue": return duration(value[0]).map { .queue($0) }
    default: return nil
    }
  }

  /// `250ms`, `1.5s`, `2m`, at most a day; nil for anything else.
  public static func duration(_ text: String) -> Duration? {
    number(text, units: ["us": 1000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000]).flatMap {
      $0 <= 86_400_000_000_000 ? .nanoseconds($0) : nil
    }
  }

  /// `0.5%`; nil for anything else.
  static func share(_ text: String) -> Share? {
    number(text, units: ["%": 10_000]).flatMap { $0 <= 1_000_000 ? Share(millionths: $0) : nil }
  }

  /// A decimal number of at most 9 + 6 digits with a unit.
  private static func number(_ text: String, units: [String: Int64]) -> Int64? {
    let digits = text.prefix { "0123456789.".contains($0) }
    guard let unit = units[String(text.dropFirst(digits.count))] else { return nil }
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), (1...9).contains(parts[0].count), let whole = Int64(parts[0]) else {
      return nil
    }
    var result = whole * unit
    if parts.count == 2 {
      guard (1...6).contains(parts[1].count), let fraction = Int64(parts[1]) else { return nil }
      var scale: Int64 = 1
      for _ in 0..<parts[1].count { scale *= 10 }
      result += fraction * unit / scale
    }
    return result
  }
}
