import MediaCore

/// What a recording's process is to do: the first line on its standard input.
///
/// Everything that is secret comes this way; nothing of it stands in arguments or the environment.
public struct RecordingOrder: Codable, Hashable, Sendable {
  /// The job's name.
  public var job: String
  /// Which attempt of the job this part belongs to.
  public var attempt: Int
  /// What was asked for.
  public var request: JobRequest
  /// How to get into the room.
  public var ticket: RoomTicket
  /// The file to write: an absolute path; it must not exist.
  public var output: String
  /// The folder for the session log, which must not exist; nil: none is written.
  public var log: String?
  /// The most that may still be recorded, in microseconds; nil: no limit.
  public var remaining: Int64?
  /// What the recording was told in the parts before this one, so that it goes on looking the same.
  public var steering: JobSteering
  /// Commands that no recording has carried out or refused yet; this one begins with them.
  public var commands: [JobCommand]
  /// The credential for the TURN server of the recording's settings; nil: none.
  @Redacted public var turnCredential: String?

  /// Makes an order; see the properties.
  public init(
    job: String, attempt: Int, request: JobRequest, ticket: RoomTicket, output: String, log: String? = nil,
    remaining: Int64? = nil,
    steering: JobSteering = JobSteering(), commands: [JobCommand] = [], turnCredential: String? = nil
  ) {
    self.job = job
    self.attempt = attempt
    self.request = request
    self.ticket = ticket
    self.output = output
    self.log = log
    self.remaining = remaining
    self.steering = steering
    self.commands = commands
    self.turnCredential = turnCredential
  }
}

/// One line on the standard input of a recording's process. The end of the input means that the worker is gone: the
/// file is finished within a second.
public enum RecordingInput: Codable, Hashable, Sendable {
  /// What to do; the first line, and only that.
  case order(RecordingOrder)
  /// The recording is told something.
  case command(JobCommand)
  /// A fresh way into the room, for the next join.
  case ticket(RoomTicket)

  private enum CodingKeys: String, CodingKey { case order, command, ticket }

  /// Reads `{"order": …}`, `{"command": …}` or `{"ticket": …}`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    if let order = try values.decodeIfPresent(RecordingOrder.self, forKey: .order) {
      self = .order(order)
    } else if let command = try values.decodeIfPresent(JobCommand.self, forKey: .command) {
      self = .command(command)
    } else {
      self = .ticket(try values.decode(RoomTicket.self, forKey: .ticket))
    }
  }

  /// Writes the object with its one key.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .order(let order): try values.encode(order, forKey: .order)
    case .command(let command): try values.encode(command, forKey: .command)
    case .ticket(let ticket): try values.encode(ticket, forKey: .ticket)
    }
  }
}

/// How a recording stands: one line on the standard output of its process, at every change and each second.
public struct RecordingReport: Codable, Hashable, Sendable {
  /// waiting, running, reconnecting, paused or finishing.
  public var state: JobState
  /// When the first picture was taken; nil before that.
  public var startedAt: Timestamp?
  /// How much is in the file, in microseconds.
  public var duration: Int64
  /// Bytes written.
  public var size: Int64
  /// Pictures that were left out because the machine was too slow.
  public var droppedFrames: Int64 = 0
  /// Pictures that were left out to save processor time.
  public var sparedFrames: Int64 = 0
  /// How many steps the recording does without something to save processor time: 0 to 6.
  public var degradation: Int = 0
  /// People in the room.
  public var participants: Int
  /// The id of this life of the room; nil: not known.
  public var roomSID: String?
  /// The newest command that was carried out or refused.
  public var confirmed: Int64
  /// The newest commands that were refused, oldest first; the same may be told again.
  public var refusals: [CommandRefusal]
  /// How the recording ended; in the last line only.
  public var end: End?

  /// The end of a recording.
  public struct End: Codable, Hashable, Sendable {
    /// What ended it: `stopped`, `roomEnded`, `empty`, `maxDuration`, or the name of the error.
    public var reason: String
    /// A row of the error table; nil when all is as it was wanted.
    public var error: JobError?
    /// True when another attempt can help: the error is one that a recording by itself would try again after.
    public var mayRetry: Bool
    /// What is less than was wanted beside the recording, which is whole; nil: nothing.
    public var lack: JobError?
    /// Makes an end; see the properties.
    public init(reason: String, error: JobError? = nil, mayRetry: Bool = false, lack: JobError? = nil) {
      self.reason = reason
      self.error = error
      self.mayRetry = mayRetry
      self.lack = lack
    }

    enum CodingKeys: String, CodingKey {
      case reason, error, lack
      case mayRetry = "may_retry"
    }
  }

  /// Makes a report; see the properties.
  public init(
    state: JobState, startedAt: Timestamp? = nil, duration: Int64 = 0, size: Int64 = 0, participants: Int = 0,
    confirmed: Int64 = 0, refusals: [CommandRefusal] = [], end: End? = nil
  ) {
    self.state = state
    self.startedAt = startedAt
    self.duration = duration
    self.size = size
    self.participants = participants
    self.confirmed = confirmed
    self.refusals = refusals
    self.end = end
  }

  enum CodingKeys: String, CodingKey {
    case state, duration, size, participants, confirmed, refusals, end
    case startedAt = "started_at"
    case droppedFrames = "dropped_frames"
    case sparedFrames = "spared_frames"
    case degradation
    case roomSID = "room_sid"
  }
}

/// What the commands so far have made of a recording: what the next part must begin with.
public struct JobSteering: Codable, Hashable, Sendable {
  /// The layout that was chosen last.
  public var layout: String?
  /// The title that was set last.
  public var title: String?
  /// The policy with which the recording is paused; empty: the usual one; nil: not paused.
  public var pause: String?
  /// What is done to whose pictures and sound, as it was told, the newest last; nil: nothing.
  public var processors: [String]?
  /// Nothing was told yet.
  public init() {}

  /// Takes in a command that was carried out.
  public mutating func apply(_ command: JobCommand) {
    switch command.verb {
    case .layout: layout = command.argument
    case .title: title = command.argument
    case .pause: pause = command.argument ?? ""
    case .resume: pause = nil
    case .processor:
      guard let rule = command.argument else { break }
      // What was said of the same person before does not count any more.
      let others = (processors ?? []).filter { Self.person(of: $0) != Self.person(of: rule) }
      processors = others + [rule]
    case .marker, .stop, .cancel: break
    }
  }

  /// Whom a rule means.
  private static func person(of rule: String) -> Substring { rule[..<(rule.lastIndex(of: "=") ?? rule.endIndex)] }
}
