import Logging
import MediaCore
import Platform
import Signaling
import Transport

extension RoomDirectory {
  /// Carries out a verb; gives the number of participants that it hit. On the loop.
  func perform(_ verb: TestVerb) throws(TestVerbError) -> Int {
    let injector = interposer as? FaultInjector ?? FaultInjector(directory: self)
    interposer = injector
    return try injector.perform(verb)
  }
}

/// Makes faults on command: it stands between the rooms and their clients, and does to them what the faults in force say.
/// Confined to the directory's loop.
final class FaultInjector: RoomInterposer {
  private unowned let directory: RoomDirectory
  private var faults = Faults()
  /// Since when news have been kept from participants, by their sids.
  private var deafSince: [String: Instant] = [:]

  init(directory: RoomDirectory) { self.directory = directory }

  // MARK: RoomInterposer

  func refusal(_ request: JoinRequest) -> JoinGate.Refusal? {
    faults.refusal(room: request.room, identity: request.token.identity, issued: request.token.notBefore)
  }

  func limit(room: String) -> Int? { faults.limit(room: room) }

  func signalOpened(_ participant: ClientSession) { apply(to: participant) }

  func mediaOpened(_ participant: ClientSession) { apply(to: participant) }

  // MARK: Verbs

  /// Carries out a verb; gives the number of participants that it hit.
  func perform(_ verb: TestVerb) throws(TestVerbError) -> Int {
    directory.logger.notice("test API", metadata: ["verb": "\(verb)"])
    switch verb {
    case .cutSignal(let target, let mode, let time):
      let hit = try participants(target)
      begin(.signalCut(mode), target, lasting: time)
      if mode == .close { for participant in hit { participant.room.cutSignal(of: participant) } }
      return hit.count
    case .cutMedia(let target, let time): return try begin(.mediaCut, target, for: time)
    case .dropUpdates(let target, let time): return try begin(.updatesDropped, target, for: time)
    case .delayAnswers(let target, let delay, let time):
      return try begin(.descriptionsDelayed(delay), target, for: time)
    case .restart(let wipes): return directory.restart(wipes: wipes)
    case .migrate(let target, let action):
      return try each(target) { participant in
        if action == .resume {
          participant.room.cutSignal(of: participant, .leave(.migration, .resume))
        } else {
          participant.room.handle(.leave(participant.sid, .migration, action))
        }
      }
    case .kick(let target, let reason): return try each(target) { $0.room.handle(.leave($0.sid, reason, .disconnect)) }
    case .duplicate(let target):
      return try each(target) { $0.room.handle(.leave($0.sid, .duplicateIdentity, .disconnect)) }
    case .endRoom(let name, let reason):
      guard let room = directory.room(name) else { throw .notFound("there is no room '\(name)'") }
      let count = room.participants.count
      room.handle(.close(reason))
      return count
    case .fill(let name, let limit):
      faults.setLimit(limit, room: name)
      directory.room(name)?.handle(.limit(limit))
      return directory.room(name)?.participants.count ?? 0
    case .busy(let status, let room, let time):
      end(faults.refuse(status: status, room: room), after: time)
      return 0
    case .expireToken(let target):
      _ = faults.begin(.tokensExpired(WallClock.seconds), target)
      return 0
    case .pauseStreams(let target, let tracks, let isPaused):
      return try each(target) { $0.subscriber?.setPaused(tracks, isPaused) }
    case .permit(let target, let canSubscribe):
      return try each(target) { participant in
        guard var grant = participant.room.machine.member(participant.sid)?.grant else { return }
        grant.canSubscribe = canSubscribe
        participant.room.handle(.setGrant(participant.sid, grant))
      }
    case .limitBandwidth(let target, let bits, let time):
      faults.end(target) { if case .bandwidth = $0 { true } else { false } }
      if let bits { return try begin(.bandwidth(bits), target, for: time) }
      applyConditions()
      return try participants(target).count
    case .restore:
      faults.removeAll()
      for room in directory.allRooms {
        room.handle(.limit(nil))
        for participant in room.participants.values { participant.subscriber?.setPaused([], false) }
      }
      return applyConditions()
    }
  }

  private func participants(_ target: TestTarget) throws(TestVerbError) -> [ClientSession] {
    guard let room = directory.room(target.room) else { throw .notFound("there is no room '\(target.room)'") }
    let found = room.participants.values.filter { target.covers(room: room.name, identity: $0.identity) }
    if let identity = target.identity, found.isEmpty {
      throw .notFound("there is no '\(identity)' in the room '\(target.room)'")
    }
    return found
  }

  private func each(_ target: TestTarget, _ act: (ClientSession) -> Void) throws(TestVerbError) -> Int {
    let found = try participants(target)
    for participant in found { act(participant) }
    return found.count
  }

  /// Begins a fault of participants that are there; one that comes back while it lasts has it again.
  private func begin(
    _ effect: Faults.Effect, _ target: TestTarget, for time: Duration?
  ) throws(TestVerbError) -> Int {
    let found = try participants(target)
    begin(effect, target, lasting: time)
    return found.count
  }

  private func begin(_ effect: Faults.Effect, _ target: TestTarget, lasting time: Duration?) {
    end(faults.begin(effect, target), after: time)
    applyConditions()
  }

  private func end(_ number: Int, after time: Duration?) {
    guard let time else { return }
    directory.loop.timer(after: time) { [weak self] in
      guard let self else { return }
      self.faults.end(number)
      self.applyConditions()
    }
  }

  /// Does to every participant what the faults say; how many there are.
  @discardableResult
  private func applyConditions() -> Int {
    let participants = directory.allRooms.flatMap(\.participants.values)
    for participant in participants { apply(to: participant) }
    let sids = Set(participants.map(\.sid))
    deafSince = deafSince.filter { sids.contains($0.key) }
    return participants.count
  }

  private func apply(to participant: ClientSession) {
    let condition = faults.condition(room: participant.room.name, identity: participant.identity)
    participant.setCut(condition.isMediaCut)
    participant.subscriber?.imposedBandwidth = condition.bandwidth
    participant.interpose { sender in
      let faulty = sender as? FaultySender ?? FaultySender(sender, loop: directory.loop)
      faulty.setCondition(condition)
      return faulty
    }
    if condition.isDeaf {
      let member = participant.room.machine.member(participant.sid)
      deafSince[participant.sid] = deafSince[participant.sid] ?? member?.unheardSince ?? MonotonicClock.now
    } else if let since = deafSince.removeValue(forKey: participant.sid) {
      participant.room.handle(.missed(participant.sid, since: since))
    }
  }
}
