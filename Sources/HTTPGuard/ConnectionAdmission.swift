import MediaCore

/// How many connections a server holds.
public struct AdmissionLimits: Hashable, Sendable {
  /// Connections of one address that have not shown a credential.
  public var perAddress = 64
  /// Connections of everybody that have not shown a credential.
  public var waiting = 1024
  /// Connections of those that have.
  public var entered = 1024
  /// So long a waiting connection is left alone when others of as many want its place. With
  /// `perAddress` it bounds how many connections a second one address can have made.
  public var grace = Duration.milliseconds(250)

  /// Makes the usual limits.
  public init() {}

  /// The same for a process that may have so many descriptors open: half of them stay free for everything else.
  public func fitting(descriptors: Int) -> AdmissionLimits {
    var limits = self
    limits.waiting = max(1, min(waiting, descriptors / 4))
    limits.entered = max(1, min(entered, descriptors / 4))
    limits.perAddress = max(1, min(perAddress, limits.waiting))
    return limits
  }
}

/// Decides which connections of a server are held. Pure.
///
/// A connection waits until its client has shown a good credential, and again when what it asked for is answered.
/// Places for those that wait are few for each address and apart from those that have entered: whoever holds
/// connections open for nothing takes places of nobody but himself.
///
/// ```
///            arrive                enter
///   (new) ------------> waiting ------------> entered
///     |                  |   ^                   |
///     | refused          |   +------- leave -----+
///     v                  v gone, or its place     v gone
///   (closed)           (closed)  is needed      (closed)
/// ```
///
/// When an address has all its places, its oldest connection that waits gives way to the new one; when all places are
/// taken, the oldest of the address that has the most. Nobody who entered ever gives way.
public struct ConnectionAdmission<ID: Hashable & Sendable>: Sendable {
  /// What becomes of a new connection.
  public enum Decision: Hashable, Sendable {
    /// It is held.
    case admitted
    /// It is held; this other one is closed for it, and already forgotten here.
    case admittedInPlaceOf(ID)
    /// It is closed at once.
    case refused
  }

  private struct Seat: Sendable {
    var id: ID
    var since: Instant
  }

  private struct Place: Sendable {
    var address: ClientAddress
    var hasEntered: Bool
  }

  private let limits: AdmissionLimits
  private var places: [ID: Place] = [:]
  /// Of each address those that wait, the oldest first; no empty lists.
  private var waiting: [ClientAddress: [Seat]] = [:]
  /// How many wait.
  public private(set) var waitingCount = 0
  /// How many have entered.
  public private(set) var enteredCount = 0
  /// How many were refused, or closed for others, since the beginning.
  public private(set) var refusedCount: UInt64 = 0

  /// Nobody is there.
  public init(_ limits: AdmissionLimits) { self.limits = limits }

  /// A connection was made. `id` is in use for no other.
  public mutating func arrive(_ id: ID, from address: ClientAddress, now: Instant) -> Decision {
    guard places[id] == nil else { return .refused }
    var evicted: ID?
    if let candidate = inTheWay(of: address) {
      let isFair = candidate.isOfMore
      guard isFair || now - candidate.seat.since >= limits.grace else {
        refusedCount &+= 1
        return .refused
      }
      evicted = candidate.seat.id
      evict(candidate.seat.id)
    }
    sit(id, address, now)
    return evicted.map { .admittedInPlaceOf($0) } ?? .admitted
  }

  /// Its client has shown a good credential. False when there is no place for it: it goes on waiting, and its client
  /// is told so. True again when it has entered already.
  public mutating func enter(_ id: ID) -> Bool {
    guard let place = places[id] else { return false }
    if place.hasEntered { return true }
    guard enteredCount < limits.entered else { return false }
    stand(id, place.address)
    places[id]?.hasEntered = true
    enteredCount += 1
    return true
  }

  /// What its client asked for is answered: it waits again. Gives a connection that is closed for it, if there is none
  /// for as many; changes nothing for one that had not entered.
  public mutating func leave(_ id: ID, now: Instant) -> ID? {
    guard let place = places[id], place.hasEntered else { return nil }
    enteredCount -= 1
    let evicted = inTheWay(of: place.address)?.seat.id
    if let evicted { evict(evicted) }
    sit(id, place.address, now)
    return evicted
  }

  /// It was closed, by whomever. Harmless when that is known.
  public mutating func gone(_ id: ID) {
    guard let place = places.removeValue(forKey: id) else { return }
    if place.hasEntered { enteredCount -= 1 } else { stand(id, place.address) }
  }

  // MARK: Places

  /// The connection whose place one more of this address would need; nil while there are free ones. `isOfMore`: it
  /// belongs to another address, which has more even after the change.
  private func inTheWay(of address: ClientAddress) -> (seat: Seat, isOfMore: Bool)? {
    let own = waiting[address] ?? []
    if own.count >= max(1, limits.perAddress), let oldest = own.first { return (oldest, false) }
    guard waitingCount >= max(1, limits.waiting) else { return nil }
    var most: [Seat] = []
    for seats in waiting.values {
      let isOlder = seats.count == most.count && seats[0].since < most[0].since
      if seats.count > most.count || isOlder { most = seats }
    }
    return most.first.map { ($0, most.count > own.count + 1) }
  }

  private mutating func evict(_ id: ID) {
    refusedCount &+= 1
    gone(id)
  }

  private mutating func sit(_ id: ID, _ address: ClientAddress, _ now: Instant) {
    places[id] = Place(address: address, hasEntered: false)
    waiting[address, default: []].append(Seat(id: id, since: now))
    waitingCount += 1
  }

  private mutating func stand(_ id: ID, _ address: ClientAddress) {
    guard var seats = waiting[address], let index = seats.firstIndex(where: { $0.id == id }) else { return }
    waitingCount -= 1
    seats.remove(at: index)
    waiting[address] = seats.isEmpty ? nil : seats
  }
}
