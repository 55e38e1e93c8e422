import MediaCore
import Session

/// A stretch in which somebody talked.
struct TalkTurn: Hashable {
  /// Who.
  var identity: ParticipantIdentity
  /// From when, in the file.
  var start: SessionTime
  /// Until when.
  var end: SessionTime
}

/// Makes turns of who talks at each output instant: in the order in which they began, so that a file can be appended to.
/// Who talks on and on has a turn each half minute, so that none has to wait long for those that began before it. Pure; holds
/// no more than what half a minute brings.
struct TalkTurns {
  private static let longest = Duration.seconds(30)
  /// Sorted by beginning; those whose end is nil are going on.
  private var turns: [(identity: ParticipantIdentity, start: SessionTime, end: SessionTime?)] = []
  private var before: [ParticipantIdentity] = []
  private var oldest: SessionTime?

  /// These people talk from this instant of the file on. Gives the turns that are complete.
  mutating func take(_ talking: [ParticipantIdentity], at time: SessionTime) -> [TalkTurn] {
    let isLong = oldest.map { time - $0 >= Self.longest } ?? false
    guard talking != before || isLong else { return [] }
    for index in turns.indices where turns[index].end == nil {
      if isLong && time - turns[index].start >= Self.longest || !talking.contains(turns[index].identity) {
        turns[index].end = time
      }
    }
    for identity in talking where !turns.contains(where: { $0.identity == identity && $0.end == nil }) {
      turns.append((identity, time, nil))
    }
    before = talking
    let complete = turns.prefix { $0.end != nil }
    let result = complete.compactMap { turn in
      turn.end.flatMap { $0 > turn.start ? TalkTurn(identity: turn.identity, start: turn.start, end: $0) : nil }
    }
    turns.removeFirst(complete.count)
    oldest = turns.first?.start
    return result
  }

  /// The recording ends: gives all that is left.
  mutating func finish(at time: SessionTime) -> [TalkTurn] { take([], at: time) }
}
