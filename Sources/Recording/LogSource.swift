import MediaCore
import Session
import SessionLog

/// A session that was logged, as it is told again.
final class LogSource: EventSource {
  private let reader: SessionLogReader
  private var exclusion: Exclusion
  private var commands: CommandFilter
  /// The next event, which lies beyond what was asked for.
  private var ahead: SessionEvent?
  private var latest = SessionTime.zero
  private var sequence: UInt64 = 0
  private var isOver = false
  /// How the live recording ended; nil before that is read, and when it was killed.
  private(set) var end: LogEnd?

  init(_ reader: SessionLogReader, without people: Set<ParticipantIdentity>, commands: CommandFilter) {
    self.reader = reader
    exclusion = Exclusion(people)
    self.commands = commands
  }

  var now: SessionTime? { nil }
  var stoppedAt: SessionTime? { nil }
  var isQuiet: Bool { false }

  func take(
    into events: inout [SessionEvent], until goal: SessionTime, pending: Int
  ) throws(RecordingError) -> SessionTime? {
    while true {
      if ahead == nil { ahead = try read() }
      guard let event = ahead else { break }
      ahead = nil
      guard event.arrived <= goal else {
        ahead = event
        break
      }
      guard let admitted = exclusion.admit(event), let told = commands.admit(admitted) else { continue }
      events.append(told)
    }
    return goal
  }

  /// The next event of the log; after the last one an end, when there was none.
  private func read() throws(RecordingError) -> SessionEvent? {
    guard !isOver else { return nil }
    do {
      while let entry = try reader.next() {
        switch entry {
        case .gap: break
        case .end(let end): self.end = end
        case .event(let event):
          (latest, sequence) = (event.arrived, event.sequence)
          if case .room(.ended) = event.payload { isOver = true }
          return event
        }
      }
    } catch {
      throw RecordingError.input(error.description)
    }
    isOver = true
    return SessionEvent(
      sequence: sequence &+ 1, arrived: latest, payload: .room(.ended(end?.reason ?? .stopped)))
  }
}

/// Which commands of the time are followed when a session is told again. Pure.
public struct CommandFilter: Sendable, Hashable {
  /// Changes of the layout.
  public var followsLayouts: Bool
  /// Pins, spotlights, titles, marks and pauses. What was redacted stays redacted in any case, and whoever was hidden stays
  /// hidden.
  public var followsOthers: Bool
  private var isRedacted = false

  /// Makes a filter; see the properties.
  public init(followsLayouts: Bool = true, followsOthers: Bool = true) {
    self.followsLayouts = followsLayouts
    self.followsOthers = followsOthers
  }

  /// What is to be told in the place of an event; nil: nothing.
  mutating func admit(_ event: SessionEvent) -> SessionEvent? {
    guard case .room(let roomEvent) = event.payload, let told = admit(roomEvent) else {
      if case .frame = event.payload { return event }
      return nil
    }
    var event = event
    event.payload = .room(told)
    return event
  }

  private mutating func admit(_ event: RoomEvent) -> RoomEvent? {
    switch event {
    case .setLayout: return followsLayouts ? event : nil
    case .pin, .unpin, .spotlight, .title, .marker: return followsOthers ? event : nil
    case .pause(let policy):
      defer { isRedacted = policy == .redact }
      if followsOthers || policy == .redact { return event }
      return isRedacted ? .resume : nil
    case .resume:
      defer { isRedacted = false }
      return followsOthers || isRedacted ? event : nil
    default: return event
    }
  }
}
