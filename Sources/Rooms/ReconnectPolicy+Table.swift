import MediaCore

extension ReconnectPolicy {
  /// Where a connection stands.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// Nothing was asked for yet.
    case idle
    /// The first join is being tried.
    case connecting
    /// The room doesn't exist yet, is full, or the server is busy: the join is tried again at least each second.
    case waitingForRoom
    /// In the room, but nothing may be received before somebody lets the bot in.
    case waitingForAdmission
    /// In the room; media is being connected for the first time.
    case joined
    /// Signalling and media are there.
    case connected
    /// The session is being taken up again: new signalling, ICE restart.
    case resuming
    /// The room is being joined anew.
    case rejoining
    /// The room is being joined anew over relays only, because media failed.
    case relaying
    /// Over.
    case ended

    var meaning: String {
      switch self {
      case .idle: "nothing was asked for yet"
      case .connecting: "the first join is being tried"
      case .waitingForRoom: "no such room yet, no place, or a busy server: the join is tried again each second"
      case .waitingForAdmission: "in the room, but nothing may be received before somebody lets the bot in"
      case .joined: "in the room; media is being connected for the first time"
      case .connected: "signalling and media are there"
      case .resuming: "the session is being taken up again: new signalling, ICE restart"
      case .rejoining: "the room is being joined anew, with a fresh token and the same identity"
      case .relaying: "the same over relays only, because media failed"
      case .ended: "over: finished, complete or given up"
      }
    }
  }

  /// What moves the machine on, with all conditions worked out.
  enum Trigger: String, CaseIterable {
    case start, joined, held, admitted, connected
    case broken, cut, retry, later, refused, noMedia, noMediaButRelay
    case due, resumeTimeOver, networkChanged, roomSeen

    var meaning: String {
      switch self {
      case .start: "begin"
      case .joined: "the server takes the attempt"
      case .held: "the server takes it, but allows nothing to be received"
      case .admitted: "somebody lets the bot in"
      case .connected: "signalling and media are there"
      case .broken: "signalling or media is lost; the server may know the session"
      case .cut: "the session is lost: the server wants a new one, or nothing came for too long"
      case .retry: "an attempt fails (action retry)"
      case .later: "an attempt fails (action wait)"
      case .refused: "the server doesn't know the session, or the token is too old (action rejoin)"
      case .noMedia: "no media in time"
      case .noMediaButRelay: "no media in time, TURN servers are known"
      case .due: "the pause is over"
      case .resumeTimeOver: "the pause is over, and so is the time for resuming"
      case .networkChanged: "the machine's network changed"
      case .roomSeen: "the room is announced"
      }
    }
  }

  /// What is done in a transition.
  enum Command: String {
    case none, join, resume, relay, pause, pauseLong, expectMedia, hold

    var meaning: String {
      switch self {
      case .none: "-"
      case .join: "join at once"
      case .resume: "resume at once"
      case .relay: "join over relays at once"
      case .pause: "next attempt after a pause"
      case .pauseLong: "next attempt after a long pause"
      case .expectMedia: "wait for media"
      case .hold: "stay, without media"
      }
    }
  }

  /// The table: nil where nothing changes. `ended` is reached from every state (see `giveUp` and `finish`).
  static func transition(from state: State, on trigger: Trigger) -> (to: State, command: Command)? {
    switch (state, trigger) {
    case (.idle, .start): (.connecting, .join)

    case (.connecting, .joined), (.waitingForRoom, .joined): (.joined, .expectMedia)
    case (.connecting, .held), (.waitingForRoom, .held): (.waitingForAdmission, .hold)
    case (.connecting, .retry), (.waitingForRoom, .retry): (.connecting, .pause)
    case (.connecting, .later), (.waitingForRoom, .later): (.waitingForRoom, .pause)
    case (.connecting, .due), (.connecting, .networkChanged): (.connecting, .join)
    case (.waitingForRoom, .due), (.waitingForRoom, .networkChanged): (.waitingForRoom, .join)
    case (.connecting, .roomSeen), (.waitingForRoom, .roomSeen): (.waitingForRoom, .join)

    case (.waitingForAdmission, .admitted): (.joined, .expectMedia)
    case (.waitingForAdmission, .broken), (.waitingForAdmission, .cut): (.connecting, .pause)

    case (.joined, .connected): (.connected, .none)
    case (.joined, .broken), (.joined, .cut): (.rejoining, .pause)
    case (.joined, .noMedia): (.rejoining, .join)
    case (.joined, .noMediaButRelay): (.relaying, .relay)

    case (.connected, .broken): (.resuming, .resume)
    case (.connected, .cut): (.rejoining, .join)
    case (.connected, .noMedia): (.rejoining, .join)
    case (.connected, .noMediaButRelay): (.rejoining, .join)

    case (.resuming, .joined): (.resuming, .expectMedia)
    case (.resuming, .connected): (.connected, .none)
    case (.resuming, .retry), (.resuming, .broken): (.resuming, .pause)
    case (.resuming, .later): (.resuming, .pauseLong)
    case (.resuming, .refused), (.resuming, .cut): (.rejoining, .join)
    case (.resuming, .noMedia): (.rejoining, .join)
    case (.resuming, .noMediaButRelay): (.relaying, .relay)
    case (.resuming, .due), (.resuming, .networkChanged): (.resuming, .resume)
    case (.resuming, .resumeTimeOver): (.rejoining, .join)

    case (.rejoining, .joined): (.rejoining, .expectMedia)
    case (.rejoining, .connected): (.connected, .none)
    case (.rejoining, .retry), (.rejoining, .broken), (.rejoining, .cut): (.rejoining, .pause)
    case (.rejoining, .refused): (.rejoining, .pause)
    case (.rejoining, .later): (.rejoining, .pauseLong)
    case (.rejoining, .noMedia): (.rejoining, .pause)
    case (.rejoining, .noMediaButRelay): (.relaying, .relay)
    case (.rejoining, .due), (.rejoining, .networkChanged): (.rejoining, .join)

    case (.relaying, .joined): (.relaying, .expectMedia)
    case (.relaying, .connected): (.connected, .none)
    case (.relaying, .retry), (.relaying, .broken), (.relaying, .cut): (.relaying, .pause)
    case (.relaying, .refused): (.relaying, .pause)
    case (.relaying, .later): (.relaying, .pauseLong)
    case (.relaying, .noMedia), (.relaying, .noMediaButRelay): (.rejoining, .pause)
    case (.relaying, .due): (.relaying, .relay)
    case (.relaying, .networkChanged): (.rejoining, .join)

    default: nil
    }
  }

  /// States, transitions and numbers as Markdown; the documentation's page holds it.
  public static var documentation: String {
    var lines = ["### States", "", "| state | meaning |", "| --- | --- |"]
    for state in State.allCases { lines.append("| `\(state.rawValue)` | \(state.meaning) |") }
    lines += ["", "### Transitions", ""]
    lines += ["| state | what happens | next state | what is done |", "| --- | --- | --- | --- |"]
    for state in State.allCases {
      for trigger in Trigger.allCases {
        guard let (next, command) = transition(from: state, on: trigger) else { continue }
        lines.append("| `\(state.rawValue)` | \(trigger.meaning) | `\(next.rawValue)` | \(command.meaning) |")
      }
    }
    lines += [
      "", "### Numbers", "", "| number | value |", "| --- | --- |",
      "| pauses before the first join, and after a loss | double from \(text(base)) to \(text(cap)), random between half "
        + "and all of that |",
      "| the same when the loss is older than \(text(patienceAfter)) | up to \(text(patientCap)) |",
      "| long pauses after a loss (full room, busy server) | double from \(text(slowBase)) to \(text(slowCap)), likewise |",
      "| least time between the beginnings of two attempts | \(text(spacing)) |",
      "| attempts resume the old session for | \(text(resumeTime)) without media |",
      "| the same while media flows | \(text(resumeTimeWithMedia)) after the loss |",
      "| the same when the server answers with what cannot be understood | \(text(resumeTime)) |",
      "| joins without media, when media never worked | \(mediaAttempts), and one more over relays |",
    ]
    return lines.joined(separator: "\n")
  }

  private static func text(_ span: Duration) -> String {
    let milliseconds = span.milliseconds
    return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
  }
}
