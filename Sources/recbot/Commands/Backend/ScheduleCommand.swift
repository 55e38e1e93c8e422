import ArgumentParser
import JobsAPI
import Settings
import Worker

/// `recbot schedule`: recordings that start by themselves.
struct ScheduleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schedule", abstract: "Recordings that start by themselves: at a time, again and again, with a room.",
    discussion: """
        recbot schedule add standup --cron "30 9 * * mon-fri" --zone Europe/Berlin --length 30m
        recbot schedule add launch --at 2026-12-24T18:00:00+01:00
        recbot schedule add --when-room 'lesson-*' --layout speaker
        recbot schedule next SCHEDULE
      """,
    subcommands: [
      ScheduleAddCommand.self, ScheduleListCommand.self, ScheduleShowCommand.self, ScheduleEnableCommand.self,
      ScheduleDisableCommand.self, ScheduleRemoveCommand.self, ScheduleNextCommand.self,
    ])
}

/// `recbot schedule add`.
struct ScheduleAddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Adds a schedule; prints its name.",
    discussion: "Give one of --at, --cron and --when-room.")

  @Argument(help: "The room to record; not with --when-room.")
  var room: String?

  @Option(help: ArgumentHelp("Once, at this moment: 2026-12-24T18:00:00+01:00, or +10m.", valueName: "moment"))
  var at: String?

  @Option(
    help: ArgumentHelp(
      "Again and again: minute hour day month weekday, as in crontab(5); or @daily, @hourly …", valueName: "fields"))
  var cron: String?

  @Option(
    help: ArgumentHelp("The clocks by which --cron goes, such as Europe/Berlin (default: UTC).", valueName: "zone"))
  var zone: String?

  @Option(
    help: ArgumentHelp("Whenever a room of such a name begins; * stands for any text.", valueName: "name"))
  var whenRoom: String?

  @Option(help: ArgumentHelp("Be in the room so long before the time (default: 30s).", valueName: "time"))
  var leadTime: String?

  @Option(help: ArgumentHelp("End so long after the time (default: when the room ends).", valueName: "time"))
  var length: String?

  @Option(
    help: ArgumentHelp(
      "Times that passed while no backend ran: none, latest or all are made up for (default: latest).",
      valueName: "which"))
  var catchUp: String?

  @Option(help: ArgumentHelp("…but none that is older than this (default: 10m).", valueName: "time"))
  var catchUpWithin: String?

  @Option(
    help: ArgumentHelp("A name of yours for this request: given again, it adds no second one.", valueName: "text"))
  var key: String?

  @OptionGroup var options: JobRequestOptions
  @OptionGroup var backend: BackendOptions

  func run() async throws {
    let trigger = try trigger()
    guard let room = room ?? whenRoom else { throw Failure(.usage, "the room to record is missing") }
    if whenRoom != nil, self.room != nil {
      throw Failure(.usage, "--when-room records the room that begins; give no other")
    }
    var schedule = Schedule(owner: "", trigger: trigger, request: try options.request(room: room))
    schedule.leadTime = try span(leadTime, "--lead-time", isZeroGood: true) ?? schedule.leadTime
    schedule.length = try span(length, "--length")
    schedule.catchUpWithin = try span(catchUpWithin, "--catch-up-within", isZeroGood: true) ?? schedule.catchUpWithin
    schedule.catchUp = try read("--catch-up") { () throws(ValueError) in
      try catchUp.map { text throws(ValueError) in try Values.word(text, "rule", of: CatchUp.self) } ?? schedule.catchUp
    }
    let (wanted, key) = (schedule, key ?? BackendOptions.randomKey())
    let added = try await backend.withClient { client in
      try await backend.patiently { () async throws(BackendError) in try await client.add(wanted, key: key) }
    }
    Console.print(backend.json ? try JSONLine.of(added) : RoomText.oneLine(added.id, limit: 128))
    if !backend.json, let next = added.nextFire { Console.error("fires next at \(TimeText.short(next))") }
  }

  private func trigger() throws -> ScheduleTrigger {
    guard [at, cron, whenRoom].compactMap({ $0 }).count == 1 else {
      throw Failure(.usage, "give one of --at, --cron and --when-room")
    }
    if zone != nil, cron == nil { throw Failure(.usage, "--zone is for --cron; moments have their own offset") }
    if let at { return .at(try read("--at") { () throws(ValueError) in try TimeText.moment(at, now: .now) }) }
    if let whenRoom { return .room(glob: whenRoom) }
    do throws(CronExpression.Problem) {
      return .cron(try CronExpression(cron ?? ""), zone: zone ?? "UTC")
    } catch {
      throw Failure(.usage, "--cron: \(error)")
    }
  }

  private func span(_ text: String?, _ flag: String, isZeroGood: Bool = false) throws -> Int64? {
    guard let text else { return nil }
    if isZeroGood, text == "0" || text == "0s" { return 0 }
    return try read(flag) { () throws(ValueError) in try TimeText.seconds(text) }
  }

  private func read<Value>(_ flag: String, _ body: () throws(ValueError) -> Value) throws -> Value {
    do throws(ValueError) {
      return try body()
    } catch {
      throw Failure(.usage, "\(flag): \(error)")
    }
  }
}

/// `recbot schedule list`.
struct ScheduleListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists schedules, the newest first.")

  @Option(help: ArgumentHelp("At most so many, 1 to 1000.", valueName: "n"))
  var limit = 50

  @Option(help: ArgumentHelp("Those before this one, for the next page.", valueName: "schedule"))
  var after: String?

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    guard (1...1000).contains(limit) else { throw Failure(.usage, "--limit: 1 to 1000") }
    let page = try await backend.withClient { try await $0.schedules(after: after, limit: limit) }
    if backend.json { return Console.print(try JSONLine.of(page)) }
    var table = Table("SCHEDULE", "FIRES", "NEXT", "ROOM", "OWNER")
    for schedule in page.schedules {
      table.add(
        schedule.id, ScheduleText.fires(schedule), ScheduleText.next(schedule), schedule.request.room, schedule.owner)
    }
    for line in table.lines { Console.print(line) }
    if let next = page.next { Console.error("there are more: --after \(next)") }
  }
}

/// `recbot schedule show`.
struct ScheduleShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "Shows a schedule.")

  @Argument(help: "The schedule.")
  var schedule: String

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    let found = try await backend.withClient { try await $0.schedule(schedule) }
    if backend.json { return Console.print(try JSONLine.of(found)) }
    for line in ScheduleText.lines(found) { Console.print(line) }
  }
}

/// `recbot schedule enable`.
struct ScheduleEnableCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enable", abstract: "Makes schedules fire again; what they missed is not made up for.")

  @Argument(help: "The schedules.")
  var schedules: [String]

  @OptionGroup var backend: BackendOptions

  func run() async throws { try await ScheduleText.enable(true, schedules, backend) }
}

/// `recbot schedule disable`.
struct ScheduleDisableCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disable", abstract: "Keeps schedules from firing until they are enabled; jobs that they made stay.")

  @Argument(help: "The schedules.")
  var schedules: [String]

  @OptionGroup var backend: BackendOptions

  func run() async throws { try await ScheduleText.enable(false, schedules, backend) }
}

/// `recbot schedule remove`.
struct ScheduleRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Removes schedules; jobs that they made stay.")

  @Argument(help: "The schedules.")
  var schedules: [String]

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    try await backend.withClient { client in
      for schedule in schedules { try await client.removeSchedule(schedule) }
    }
  }
}

/// `recbot schedule next`.
struct ScheduleNextCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "next", abstract: "Prints when a schedule fires next, in UTC.")

  @Argument(help: "The schedule.")
  var schedule: String

  @Option(help: ArgumentHelp("How many times, 1 to 1000.", valueName: "n"))
  var count = 10

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    guard (1...1000).contains(count) else { throw Failure(.usage, "--count: 1 to 1000") }
    let times = try await backend.withClient { try await $0.fireTimes(of: schedule, count: count) }
    if backend.json { return Console.print(try JSONLine.of(FireTimes(times: times))) }
    for time in times { Console.print(time.description) }
  }
}
