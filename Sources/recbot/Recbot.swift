import ArgumentParser
import Glibc
import JobsAPI
import MediaCore
import RecbotKit

/// The command line's root.
@main
struct Recbot: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recbot",
    abstract: "Records WebRTC rooms: joins as a hidden participant and writes one finished WebM.",
    discussion: """
      Try it:          recbot demo
      Record a room:   recbot join my-room --url wss://livekit.example.com --api-key KEY --api-secret SECRET
      Look at a file:  recbot probe FILE.webm

      Settings are read from flags, then the environment (LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, RECBOT_…), \
      then Config/recbot.yaml or /etc/recbot/recbot.yaml.
      """,
    version: Build.version,
    groupedSubcommands: [
      CommandGroup(
        name: "Recording",
        subcommands: [JoinCommand.self, ControlCommand.self, LayoutsCommand.self, DemoCommand.self, RecordCommand.self]),
      CommandGroup(
        name: "File",
        subcommands: [
          ProbeCommand.self, RepairCommand.self, ConcatCommand.self, ComposeCommand.self, LogCommand.self,
          PosterCommand.self, StoryboardCommand.self, UploadCommand.self,
        ]),
      CommandGroup(
        name: "Service",
        subcommands: [
          ServeCommand.self, WorkerCommand.self, KeysCommand.self, JobsCommand.self, RecordingsCommand.self,
          ScheduleCommand.self, WebhooksCommand.self, HealthCommand.self, ConfigCommand.self,
        ]),
      CommandGroup(name: "Room", subcommands: [RoomServerCommand.self, TokenCommand.self, PeopleCommand.self]),
    ])

  /// Runs a command; every failure is one line on standard error and a documented exit code.
  static func main() async {
    // A closed pipe and a file that may not get any larger are errors of that write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    do {
      var command = try parseAsRoot(nil)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch let error as RoomError {
      end(Failure(error))
    } catch let failure as Failure {
      end(failure)
    } catch {
      exit(withError: error)
    }
  }

  /// Tells a failure, and ends. Its text may have come from anywhere: it is shown without secrets.
  private static func end(_ failure: Failure) -> Never {
    Console.error("recbot: \(PeerText.line(failure.message, limit: 2000))")
    Glibc.exit(failure.exitCode.rawValue)
  }
}
