import MediaCore
import Signaling

/// Rooms of two seats, in which peers leave session descriptions and candidates for each other. A pure value: time is
/// an argument.
///
/// A seat belongs to an identity and, within it, to a session: the newest session of an identity has the seat, and
/// what an earlier one stored is gone. A peer that is not heard of for as long as the lease lasts loses its seat; a room
/// without seats is forgotten.
struct MailboxState: Sendable {
  /// What rooms may cost.
  struct Limits: Sendable {
    /// Rooms at the same time.
    var rooms = 1_000
    /// Candidates of one description.
    var candidates = 64
    /// Bytes of one candidate.
    var candidateBytes = 512
    /// Bytes of a name, a session, an id.
    var nameBytes = 256
    /// How long a peer may be silent.
    var lease = Duration.seconds(10)
    /// For how long a goodbye can be seen.
    var farewell = Duration.seconds(30)
  }

  /// Why something was refused.
  enum Refusal: Error, Hashable, Sendable {
    /// The one who asks has no seat (any more).
    case noSeat
    /// Another client with the same identity has the seat.
    case replaced
    /// The wanted seat is taken, or both are.
    case occupied(by: String)
    /// The candidates belong to a description that is not stored (any more).
    case stale
    /// There are too many rooms.
    case tooManyRooms
    /// Something is too long or missing; the text says what.
    case invalid(String)
  }

  private struct Seat {
    var identity: String
    var session: String
    var name: String
    /// The wanted role; nil when either will do.
    var wish: PeerRole?
    var description: MailboxDescription?
    var hasLeft = false
    var heardAt: Instant
    /// Requests that wait for a change: while there is one, the peer is there.
    var watches = 0
  }

  private struct Room {
    var seats: [PeerRole: Seat] = [:]
    var revision: UInt64 = 0

    func role(of identity: String) -> PeerRole? {
      PeerRole.allCases.first { seats[$0]?.identity == identity }
    }

    func isFree(_ role: PeerRole) -> Bool { seats[role]?.hasLeft ?? true }
  }

  let limits: Limits
  private var rooms: [String: Room] = [:]

  /// Makes a state without rooms.
  init(limits: Limits = Limits()) { self.limits = limits }

  /// How many rooms there are.
  var count: Int { rooms.count }

  // MARK: Seats

  /// Takes a seat, or takes it again. The first who doesn't care becomes the host, the second the guest; who doesn't
  /// care makes room for who does.
  mutating func takeSeat(
    in name: String, identity: String, _ request: SeatRequest, at now: Instant
  ) throws(Refusal) -> MailboxView {
    guard !request.session.isEmpty, request.session.utf8.count <= limits.nameBytes else {
      throw .invalid("session: 1 to \(limits.nameBytes) bytes")
    }
    if let description = request.description { try check(description) }
    guard rooms[name] != nil || rooms.count < limits.rooms else { throw .tooManyRooms }
    var room = rooms[name] ?? Room()
    expire(&room, at: now)
    let role = try place(identity, request, in: &room)
    var seat = room.seats[role]
    if seat?.session != request.session || seat?.hasLeft == true { seat = nil }
    let shown = Self.shortened(request.name ?? seat?.name ?? "", limits.nameBytes)
    let changed = Seat(
      identity: identity, session: request.session, name: shown, wish: request.role,
      description: request.description ?? seat?.description, heardAt: now, watches: seat?.watches ?? 0)
    room.seats[role] = changed
    room.revision += 1
    rooms[name] = room
    return view(room, role)
  }

  /// Finds the seat for who asks; the one that it had elsewhere, and who has to move, are moved.
  private func place(_ identity: String, _ request: SeatRequest, in room: inout Room) throws(Refusal) -> PeerRole {
    if let current = room.role(of: identity) {
      if request.role == nil || request.role == current { return current }
      room.seats[current] = nil
      room.revision += 1
    }
    guard let wish = request.role else {
      guard let free = PeerRole.allCases.first(where: { room.isFree($0) }) else {
        throw .occupied(by: room.seats[.guest]?.identity ?? "")
      }
      return free
    }
    if room.isFree(wish) { return wish }
    guard var holder = room.seats[wish], holder.wish == nil, room.isFree(wish.other) else {
      throw .occupied(by: room.seats[wish]?.identity ?? "")
    }
    // An offer is no answer: what was stored in the other role is of no use.
    holder.description = nil
    room.seats[wish.other] = holder
    room.seats[wish] = nil
    return wish
  }

  /// Says goodbye.
  mutating func leave(
    _ name: String, identity: String, session: String, at now: Instant
  ) throws(Refusal) -> MailboxView {
    let role = try seat(name, identity, session)
    return try change(name, role, at: now) { seat in
      seat.hasLeft = true
      seat.description = nil
    }
  }

  // MARK: Descriptions

  /// Stores a description in the place of what was stored before.
  mutating func put(
    _ name: String, identity: String, session: String, _ description: MailboxDescription, at now: Instant
  ) throws(Refusal) -> MailboxView {
    let role = try seat(name, identity, session)
    try check(description)
    return try change(name, role, at: now) { $0.description = description }
  }

  /// Adds candidates to the description that is stored.
  mutating func add(
    _ name: String, identity: String, session: String, _ more: MailboxCandidates, at now: Instant
  ) throws(Refusal) -> MailboxView {
    let role = try seat(name, identity, session)
    guard var description = rooms[name]?.seats[role]?.description, description.id == more.id else { throw .stale }
    description.candidates += more.candidates
    try check(description)
    return try change(name, role, at: now) { $0.description = description }
  }

  /// Deletes the description: the other side starts over.
  mutating func clear(
    _ name: String, identity: String, session: String, at now: Instant
  ) throws(Refusal) -> MailboxView {
    let role = try seat(name, identity, session)
    return try change(name, role, at: now) { $0.description = nil }
  }

  private func check(_ description: MailboxDescription) throws(Refusal) {
    guard !description.id.isEmpty, description.id.utf8.count <= limits.nameBytes else {
      throw .invalid("id: 1 to \(limits.nameBytes) bytes")
    }
    guard description.candidates.count <= limits.candidates,
      description.candidates.allSatisfy({ $0.utf8.count <= limits.candidateBytes })
    else { throw .invalid("at most \(limits.candidates) candidates of \(limits.candidateBytes) bytes") }
  }

  // MARK: Watching

  /// The room as the peer sees it now. Counts as a sign of life.
  mutating func look(
    _ name: String, identity: String, session: String, at now: Instant
  ) throws(Refusal) -> MailboxView {
    let role = try seat(name, identity, session)
    rooms[name]?.seats[role]?.heardAt = now
    guard let room = rooms[name] else { throw .noSeat }
    return view(room, role)
  }

  /// The peer waits for a change (true), or waits no longer. A peer that waits is there.
  mutating func watching(_ isWatching: Bool, _ name: String, identity: String, session: String, at now: Instant) {
    guard let role = try? seat(name, identity, session) else { return }
    let before = rooms[name]?.seats[role]?.watches ?? 0
    rooms[name]?.seats[role]?.watches = max(0, before + (isWatching ? 1 : -1))
    rooms[name]?.seats[role]?.heardAt = now
  }

  /// Takes the seats of peers that were silent for too long. Gives the rooms that have changed.
  mutating func advance(to now: Instant) -> [String] {
    var changed: [String] = []
    for (name, before) in rooms {
      var room = before
      expire(&room, at: now)
      guard room.revision != before.revision else { continue }
      rooms[name] = room.seats.isEmpty ? nil : room
      changed.append(name)
    }
    return changed.sorted()
  }

  private func expire(_ room: inout Room, at now: Instant) {
    for (role, seat) in room.seats {
      let patience = seat.hasLeft ? limits.farewell : limits.lease
      guard seat.hasLeft || seat.watches == 0, now - seat.heardAt >= patience else { continue }
      room.seats[role] = nil
      room.revision += 1
    }
  }

  // MARK: Parts

  private func seat(_ name: String, _ identity: String, _ session: String) throws(Refusal) -> PeerRole {
    guard let room = rooms[name], let role = room.role(of: identity), let seat = room.seats[role] else { throw .noSeat }
    guard seat.session == session else { throw .replaced }
    guard !seat.hasLeft else { throw .noSeat }
    return role
  }

  private mutating func change(
    _ name: String, _ role: PeerRole, at now: Instant, _ change: (inout Seat) -> Void
  ) throws(Refusal) -> MailboxView {
    guard var room = rooms[name], var seat = room.seats[role] else { throw .noSeat }
    change(&seat)
    seat.heardAt = now
    room.seats[role] = seat
    room.revision += 1
    rooms[name] = room
    return view(room, role)
  }

  private func view(_ room: Room, _ role: PeerRole) -> MailboxView {
    let own = room.seats[role]?.description.map { MailboxView.Own(id: $0.id, candidates: $0.candidates.count) }
    let other = room.seats[role.other].map { seat in
      MailboxView.Seat(
        identity: seat.identity, name: seat.name, session: seat.session, hasLeft: seat.hasLeft,
        description: seat.description)
    }
    return MailboxView(revision: room.revision, role: role, own: own, other: other)
  }

  /// At most so many bytes of a text, cut between characters.
  private static func shortened(_ text: String, _ bytes: Int) -> String {
    var result = text
    while result.utf8.count > bytes { result.removeLast() }
    return result
  }
}
