import ArgumentParser
import Glibc
import JobsAPI
import Logging
import MediaCore
import Recording
import RecbotKit
import Session
import Settings
import Transport
import Worker

/// `recbot record`: one recording as the child of a worker, which says on standard input what to do.
struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record", abstract: "Carries out one recording for `recbot worker`.",
    discussion: """
      Standard input has a line of JSON that says what to record, then one for each command; its end means that the \
      worker is gone, and the file is finished at once. Standard output has a line of JSON at each change.
      """,
    shouldDisplay: false)

  /// How long the session log of a job is kept when the worker's settings don't say it: nobody looks after it by hand.
  private static let logKeep = Duration.seconds(7 * 86_400)

  @OptionGroup var recording: RecordingOptions
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var reception: ReceptionOptions
  @OptionGroup var shared: SharedOptions

  func run() async throws {
    // The belt to the braces of standard input's end: a worker that is killed takes this process's work to its end.
    ParentProcess.follow()
    let input = OrderInput()
    guard let order = await input.order() else {
      throw Failure(.usage, "`recbot record` is started by `recbot worker`, which gives it an order on standard input")
    }
    let report = ReportOutput(order: order)
    do {
      let result = try await makeJob(order, input: input, report: report).run()
      await report.finish(result.summary, result.error, sinkFaults: result.sinkFaults)
      if let error = result.error { throw Failure(error) }
    } catch let failure as Failure {
      await report.finish(failure)
      // The worker tells why; it is not told twice.
      Glibc.exit(failure.exitCode.rawValue)
    } catch {
      await report.finish(Failure(.unexpected, "\(error)"))
      throw error
    }
  }

  private func makeJob(_ order: RecordingOrder, input: OrderInput, report: ReportOutput) throws -> RecordingJob {
    let configuration = try reception.merge(into: shared.load(), logger: shared.logger("recbot", Configuration()))
    var logger = try shared.logger("recbot", configuration)
    logger[metadataKey: "job"] = "\(order.job)"
    let token = RenewedToken(order.ticket.token)
    let picture = try picture(order, configuration)
    try OutputPath.check(order.output)
    let beginning = JobBeginning(order, layouts: picture.layouts, logger: logger)
    report.prepare(beginning)
    let plan = try plan(order, beginning, picture, token, configuration, logger: logger)
    var job = RecordingJob(plan: plan, logger: logger)
    job.onStart = { [logger] running in
      report.start(running)
      input.start { line in
        switch line {
        case .order: break
        case .ticket(let ticket):
          token.current = ticket.token
          // The backend sends one also when it hears that the room has begun.
          running.roomMayHaveBegun()
        case .command(let command): report.take(command)
        }
      } onEnd: {
        logger.warning("the worker is gone: the recording is finished")
        running.stop()
        // A file that is cut off here plays as well; a process that outlives its worker would be nobody's.
        sleep(5)
        _exit(ExitCode.forced.rawValue)
      }
    }
    return job
  }

  /// The picture that the worker's settings say, with what the job asks for over them.
  func picture(_ order: RecordingOrder, _ configuration: Configuration) throws -> PicturePlan {
    var picture = try recording.picture.plan(configuration)
    if let wish = order.request.picture { try picture.take(wish) }
    picture.normalizesLoudness = order.request.loudness ?? picture.normalizesLoudness
    picture.chapters = order.request.chapters ?? picture.chapters
    return picture
  }

  /// What a job does to whose pictures and sound. What cannot be read records nobody openly: it ends the recording.
  private static func processors(of request: JobRequest) throws -> [ProcessorRule] {
    try (request.processors ?? []).map { text in
      do throws(ValueError) {
        return try ProcessorText.rule(text)
      } catch {
        throw Failure(.usage, "processors: \(error)")
      }
    }
  }

  /// What the worker orders, over what its settings say.
  func plan(
    _ order: RecordingOrder, _ beginning: JobBeginning, _ picture: PicturePlan, _ token: RenewedToken,
    _ configuration: Configuration, logger: Logger = Logger(label: "recbot")
  ) throws -> RecordingPlan {
    let request = order.request
    let (name, kind) = Self.roomKind(request.room)
    var picture = picture
    if let layout = beginning.steering.layout ?? request.layout { picture.layout = (layout, "--layout") }
    var settings = try recording.settings(
      configuration, picture, output: order.output, title: beginning.steering.title ?? name,
      maximumDuration: order.remaining.map { .microseconds(max(0, min($0, 1 << 50))) },
      stopWhenEmpty: request.stopWhenEmpty.map(Self.time))
    settings.session.processors += try Self.processors(of: request) + beginning.processors
    try reception.apply(configuration, to: &settings)
    if let log = order.log {
      settings.log = try RecordingOptions.logSettings(log, keep: recording.logKeep(configuration) ?? Self.logKeep)
    }
    // What one file name is right for is one recording: these belong to `recbot join`.
    (settings.timeline, settings.transcript, settings.isChatOnly) = (nil, nil, false)
    // Beside the part, whose name nobody sees.
    func beside(_ kind: JobSideFile.Kind) -> String? {
      request.sideFiles.contains(kind) ? kind.path(beside: order.output) : nil
    }
    (settings.manifest, settings.talkers, settings.isPart) = (beside(.manifest), beside(.talkers), true)
    settings.further = try recording.picture.further(
      of: request, settings, configuration, look: reception.look(configuration), logger: logger)
    let sinks = JobSinks(
      request.sinks ?? [], framesPerSecond: settings.session.framesPerSecond,
      privateAddresses: try configuration.value(.privateAddresses))
    for fault in sinks.faults { logger.error("a sink is left out", metadata: ["reason": "\(fault)"]) }
    settings.sinks = sinks.sinks
    var commands = try recording.commands(
      configuration, picture, of: settings, look: reception.look(configuration), usualName: order.job)
    // A second process of the same job, after a crash, may find the name still taken.
    commands.address?.isChosen = false
    return RecordingPlan(
      room: name, connection: try roomOptions(order, kind, token, configuration), recording: settings,
      commands: commands, relays: sinks.relays, sinkFaults: sinks.faults)
  }

  /// How the room of the order is joined.
  private func roomOptions(
    _ order: RecordingOrder, _ kind: RoomKind, _ token: RenewedToken, _ configuration: Configuration
  ) throws -> RoomOptions {
    let request = order.request
    var options = RoomOptions(url: order.ticket.url, tokens: .renewed(token), seed: UInt64.random(in: .min ... .max))
    options.kind = kind
    options.tlsCAFile = configuration.text(.tlsCA)
    try connection.apply(
      configuration, to: &options, keyFile: request.key.map { try Self.keyFile(of: $0, configuration) },
      turnCredential: order.turnCredential)
    try reception.apply(configuration, to: &options)
    options.receivesMedia = true
    if let selection = request.selection { options.selection = RoomSelection(selection) }
    if let seconds = request.waitForRoom {
      options.reconnect.waitForRoom = Self.time(seconds)
    }
    return options
  }

  /// The file of the key that a job names.
  private static func keyFile(of name: String, _ configuration: Configuration) throws -> String {
    guard let folder = configuration.text(.keysDir) else {
      throw Failure(.usage, "the job names the key '\(name)', and this worker has no keys: set RECBOT_E2EE_KEYS_DIR")
    }
    guard let file = KeyFolder(folder).file(of: name) else {
      throw Failure(.usage, "the job names the key '\(name)', and there is none in \(folder)")
    }
    return file
  }

  /// A time that a job asks for, in seconds. A backend takes at most 31 days; what speaks in a backend's name may say anything.
  private static func time(_ seconds: Int64) -> Duration { .seconds(max(0, min(seconds, 31 * 86_400))) }

  /// The room's name, and what kind of room it is.
  private static func roomKind(_ room: String) -> (name: String, kind: RoomKind) {
    guard room.hasPrefix("peer:") else { return (room, .liveKit) }
    let name = String(room.dropFirst(5))
    return (name, .peer(room: name, role: nil))
  }
}
