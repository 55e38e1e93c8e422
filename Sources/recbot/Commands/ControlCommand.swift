import ArgumentParser
import Control
import Glibc
import MediaCore
import Settings

/// `recbot control`: commands to a recording that runs on this machine.
struct ControlCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "control", abstract: "Commands a recording that runs on this machine.",
    usage: """
      recbot control list
      recbot control <job> <command> [<argument>] [<options>]
      """,
    discussion: """
      A job's name is that of its output file without .webm, or what `recbot join --job` says. A beginning that no other \
      has is enough.

      Commands:
        layout NAME|FILE       shows another layout, from now on
        pin PERSON             keeps a person's tile where the layout shows pinned ones (--screen: their screen)
        unpin [PERSON]         takes a pin away; without a name, all
        spotlight [PERSON]     gives a person the large place; without a name, the layout decides again
        processor PERSON=WHAT  pixelate, blur, grayscale or mask for pictures; voice-mask, silence, loudness or denoise for \
      sound; none ends it
        title TEXT             gives the recording another title
        pause [POLICY]         cut: time stands still; slate: a slate and silence; redact: nothing of this time is kept
        resume                 goes on
        marker [TEXT]          puts a mark, a chapter of the file
        stop                   ends the recording; the file is finished
        status                 how the recording stands, as JSON
        events                 what happens, a JSON object a line, until the recording ends
      """)

  @Argument(help: ArgumentHelp("The job's name, or 'list'.", valueName: "job"))
  var job: String

  @Argument(help: ArgumentHelp("The command.", valueName: "command"))
  var command: String?

  @Argument(help: ArgumentHelp("What the command needs: a layout, a person, words, a policy.", valueName: "argument"))
  var argument: String?

  @Flag(help: "pin, unpin, spotlight: the person's shared screen.")
  var screen = false

  @OptionGroup var shared: SharedOptions

  func run() throws {
    let configuration = try shared.load()
    let directory = RunDirectory(named: configuration.text(.runDirectory), environment: Environment.all)
    guard let command else {
      guard job == "list" else { throw Failure(.usage, "a command is missing; see recbot control --help") }
      return list(directory)
    }
    do {
      let client = try ControlClient(job: job, in: directory)
      if command == "events" {
        try client.ask(ControlRequest(.subscribe))
        while let line = client.nextEvent() { Console.print(line) }
        return
      }
      let answer = try client.ask(try request(command))
      if let status = answer.status { Console.print(status.json) }
    } catch let error as ControlError {
      throw Failure(.notControlled, error.description)
    }
  }

  private func request(_ word: String) throws -> ControlRequest {
    let known = ControlRequest.Command.allCases.filter { $0 != .subscribe }
    guard let command = known.first(where: { $0.rawValue == word }) else {
      let names = known.map(\.rawValue) + ["events"]
      let hint = Values.suggestion(for: word, among: names).map { "; did you mean '\($0)'?" }
      throw Failure(.usage, "there is no command '\(word)'" + (hint ?? "; known: \(names.joined(separator: ", "))"))
    }
    var request = ControlRequest(command, id: 1)
    switch command {
    case .layout: request.layout = try layout(needed(command))
    case .pin: request.participant = try needed(command)
    case .unpin, .spotlight: request.participant = argument
    case .processor: try read(needed(command), into: &request)
    case .title: request.title = try needed(command)
    case .marker: request.title = argument
    case .pause: request.policy = argument
    case .resume, .stop, .status, .subscribe:
      guard argument == nil else { throw Failure(.usage, "'\(word)' takes no argument") }
    }
    if screen { request.screen = true }
    return request
  }

  private func read(_ rule: String, into request: inout ControlRequest) throws {
    do throws(ValueError) {
      let rule = try ProcessorText.rule(rule)
      request.participant = rule.selector.description
      request.processors = rule.processors.words
    } catch {
      throw Failure(.usage, "\(error)")
    }
  }

  private func needed(_ command: ControlRequest.Command) throws -> String {
    guard let argument, !argument.isEmpty else {
      throw Failure(.usage, "'\(command.rawValue)' needs an argument; see recbot control --help")
    }
    return argument
  }

  /// Files are told by their whole path, since the recording may run in another folder.
  private func layout(_ text: String) throws -> String {
    let prefix = text.hasPrefix("twilio:") ? "twilio:" : ""
    let file = String(text.dropFirst(prefix.count))
    guard !prefix.isEmpty || file.contains("/") || file.hasSuffix(".yaml") || file.hasSuffix(".json") else {
      return text
    }
    guard !file.hasPrefix("/") else { return text }
    guard let folder = getcwd(nil, 0) else { throw Failure(.usage, "the current folder cannot be read") }
    defer { free(folder) }
    return "\(prefix)\(String(cString: folder))/\(file)"
  }

  private func list(_ directory: RunDirectory) {
    for name in directory.jobs() {
      // One that does not answer has been killed.
      guard let client = try? ControlClient(job: name, in: directory),
        let status = try? client.ask(ControlRequest(.status)).status
      else { continue }
      let time = ProgressReporter.clock(.milliseconds(status.timeMs))
      let room = RoomText.oneLine(status.room, limit: 60)
      Console.print("\(name)\t\(status.paused.map { "paused (\($0))" } ?? status.phase)\t\(time)\t\(room)")
    }
  }
}
