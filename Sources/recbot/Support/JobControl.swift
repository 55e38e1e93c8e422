import Control
import Layouts
import Logging
import MediaCore
import Recording
import RecbotKit
import Session
import Settings
import Synchronization

/// What commands to a running recording need.
struct JobCommands: Sendable {
  /// How the job can be reached; nil: not at all.
  var address: JobAddress?
  /// What `pause` does when it does not say.
  var pausePolicy: PausePolicy
  /// Finds a layout by its name or file.
  var layouts: @Sendable (String) throws(ValueError) -> Layout
}

/// Passes what happens in a recording on to its listeners, once there is a socket.
final class EventRelay: Sendable {
  private let state = Mutex<ControlServer?>(nil)
  var server: ControlServer? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
  func tell(_ event: String) { server?.publish(event) }
}

/// How a job can be reached while it runs.
struct JobAddress: Sendable {
  /// The name of the job.
  var job: String
  /// True when the user chose it: then it must be free, otherwise another one is taken.
  var isChosen: Bool
  /// Where the socket goes.
  var directory: RunDirectory

  /// Opens the control socket. Nil, with a warning, when that is not possible and nobody asked for this name: a
  /// recording does not depend on it.
  func open(
    logger: Logger, handler: @escaping @Sendable (ControlRequest, _ job: String) -> ControlAnswer
  ) throws -> ControlServer? {
    do {
      // A job's derived name may be taken: by the same output name in another folder.
      for number in 1...9 {
        let name = number == 1 ? job : "\(job.prefix(60))-\(number)"
        if !isChosen, number < 9, directory.isTaken(name) { continue }
        return try ControlServer(job: name, in: directory) { handler($0, name) }
      }
      return nil
    } catch {
      if isChosen { throw Failure(.usage, error.description) }
      logger.warning("the recording cannot be controlled", metadata: ["reason": "\(error)"])
      return nil
    }
  }
}

/// Carries out the requests of a control socket: commands go into the stream of events like everything else.
struct JobControl: Sendable {
  let recording: RoomRecording
  let room: String
  let output: String
  let commands: JobCommands
  /// Ends the recording; asking twice is no fault.
  let stop: @Sendable () -> Void
  /// Why nothing more can be asked for; nil while something can.
  let refusal: @Sendable () -> RoomError?
  /// How it was last told to pause, or to go on.
  private let pauses = PauseBook()

  init(
    recording: RoomRecording, room: String, output: String, commands: JobCommands, stop: @escaping @Sendable () -> Void,
    refusal: @escaping @Sendable () -> RoomError?
  ) {
    self.recording = recording
    self.room = room
    self.output = output
    self.commands = commands
    self.stop = stop
    self.refusal = refusal
  }

  /// The answer to a request; runs on the control thread.
  func answer(_ request: ControlRequest, job: String) -> ControlAnswer {
    switch request.command {
    case .status: return .status(status(job: job))
    case .stop:
      stop()
      return .done
    default: break
    }
    if let error = refusal() { return .refused(error.summary) }
    switch recording.progress.phase {
    case .waiting: return .refused("the recording has not begun")
    case .finished: return .refused("the recording is over")
    case .recording, .reconnecting: break
    }
    do {
      let event = try event(request)
      if let told = pauses.repeated(event, now: recording.progress.pause) { return .refused(told) }
      recording.sequencer.put(.room(event))
      return .done
    } catch {
      return .refused(error.description)
    }
  }

  private func event(_ request: ControlRequest) throws(ValueError) -> Session.RoomEvent {
    switch request.command {
    case .layout:
      guard let name = request.layout else { throw ValueError("'layout' is missing") }
      return .setLayout(try commands.layouts(name))
    case .pin: return .pin(try tile(request))
    case .unpin: return .unpin(request.participant == nil ? nil : try pinned(request))
    case .spotlight: return .spotlight(request.participant == nil ? nil : try tile(request))
    case .processor: return .process(try processors(request))
    case .title: return .title(try words(request))
    case .marker: return .marker(request.title == nil ? "" : try words(request))
    case .pause:
      guard let policy = request.policy else { return .pause(commands.pausePolicy) }
      return .pause(try Values.word(policy, "pause policy"))
    case .resume: return .resume
    case .stop, .status, .subscribe: throw ValueError("not a command of the recording")
    }
  }

  private func words(_ request: ControlRequest) throws(ValueError) -> String {
    guard let title = request.title else { throw ValueError("'title' is missing") }
    return RoomText.oneLine(title, limit: 200)
  }

  /// What is done to whom. A person must be there, since a mistyped name would hide nobody; they go by the word that was
  /// given, so that they are hidden, too, when they come again.
  private func processors(_ request: ControlRequest) throws(ValueError) -> ProcessorRule {
    guard let participant = request.participant else { throw ValueError("'participant' is missing") }
    guard let processors = request.processors else { throw ValueError("'processors' is missing") }
    let rule = try ProcessorText.rule(participant, processors)
    if case .person(let name) = rule.selector { _ = try identity(of: name) }
    guard recording.progress.processorRules < ProcessorRule.most else {
      throw ValueError("there are \(ProcessorRule.most) processors, the most there may be; use attribute:KEY=VALUE")
    }
    return rule
  }

  /// Somebody who is there, under the name that never changes.
  private func tile(_ request: ControlRequest) throws(ValueError) -> TileSelector {
    guard let participant = request.participant else { throw ValueError("'participant' is missing") }
    return TileSelector(participant: try identity(of: participant).rawValue, isScreenShare: request.screen ?? false)
  }

  /// Who is there under an identity or a display name.
  private func identity(of participant: String) throws(ValueError) -> ParticipantIdentity {
    let people = recording.progress.people
    guard let identity = TileSelector(participant: participant).match(people) else {
      let known = people.map { RoomText.oneLine($0.displayName, limit: 40) }
      let hint =
        Values.suggestion(for: participant, among: known).map { "; did you mean '\($0)'?" }
        ?? (known.isEmpty ? "" : "; there are: \(known.joined(separator: ", "))")
      throw ValueError("nobody called '\(RoomText.oneLine(participant, limit: 80))' is in the room\(hint)")
    }
    return identity
  }

  /// Something that is pinned, whether or not its owner is still there.
  private func pinned(_ request: ControlRequest) throws(ValueError) -> TileSelector {
    let given = TileSelector(participant: request.participant ?? "", isScreenShare: request.screen ?? false)
    return recording.progress.pins.contains(given) ? given : try tile(request)
  }

  private func status(job: String) -> ControlStatus {
    let progress = recording.progress
    var status = ControlStatus()
    status.job = job
    status.room = room
    status.output = output
    status.phase = progress.phase.rawValue
    status.timeMs = progress.time.milliseconds
    status.layout = progress.layout
    status.scene = progress.scene
    status.talker = progress.talker
    status.paused = progress.pause?.rawValue
    status.title = progress.title
    status.pinned = progress.pins.map(\.description)
    status.spotlight = progress.spotlight?.description
    status.people = progress.people.map {
      .init(
        identity: $0.identity.rawValue, name: $0.displayName, processors: progress.processors[$0.identity]?.list)
    }
    status.bytes = progress.bytes
    return status
  }
}

/// Knows how a recording was last told to pause: the recording itself shows it a moment later. Any thread.
final class PauseBook: Sendable {
  private let asked = Mutex<PausePolicy??>(.none)

  /// Why an event changes nothing; nil: it changes something, and is kept. `now`: how the recording is paused, as far as
  /// it shows.
  func repeated(_ event: Session.RoomEvent, now: PausePolicy?) -> String? {
    asked.withLock { asked in
      let before: PausePolicy? = asked ?? now
      switch event {
      case .pause(let policy):
        if before == policy { return "the recording is paused already (\(policy.rawValue)); 'resume' goes on" }
        asked = .some(policy)
      case .resume:
        asked = .some(nil)
      default: break
      }
      return nil
    }
  }
}
