public import MediaCore

/// A network between two sides that treats packets badly in just the way that a seed and a script say. Pure: packets and
/// times go in, packets and times come out; the same input gives the same output on every machine.
///
/// What happens to a packet is decided when it enters. The n-th packet of a kind and direction draws the same random
/// numbers whatever the script says and whatever other packets come, so that two runs that differ in one setting differ
/// by that only. What is already under way when an outage begins arrives.
public struct SeededNetwork<Packet> {
  /// Something that the network has to say.
  public struct Event: Hashable, Sendable {
    /// What happened.
    public enum Kind: String, Hashable, Sendable {
      /// The conditions are other ones now.
      case changed
      /// Nothing passes any more.
      case outageBegan = "outage began"
      /// Packets pass again.
      case outageEnded = "outage ended"
      /// The near side has another address.
      case rebind
    }
    /// What happened.
    public var kind: Kind
    /// When it was due.
    public var at: Instant
    /// Which packets it is about.
    public var scope: PacketScope
    /// The statement as it was written.
    public var text: String
  }

  /// What comes out.
  public enum Output {
    /// A packet arrives. With `corruption` one of its bits is to be changed: which one follows from that number.
    case packet(Packet, Direction, corruption: UInt64?)
    /// Something happened to the network itself.
    case event(Event)
  }

  /// Counts of packets of one kind in one direction.
  public struct Statistics: Hashable, Sendable {
    /// Packets that went in.
    public var sent = 0
    /// Their bytes.
    public var bytes = 0
    /// Packets that came out, copies included.
    public var delivered = 0
    /// Lost, each for itself.
    public var lost = 0
    /// Lost in bursts.
    public var lostInBursts = 0
    /// Lost in outages.
    public var cut = 0
    /// Dropped before the bottleneck.
    public var queueDrops = 0
    /// Held back.
    public var reordered = 0
    /// Copied.
    public var duplicated = 0
    /// Changed.
    public var corrupted = 0
  }

  private struct Cell {
    var conditions = NetworkConditions()
    var random: SeededRandom
    var isBad = false
    var cutUntil = Instant.distantPast
    var lastDue = Instant.distantPast
    var statistics = Statistics()
  }

  private struct Flight {
    var due: Instant
    var number: Int64
    var packet: Packet
    var cell: Int
    var direction: Direction
    var corruption: UInt64?
  }

  private struct Timed {
    var at: Instant
    var number: Int64
    var scope: PacketScope
    var text: String
    /// Nil: an outage of this scope ends.
    var actions: [NetworkScript.Action]?
  }

  private var cells: [Cell]
  // The bottleneck of each direction: bits a second, the longest wait before it, and until when it is busy.
  private var rates: [Int64?] = [nil, nil]
  private var queues: [Duration] = [.milliseconds(200), .milliseconds(200)]
  private var busyUntil: [Instant] = [.distantPast, .distantPast]
  // A binary heap, the earliest first.
  private var flights: [Flight] = []
  // Ascending.
  private var timeline: [Timed] = []
  private var events: [Event] = []
  private var counter: Int64 = 0

  /// A perfect network; `seed` decides what is random once a script makes it worse.
  public init(seed: UInt64) {
    cells = (0..<(Direction.allCases.count * PacketClass.allCases.count)).map {
      Cell(random: SeededRandom(seed: seed, stream: UInt64($0)))
    }
  }

  private static func index(_ direction: Direction, _ kind: PacketClass) -> Int {
    direction.rawValue * PacketClass.allCases.count + kind.rawValue
  }

  /// Counts of packets of one kind in one direction.
  public func statistics(_ direction: Direction, _ kind: PacketClass) -> Statistics {
    cells[Self.index(direction, kind)].statistics
  }

  /// Lets a script begin at `now`, besides those that are running.
  public mutating func schedule(_ script: NetworkScript, at now: Instant) {
    for statement in script.statements {
      insert(
        Timed(
          at: now + statement.at, number: nextNumber(), scope: statement.scope, text: statement.text,
          actions: statement.actions))
    }
    bringUp(to: now)
  }

  /// When to poll; nil for never.
  public var deadline: Instant? {
    if let event = events.first { return event.at }
    guard let flight = flights.first else { return timeline.first?.at }
    return timeline.first.map { min($0.at, flight.due) } ?? flight.due
  }

  /// A packet of `count` bytes enters at `now`. Times must not go back.
  public mutating func send(
    _ packet: Packet, count: Int, _ direction: Direction, _ kind: PacketClass, at now: Instant
  ) {
    bringUp(to: now)
    let index = Self.index(direction, kind)
    cells[index].statistics.sent += 1
    cells[index].statistics.bytes += count
    let draw = Draw(&cells[index].random)
    guard let due = passes(index, direction, count: count, draw: draw, at: now) else { return }
    let conditions = cells[index].conditions
    var arrival =
      due + conditions.delay + .nanoseconds(SeededRandom.below(conditions.jitter.nanoseconds + 1, draw.jitter))
    if conditions.reorder.holds(draw.reorder) {
      cells[index].statistics.reordered += 1
      arrival = max(arrival, cells[index].lastDue) + conditions.holdBack
    } else {
      arrival = max(arrival, cells[index].lastDue)
      cells[index].lastDue = arrival
    }
    var flight = Flight(due: arrival, number: nextNumber(), packet: packet, cell: index, direction: direction)
    if conditions.corrupt.holds(draw.corrupt) {
      cells[index].statistics.corrupted += 1
      flight.corruption = draw.place
    }
    push(flight)
    if conditions.duplicate.holds(draw.duplicate) {
      cells[index].statistics.duplicated += 1
      flight.number = nextNumber()
      push(flight)
    }
  }

  /// What comes out at `now`, in order; nil when there is nothing (more) yet.
  public mutating func poll(at now: Instant) -> Output? {
    // Packets that arrive before a statement's time come out before its event.
    if events.isEmpty, let next = timeline.first?.at, next <= now, flights.first.map({ $0.due < next }) != true {
      bringUp(to: next)
    }
    if let event = events.first, flights.first.map({ $0.due < event.at }) != true {
      return .event(events.removeFirst())
    }
    guard let first = flights.first, first.due <= now else { return nil }
    let flight = pop()
    cells[flight.cell].statistics.delivered += 1
    return .packet(flight.packet, flight.direction, corruption: flight.corruption)
  }

  // MARK: - Fates

  /// What one packet draws: always all of it.
  private struct Draw {
    var loss: UInt64
    var burst: UInt64
    var jitter: UInt64
    var reorder: UInt64
    var duplicate: UInt64
    var corrupt: UInt64
    var place: UInt64

    init(_ random: inout SeededRandom) {
      loss = random.next()
      burst = random.next()
      jitter = random.next()
      reorder = random.next()
      duplicate = random.next()
      corrupt = random.next()
      place = random.next()
    }
  }

  /// When the packet has left the bottleneck; nil when it is lost.
  private mutating func passes(
    _ index: Int, _ direction: Direction, count: Int, draw: Draw, at now: Instant
  ) -> Instant? {
    if let bursts = cells[index].conditions.bursts {
      let changes = cells[index].isBad ? bursts.ends : bursts.begins
      if changes.holds(draw.burst) { cells[index].isBad.toggle() }
    }
    if now < cells[index].cutUntil {
      cells[index].statistics.cut += 1
      return nil
    }
    if cells[index].conditions.loss.holds(draw.loss) {
      cells[index].statistics.lost += 1
      return nil
    }
    if cells[index].isBad {
      cells[index].statistics.lostInBursts += 1
      return nil
    }
    guard let rate = rates[direction.rawValue] else { return now }
    let begins = max(now, busyUntil[direction.rawValue])
    guard begins - now <= queues[direction.rawValue] else {
      cells[index].statistics.queueDrops += 1
      return nil
    }
    let (product, overflow) = Int64(count).multipliedReportingOverflow(by: 8_000_000_000)
    let left = begins + .nanoseconds(overflow ? .max / 2 : product / max(1, rate))
    busyUntil[direction.rawValue] = left
    return left
  }

  // MARK: - The script

  /// Performs everything whose time has come.
  private mutating func bringUp(to now: Instant) {
    while let next = timeline.first, next.at <= now {
      timeline.removeFirst()
      if let actions = next.actions {
        for action in actions { perform(action, next) }
        let tells = actions.contains { if case .outage = $0 { false } else { $0 != .rebind } }
        if tells { events.append(Event(kind: .changed, at: next.at, scope: next.scope, text: next.text)) }
      } else {
        events.append(Event(kind: .outageEnded, at: next.at, scope: next.scope, text: next.text))
      }
    }
  }

  private mutating func perform(_ action: NetworkScript.Action, _ timed: Timed) {
    switch action {
    case .outage(let length):
      let until = length.map { timed.at + $0 } ?? .distantFuture
      change(timed.scope) { $0.cutUntil = max($0.cutUntil, until) }
      events.append(Event(kind: .outageBegan, at: timed.at, scope: timed.scope, text: timed.text))
      if length != nil {
        insert(Timed(at: until, number: nextNumber(), scope: timed.scope, text: timed.text))
      }
      return
    case .rebind: events.append(Event(kind: .rebind, at: timed.at, scope: timed.scope, text: timed.text))
    case .rate(let rate):
      for direction in timed.scope.directions {
        rates[direction.rawValue] = rate
        busyUntil[direction.rawValue] = .distantPast
      }
    case .queue(let length): for direction in timed.scope.directions { queues[direction.rawValue] = length }
    case .clear: clear(timed)
    case .loss(let share): change(timed.scope) { $0.conditions.loss = share }
    case .bursts(let bursts):
      change(timed.scope) { cell in
        cell.conditions.bursts = bursts.share == .none ? nil : bursts
        cell.isBad = false
      }
    case .delay(let delay): change(timed.scope) { $0.conditions.delay = delay }
    case .jitter(let jitter): change(timed.scope) { $0.conditions.jitter = jitter }
    case .reorder(let share, let time):
      change(timed.scope) { ($0.conditions.reorder, $0.conditions.holdBack) = (share, time) }
    case .duplicate(let share): change(timed.scope) { $0.conditions.duplicate = share }
    case .corrupt(let share): change(timed.scope) { $0.conditions.corrupt = share }
    }
  }

  private mutating func clear(_ timed: Timed) {
    var wasCut = false
    change(timed.scope) { cell in
      wasCut = wasCut || cell.cutUntil > timed.at
      cell.conditions = NetworkConditions()
      (cell.isBad, cell.cutUntil) = (false, .distantPast)
    }
    if timed.scope.classes.count == PacketClass.allCases.count {
      for direction in timed.scope.directions { rates[direction.rawValue] = nil }
    }
    guard wasCut else { return }
    events.append(Event(kind: .outageEnded, at: timed.at, scope: timed.scope, text: timed.text))
    timeline.removeAll { $0.actions == nil && timed.scope.contains($0.scope) }
  }

  private mutating func change(_ scope: PacketScope, _ body: (inout Cell) -> Void) {
    for direction in scope.directions {
      for kind in scope.classes { body(&cells[Self.index(direction, kind)]) }
    }
  }

  private mutating func insert(_ timed: Timed) {
    let place = timeline.firstIndex { (timed.at, timed.number) < ($0.at, $0.number) } ?? timeline.count
    timeline.insert(timed, at: place)
  }

  private mutating func nextNumber() -> Int64 {
    counter += 1
    return counter
  }

  // MARK: - The heap

  private func isEarlier(_ a: Int, _ b: Int) -> Bool {
    (flights[a].due, flights[a].number) < (flights[b].due, flights[b].number)
  }

  private mutating func push(_ flight: Flight) {
    flights.append(flight)
    var child = flights.count - 1
    while child > 0, isEarlier(child, (child - 1) / 2) {
      flights.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func pop() -> Flight {
    flights.swapAt(0, flights.count - 1)
    let first = flights.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < flights.count && isEarlier(child, least) {
        least = child
      }
      guard least != parent else { return first }
      flights.swapAt(parent, least)
      parent = least
    }
  }
}
