import ArgumentParser
import JobsAPI
import Settings
import Worker

/// `recbot jobs`: recordings in a backend's queue.
struct JobsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jobs", abstract: "Asks a backend for recordings, shows and commands them.",
    discussion: """
      The backend is `recbot serve`; RECBOT_BACKEND is its address, RECBOT_API_KEY a key that `recbot keys add` made.

        recbot jobs submit my-room --layout speaker --max-duration 1h --watch
        recbot jobs list --active
        recbot jobs control JOB layout grid
      """,
    subcommands: [
      JobsSubmitCommand.self, JobsListCommand.self, JobsShowCommand.self, JobsWatchCommand.self,
      JobsCancelCommand.self, JobsControlCommand.self, JobsDownloadCommand.self,
    ])
}

/// `recbot jobs submit`.
struct JobsSubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit", abstract: "Asks for a recording; prints the job's name.",
    discussion: "Moments are written as 2026-11-21T09:30:00Z, or +10m for in ten minutes.")

  @Argument(help: "The room's name.")
  var room: String

  @Option(help: ArgumentHelp("When to be in the room (default: now).", valueName: "moment"))
  var at: String?

  @Option(help: ArgumentHelp("When the recording must be over, whatever happens.", valueName: "moment"))
  var deadline: String?

  @Option(
    help: ArgumentHelp("A name of yours for this request: given again, it makes no second job.", valueName: "text"))
  var key: String?

  @Flag(help: "Follow the job to its end, as `recbot jobs watch` does.")
  var watch = false

  @OptionGroup var options: JobRequestOptions
  @OptionGroup var backend: BackendOptions

  func run() async throws {
    var request = try options.request(room: room)
    request.startAt = try moment(at, "--at")
    request.deadline = try moment(deadline, "--deadline")
    let (submitted, key) = (request, key ?? BackendOptions.randomKey())
    try await backend.withClient { client in
      let job = try await backend.patiently { () async throws(BackendError) -> JobsAPI.Job in
        try await client.submit(submitted, key: key)
      }
      Console.print(backend.json ? try JSONLine.of(job) : RoomText.oneLine(job.id, limit: 128))
      if watch { try await JobWatch(client: client, job: job.id, json: backend.json).run() }
    }
  }

  private func moment(_ text: String?, _ flag: String) throws -> Timestamp? {
    guard let text else { return nil }
    do throws(ValueError) {
      return try TimeText.moment(text, now: .now)
    } catch {
      throw Failure(.usage, "\(flag): \(error)")
    }
  }
}

/// `recbot jobs list`.
struct JobsListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists jobs, the newest first.")

  @Option(help: "Only those of this room.")
  var room: String?

  @Flag(help: "Only those that are not over.")
  var active = false

  @Option(help: ArgumentHelp("At most so many, 1 to 1000.", valueName: "n"))
  var limit = 50

  @Option(help: ArgumentHelp("Those before this one, for the next page.", valueName: "job"))
  var after: String?

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    guard (1...1000).contains(limit) else { throw Failure(.usage, "--limit: 1 to 1000") }
    let page = try await backend.withClient { client in
      try await client.jobs(room: room, isActive: active, after: after, limit: limit)
    }
    if backend.json { return Console.print(try JSONLine.of(page)) }
    var table = Table("JOB", "STATE", "ROOM", "OWNER", "MADE", "LENGTH")
    for job in page.jobs {
      let length = job.files.map(\.duration).max() ?? job.parts.map(\.duration).reduce(0, +)
      table.add(
        job.id, job.isIncomplete ? "incomplete" : job.state.rawValue, job.request.room, job.owner,
        TimeText.short(job.createdAt),
        length > 0 ? TimeText.length(length) : "")
    }
    for line in table.lines { Console.print(line) }
    if let next = page.next { Console.error("there are more: --after \(next)") }
  }
}

/// `recbot jobs show`.
struct JobsShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows a job: its state, parts, files and errors.")

  @Argument(help: "The job.")
  var job: String

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    let found = try await backend.withClient { try await $0.detail(of: job) }
    if backend.json { return Console.print(try JSONLine.of(found)) }
    for line in JobText.lines(found) { Console.print(line) }
  }
}

/// `recbot jobs watch`.
struct JobsWatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Follows a job to its end; the exit code is the job's.",
    discussion: """
      0: completed. 51: completed, but the recording is less than was asked for. A failed job has the exit code that \
      `recbot join` would have had, 47 when there is none; a cancelled one has 47. With --json each event is printed as it is told.
      """)

  @Argument(help: "The job.")
  var job: String

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    try await backend.withClient { client in
      try await JobWatch(client: client, job: job, json: backend.json).run()
    }
  }
}

/// `recbot jobs cancel`.
struct JobsCancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancels jobs: what is being recorded ends.")

  @Argument(help: "The jobs.")
  var jobs: [String]

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    try await backend.withClient { client in
      for name in jobs {
        let job = try await client.command(.cancel, job: name, key: BackendOptions.randomKey())
        Console.print(backend.json ? try JSONLine.of(job) : JobText.line(job))
      }
    }
  }
}

/// `recbot jobs control`.
struct JobsControlCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "control", abstract: "Commands a job while it is recorded.",
    discussion: """
      Commands:
        layout NAME      shows another layout, from now on
        pause [POLICY]   cut: time stands still; slate: a slate and silence; redact: nothing of this time is kept
        resume           goes on
        marker [TEXT]    puts a mark, a chapter of the file
        title TEXT       gives the recording another title
        stop             ends the recording; the file is finished and delivered
      """)

  @Argument(help: "The job.")
  var job: String

  @Argument(help: "layout, pause, resume, marker, title, processor or stop.")
  var command: String

  @Argument(help: "What the command needs: a layout, a policy, words, PERSON=PROCESSOR.")
  var argument: String?

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    let verbs = JobCommand.Verb.allCases.filter { $0 != .cancel }
    guard let verb = verbs.first(where: { $0.rawValue == command }) else {
      let hint = Values.suggestion(for: command, among: verbs.map(\.rawValue)).map { "; did you mean '\($0)'?" }
      let known = verbs.map(\.rawValue).joined(separator: ", ")
      throw Failure(.usage, "there is no command '\(command)'" + (hint ?? "; known: \(known)"))
    }
    switch verb {
    case .layout, .title:
      if argument?.isEmpty != false { throw Failure(.usage, "'\(command)' needs an argument") }
    case .processor:
      do throws(ValueError) { _ = try ProcessorText.rule(argument ?? "") } catch { throw Failure(.usage, "\(error)") }
    case .resume, .stop, .cancel:
      if argument != nil { throw Failure(.usage, "'\(command)' takes no argument") }
    case .pause, .marker: break
    }
    let key = BackendOptions.randomKey()
    let told = try await backend.withClient { (client) async throws -> JobsAPI.Job in
      try await backend.patiently { () async throws(BackendError) -> JobsAPI.Job in
        try await client.command(verb, argument: argument, job: job, key: key)
      }
    }
    if backend.json { return Console.print(try JSONLine.of(told)) }
    let waits = told.commands.contains { $0.verb == verb && $0.argument == argument }
    let isEnd = verb == .stop
    Console.print(JobText.line(told) + (waits && !isEnd ? " (\(command) waits for the recording)" : ""))
  }
}
