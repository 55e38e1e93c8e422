import MediaCore

/// What is done to whose pictures and sound: rules, of which the last that means somebody counts.
///
/// A rule that meant somebody by their name goes on to do so while they are in the room, whatever they call themselves then.
struct Processing: Sendable {
  private struct Entry: Sendable {
    var rule: ProcessorRule
    /// Those in the room whom the rule meant by their name.
    var named: Set<ParticipantIdentity> = []
  }

  /// So many rules are kept: four times what a recording takes. Only a log that somebody made has more.
  static let most = 1024

  /// In the order in which they were given.
  private var entries: [Entry]
  /// Of those in the room for whom anything is done.
  private(set) var inForce: [ParticipantIdentity: TrackProcessors] = [:]

  /// Begins with some rules.
  init(_ rules: [ProcessorRule] = []) {
    entries = []
    for rule in rules { add(rule) }
  }

  /// How many rules there are.
  var count: Int { entries.count }

  /// What is done to somebody's pictures and sound; also before anything but their identity is known.
  func of(_ identity: ParticipantIdentity, isKnown: @autoclosure () -> Bool) -> TrackProcessors {
    guard !entries.isEmpty else { return TrackProcessors() }
    if isKnown() { return inForce[identity] ?? TrackProcessors() }
    return entries.last { $0.rule.selector.means(Participant(identity: identity)) }?.rule.processors
      ?? TrackProcessors()
  }

  /// Adds a rule, in the place of an earlier one for the same people; `meet` then says for whom it changes anything. One more
  /// than there may be is left out.
  mutating func add(_ rule: ProcessorRule) {
    entries.removeAll { $0.rule.selector == rule.selector }
    if entries.count < Self.most { entries.append(Entry(rule: rule)) }
  }

  /// Somebody is in the room, or is otherwise than before; gives what is done from now on, if that is new.
  mutating func meet(_ participant: Participant) -> TrackProcessors? {
    guard !entries.isEmpty else { return nil }
    let identity = participant.identity
    var found = TrackProcessors()
    for index in entries.indices {
      let isMeant = entries[index].rule.selector.means(participant)
      if isMeant, case .person = entries[index].rule.selector { entries[index].named.insert(identity) }
      if isMeant || entries[index].named.contains(identity) { found = entries[index].rule.processors }
    }
    guard found != inForce[identity] ?? TrackProcessors() else { return nil }
    inForce[identity] = found.isEmpty ? nil : found
    return found
  }

  /// Somebody has left.
  mutating func forget(_ identity: ParticipantIdentity) {
    guard !entries.isEmpty else { return }
    inForce[identity] = nil
    for index in entries.indices { entries[index].named.remove(identity) }
  }
}

extension PersonSelector {
  /// Whether it means somebody as they are now.
  func means(_ participant: Participant) -> Bool {
    switch self {
    case .everybody: true
    case .person(let text):
      participant.identity.rawValue == text || participant.displayName.lowercased() == text.lowercased()
    case .attribute(let key, let value): participant.attributes[key] == value
    }
  }
}
