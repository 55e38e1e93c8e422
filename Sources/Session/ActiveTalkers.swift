import MediaCore

/// The list of active talkers: the few people of a large room whom the picture shows.
public enum ActiveTalkers {
  /// The people on the list, at most `limit`: first those who are pinned, then those who talked, the newest first, then
  /// the others in the order in which they came. `present` is in that order; who is not there is not on the list.
  public static func list(
    present: [ParticipantIdentity], talkers: [ParticipantIdentity], pinned: [ParticipantIdentity], limit: Int
  ) -> [ParticipantIdentity] {
    guard present.count > limit else { return present }
    let here = Set(present)
    var list: [ParticipantIdentity] = []
    var listed: Set<ParticipantIdentity> = []
    for identity in [pinned, talkers, present].joined() where list.count < limit {
      if here.contains(identity), listed.insert(identity).inserted { list.append(identity) }
    }
    return list
  }
}
