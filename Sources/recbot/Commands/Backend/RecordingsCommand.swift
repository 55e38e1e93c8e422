import ArgumentParser
import Glibc
import JobsAPI
import Settings
import Worker

/// `recbot recordings`: finished files.
struct RecordingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recordings", abstract: "Lists, downloads and deletes finished recordings of a backend.",
    discussion: """
      The backend is `recbot serve`; RECBOT_BACKEND is its address, RECBOT_API_KEY a key that `recbot keys add` made. A \
      recording has the name of its job.

        recbot recordings list --room my-room
        recbot recordings download JOB -o talk.webm
        recbot recordings link JOB --lifetime 1h
      """,
    subcommands: [
      RecordingsListCommand.self, RecordingsShowCommand.self, RecordingsDownloadCommand.self,
      RecordingsLinkCommand.self, RecordingsDeleteCommand.self,
    ])
}

/// `recbot recordings list`.
struct RecordingsListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists finished files, the newest first.")

  @Option(help: "Only those of this room.")
  var room: String?

  @Option(help: ArgumentHelp("At most so many, 1 to 200.", valueName: "n"))
  var limit = 50

  @Option(help: ArgumentHelp("What the page before ended with, for the next page.", valueName: "place"))
  var after: String?

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    guard (1...200).contains(limit) else { throw Failure(.usage, "--limit: 1 to 200") }
    let page = try await backend.withClient { try await $0.recordings(room: room, after: after, limit: limit) }
    if backend.json { return Console.print(try JSONLine.of(page)) }
    var table = Table("RECORDING", "FILE", "ROOM", "FINISHED", "LENGTH", "SIZE")
    for entry in page.recordings {
      table.add(
        entry.job, entry.number == 1 ? entry.file.name : "\(entry.file.name) (\(entry.number))", entry.room,
        TimeText.short(entry.finishedAt), TimeText.length(entry.file.duration), SizeText.of(entry.file.size))
    }
    for line in table.lines { Console.print(line) }
    if let next = page.next { Console.error("There are more: --after \(next)") }
  }
}

/// `recbot recordings show`.
struct RecordingsShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows the files of a recording: where they are, how long and large.")

  @Argument(help: "The recording: its job.")
  var job: String

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    let page = try await backend.withClient { try await $0.recording(job) }
    if backend.json { return Console.print(try JSONLine.of(page)) }
    for entry in page.recordings {
      let file = entry.file
      var line = "\(entry.number)  \(TimeText.length(file.duration))  \(file.size) bytes  \(file.location)"
      if let sha256 = file.sha256 { line += "  sha256:\(sha256)" }
      if let deleted = file.deletedAt { line += "  deleted at \(TimeText.short(deleted))" }
      Console.print(RoomText.oneLine(line, limit: 1000))
    }
  }
}

/// `recbot recordings download`.
struct RecordingsDownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "download", abstract: "Downloads a recording; the same as `recbot jobs download`.",
    discussion: DownloadOptions.discussion)

  @Argument(help: "The recording: its job.")
  var job: String

  @OptionGroup var download: DownloadOptions
  @OptionGroup var backend: BackendOptions

  func run() async throws { try await download.run(job, backend) }
}

/// `recbot jobs download`.
struct JobsDownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "download", abstract: "Downloads the finished file of a job.", discussion: DownloadOptions.discussion)

  @Argument(help: "The job.")
  var job: String

  @OptionGroup var download: DownloadOptions
  @OptionGroup var backend: BackendOptions

  func run() async throws { try await download.run(job, backend) }
}

/// `recbot recordings link`.
struct RecordingsLinkCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Prints a link to a file, which needs no key and ends.")

  @Argument(help: "The recording: its job.")
  var job: String

  @Option(help: ArgumentHelp("How long it is good, at most 7d (default: 1h).", valueName: "time"))
  var lifetime: String?

  @Option(help: ArgumentHelp("Which file, of a recording that has several.", valueName: "n"))
  var number: Int?

  @Option(help: ArgumentHelp("To what was delivered beside it: \(JobSideFile.Kind.rule).", valueName: "kind"))
  var beside: String?

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    var request = LinkRequest(number: number)
    if let beside {
      guard let kind = JobSideFile.Kind(rawValue: beside) else {
        throw Failure(.usage, "--beside: \(JobSideFile.Kind.rule)")
      }
      request.beside = kind
    }
    if let lifetime {
      do throws(ValueError) {
        request.lifetime = try TimeText.seconds(lifetime)
      } catch {
        throw Failure(.usage, "--lifetime: \(error)")
      }
    }
    let asked = request
    let (link, url) = try await backend.withClient { client in
      let link = try await client.link(to: job, asked)
      return (link, client.url + link.url)
    }
    if backend.json { return Console.print(try JSONLine.of(LinkAnswer(url: url, expiresAt: link.expiresAt))) }
    Console.print(url)
    Console.error("The link is good until \(TimeText.short(link.expiresAt)), for whoever has it.")
  }
}

/// `recbot recordings delete`.
struct RecordingsDeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Deletes the files of recordings, for ever. Their jobs stay.")

  @Argument(help: "The recordings: their jobs.")
  var jobs: [String]

  @OptionGroup var backend: BackendOptions

  func run() async throws {
    try await backend.withClient { client in
      for job in jobs {
        try await client.deleteRecording(job)
        Console.error("The files of \(RoomText.oneLine(job, limit: 128)) are deleted.")
      }
    }
  }
}
