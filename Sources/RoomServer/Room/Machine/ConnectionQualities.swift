import Signaling

/// How well connections do, and what each participant has been told of the others'. Pure.
struct ConnectionQualities: Sendable {
  /// By who was told, then by of whom.
  private var told: [String: [String: Livekit_ConnectionQuality]] = [:]

  /// Nothing told yet.
  init() {}

  /// What is to be told to each of the members whose view has changed, in the members' order.
  mutating func updates(
    _ members: [Member], _ facts: [String: QualityScore.Facts]
  ) -> [(sid: String, update: Livekit_ConnectionQualityUpdate)] {
    let infos = members.map { member in
      var facts = facts[member.sid] ?? .init()
      facts.isLost = facts.isLost || member.link == nil
      var info = Livekit_ConnectionQualityInfo()
      info.participantSid = member.sid
      (info.quality, info.score) = QualityScore.rate(facts)
      return (member: member, info: info)
    }
    var result: [(sid: String, update: Livekit_ConnectionQualityUpdate)] = []
    var told: [String: [String: Livekit_ConnectionQuality]] = [:]
    for member in members {
      let before = self.told[member.sid] ?? [:]
      var now: [String: Livekit_ConnectionQuality] = [:]
      var update = Livekit_ConnectionQualityUpdate()
      for (other, info) in infos where other.isVisible || other.sid == member.sid {
        now[other.sid] = info.quality
        if before[other.sid] != info.quality { update.updates.append(info) }
      }
      // Nobody hears it while the connection is lost: all again afterwards.
      told[member.sid] = member.link == nil ? [:] : now
      if !update.updates.isEmpty { result.append((member.sid, update)) }
    }
    self.told = told
    return result
  }
}
