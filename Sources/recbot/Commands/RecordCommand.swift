import ArgumentParser
import Glibc
import JobsAPI
import Logging
import MediaCore
import Recording
import Rooms
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
  private static let logKeep = SessionTime.seconds(7 * 86_400)

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
      let job = try makeJob(order, input: input, report: report)
      let result = try await job.run()
      report.finish(result.summary, result.error)
      if let error = result.error { throw Failure(error) }
    } catch let failure as Failure {
      report.finish(failure)
      // The worker tells why; it is not told twice.
      Glibc.exit(failure.exitCode.rawValue)
    } catch {
      report.finish(Failure(.unexpected, "\(error)"))
      throw error
    }
  }

  private func makeJob(_ order: RecordingOrder, input: OrderInput, report: ReportOutput) throws -> Job {
    let configuration = try reception.merge(into: shared.load(), logger: shared.logger("recbot", Configuration()))
    var logger = try shared.logger("recbot", configuration)
    logger[metadataKey: "job"] = "\(order.job)"
    let request = order.request
    let (name, kind) = Self.roomKind(request.room)
    var chosen = recording
    chosen.job = chosen.job ?? order.job
    if let picture = request.picture {
      if let width = picture.width, let height = picture.height { chosen.picture.size = "\(width)x\(height)" }
      chosen.picture.fps = picture.framesPerSecond.map { "\($0)" } ?? chosen.picture.fps
      chosen.picture.codec = picture.codec?.rawValue ?? chosen.picture.codec
      chosen.picture.videoBitrate = picture.bitrate.map { "\($0)" } ?? chosen.picture.videoBitrate
    }
    try OutputPath.check(order.output)
    let beginning = JobBeginning(order, layouts: try chosen.picture.finder(configuration), logger: logger)
    report.prepare(beginning)
    chosen.picture.layout = beginning.steering.layout ?? request.layout ?? recording.picture.layout
    var settings = try chosen.settings(
      configuration, output: order.output, title: beginning.steering.title ?? name,
      maximumDuration: order.remaining.map { SessionTime(nanoseconds: max(0, min($0, 1 << 50)) * 1000) },
      stopWhenEmpty: request.stopWhenEmpty.map { .seconds($0) })
    try reception.apply(configuration, to: &settings)
    if let log = order.log {
      chosen.log = log
      settings.log = try chosen.logSettings(configuration)
      if settings.log?.keep == nil { settings.log?.keep = Self.logKeep }
    }
    // What one file name is right for is one recording: these belong to `recbot join`.
    (settings.timeline, settings.transcript, settings.isChatOnly) = (nil, nil, false)
    (settings.manifest, settings.talkers) = (nil, nil)
    let token = RenewedToken(order.ticket.token)
    var options = RoomOptions(url: order.ticket.url, tokens: .renewed(token), seed: UInt64.random(in: .min ... .max))
    options.kind = kind
    options.tlsCAFile = configuration.text(flag: nil, .tlsCA)
    var connection = connection
    connection.turnCredential = order.turnCredential ?? connection.turnCredential
    if let key = request.key { connection.e2eeKeyFile = try Self.keyFile(of: key, configuration) }
    try connection.apply(configuration, to: &options)
    try reception.apply(configuration, to: &options)
    options.receivesMedia = true
    if let selection = request.selection { options.selection = RoomSelection(selection) }
    if let seconds = request.waitForRoom { options.reconnect.waitForRoom = seconds * 1_000_000_000 }
    var commands = try chosen.commands(configuration, output: order.output, canvas: settings.session.canvas)
    let (layouts, look) = (commands.layouts, try reception.look(configuration))
    commands.layouts = { name throws(ValueError) in look(try layouts(name)) }
    // A second process of the same job, after a crash, may find the name still taken.
    commands.address?.isChosen = false
    var job = Job(
      room: name, options: options, settings: settings, progress: .none, commands: commands, logger: logger)
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

  /// The file of the key that a job names.
  private static func keyFile(of name: String, _ configuration: Configuration) throws -> String {
    guard let folder = configuration[.keysDir]?.text else {
      throw Failure(.usage, "the job names the key '\(name)', and this worker has no keys: set RECBOT_E2EE_KEYS_DIR")
    }
    guard let file = KeyFolder(folder).file(of: name) else {
      throw Failure(.usage, "the job names the key '\(name)', and there is none in \(folder)")
    }
    return file
  }

  /// The room's name, and what kind of room it is.
  private static func roomKind(_ room: String) -> (name: String, kind: RoomKind) {
    guard room.hasPrefix("peer:") else { return (room, .liveKit) }
    let name = String(room.dropFirst(5))
    return (name, .peer(room: name, role: nil))
  }
}
